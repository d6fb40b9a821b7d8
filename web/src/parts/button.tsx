import type { ReactNode, Ref } from 'react'

/** Uses aria-disabled instead of disabled, so that a busy button keeps the focus; clicks are ignored meanwhile. */
export function Button({
  children,
  look = 'plain',
  busy = false,
  waits = false,
  submits = false,
  label,
  onPress,
  ref,
}: {
  children: ReactNode
  look?: 'main' | 'plain' | 'quiet' | 'danger'
  busy?: boolean
  waits?: boolean
  submits?: boolean
  label?: string
  onPress?: () => void
  ref?: Ref<HTMLButtonElement>
}) {
  const still = busy || waits
  return (
    <button
      ref={ref}
      type={submits ? 'submit' : 'button'}
      className={`button ${look}`}
      aria-disabled={still || undefined}
      aria-busy={busy || undefined}
      aria-label={label}
      onClick={(event) => {
        if (still) event.preventDefault()
        else onPress?.()
      }}
    >
      {children}
    </button>
  )
}
