import { useId } from 'react'

/** Several may be chosen. */
export function Checks({
  legend,
  options,
  chosen,
  onChosen,
  error,
}: {
  legend: string
  options: readonly { readonly value: string; readonly label: string; readonly hint?: string }[]
  chosen: readonly string[]
  onChosen(chosen: readonly string[]): void
  error?: string | null
}) {
  const id = useId()
  return (
    <fieldset className="checks" aria-describedby={error ? `${id}-error` : undefined}>
      <legend>{legend}</legend>
      {options.map(({ value, label, hint }, i) => (
        <label key={value} className="check">
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            aria-invalid={(error && i === 0) || undefined}
            onChange={(event) =>
              onChosen(
                event.currentTarget.checked ? [...chosen, value] : chosen.filter((each) => each !== value),
              )
            }
          />
          <span>
            {label}
            {hint && <span className="small soft meaning">{hint}</span>}
          </span>
        </label>
      ))}
      {error && (
        <p className="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}
