import type { ReactNode } from 'react'
import { useWords } from '../text/text.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'

/** Asks before something irreversible. */
export function Confirm({
  title,
  children,
  action,
  busy,
  onConfirm,
  onCancel,
}: {
  title: string
  children: ReactNode
  action: string
  busy: boolean
  onConfirm(): void
  onCancel(): void
}) {
  const { text } = useWords()
  return (
    <Dialog title={title} onCancel={onCancel}>
      {children}
      <div className="actions">
        <Button onPress={onCancel}>{text.cancel}</Button>
        <Button look="danger" busy={busy} onPress={onConfirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  )
}
