import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { useWords } from '../text/text.ts'
import { Button } from './button.tsx'

/**
 * Asks before something irreversible. The native dialogue traps the focus, closes on Escape and gives the focus back to
 * what opened it, provided that it is closed while it is still in the page: hence a layout effect.
 */
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
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onCancel={onCancel}>
      <h2 id="confirm-title">{title}</h2>
      {children}
      <div className="actions">
        <Button onPress={onCancel}>{text.cancel}</Button>
        <Button look="danger" busy={busy} onPress={onConfirm}>
          {action}
        </Button>
      </div>
    </dialog>
  )
}
