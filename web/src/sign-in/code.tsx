import { useEffect, useState } from 'react'
import { Address } from '../parts/address.tsx'
import { Page } from '../parts/page.tsx'
import { go } from '../route.ts'
import { preload } from '../screens.ts'
import { useWords } from '../text/text.ts'
import { type Kept, keep } from './challenge.ts'
import { CodeForm } from './code-form.tsx'

export function Code({ kept }: { kept: Kept }) {
  const { text } = useWords()
  const [challenge, setChallenge] = useState(kept.challenge)
  const { role, email } = challenge
  useEffect(() => preload(role), [role])
  return (
    <Page
      title={text.code.title}
      lead={<Address of={email}>{kept.registered ? text.code.sent : text.code.sentTo}</Address>}
      narrow
    >
      <CodeForm
        challenge={challenge}
        onChallenge={(next) => {
          keep({ ...kept, challenge: next })
          setChallenge(next)
        }}
        onDone={() => go(kept.next, { replace: true })}
        action={text.code.check}
      />
      <p>
        <a href="#/">{text.code.other}</a>
      </p>
    </Page>
  )
}
