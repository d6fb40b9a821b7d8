import { type InputHTMLAttributes, type ReactNode, type Ref, useId } from 'react'

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

export function Field({ label, hint, error, onText, ref, ...input }: FieldProps) {
  const id = useId()
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
