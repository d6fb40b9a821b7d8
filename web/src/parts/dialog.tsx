import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { focusHeading } from './page.tsx'

/** The native dialogue traps the focus and closes on Escape. Afterwards the focus returns to where it was. */
export function Dialog({
  title,
  children,
  onCancel,
}: {
  title: ReactNode
  children: ReactNode
  onCancel(): void
}) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  // A layout effect, because its cleanup runs while the dialogue is still in the document.
  useLayoutEffect(() => {
    const shown = dialog.current
    const opener = document.activeElement
    shown?.showModal()
    return () => {
      shown?.close()
      requestAnimationFrame(() => {
        if (document.activeElement !== document.body) return
        if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
        else focusHeading()
      })
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onCancel()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
