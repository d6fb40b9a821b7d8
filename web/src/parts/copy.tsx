import { useEffect, useState } from 'react'
import { useWords } from '../text/text.ts'
import { Button } from './button.tsx'

const shownMs = 3_000

/** In a field, so that the value can be selected by hand if the clipboard is not allowed. */
export function Copy({ label, value }: { label: string; value: string }) {
  const { text } = useWords()
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), shownMs)
    return () => clearTimeout(timer)
  }, [copied])
  return (
    <div className="copy">
      <input
        readOnly
        value={value}
        aria-label={label}
        dir="ltr"
        onFocus={(event) => event.currentTarget.select()}
      />
      <Button
        onPress={() => {
          navigator.clipboard?.writeText(value).then(
            () => setCopied(true),
            () => {},
          )
        }}
      >
        {text.copy}
      </Button>
      <span role="status" className="copied">
        {copied && text.copied}
      </span>
    </div>
  )
}
