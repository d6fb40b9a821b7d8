import { type InputHTMLAttributes, type ReactNode, type Ref, useId } from 'react'
import { useShared } from '../shared-computer.ts'

interface FieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> {
  label: ReactNode
  hint?: ReactNode
  error?: string | null
  onText(text: string): void
  ref?: Ref<HTMLInputElement>
}

/** For e-mail addresses: no automatic capitals, no spell check, and from left to right in every language. */
export function AddressField(props: FieldProps) {
  return (
    <Field
      type="email"
      inputMode="email"
      autoComplete="off"
      autoCapitalize="off"
      spellCheck={false}
      dir="ltr"
      {...props}
    />
  )
}

/** A browser offers the next person what it has seen in a field, unless `autocomplete` is off. */
export function Field({ label, hint, error, onText, ref, ...input }: FieldProps) {
  const id = useId()
  const shared = useShared()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <input
        {...input}
        ref={ref}
        id={id}
        autoComplete={shared && input.autoComplete !== 'one-time-code' ? 'off' : input.autoComplete}
        onChange={(event) => onText(event.currentTarget.value)}
        aria-invalid={error ? true : input['aria-invalid']}
        aria-describedby={
          [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined
        }
      />
      {error && (
        <p className="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
