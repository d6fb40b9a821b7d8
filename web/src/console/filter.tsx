import { useId } from 'react'

/** One filter of a list. */
export function Choice(props: {
  label: string
  value: string
  of: readonly (readonly [value: string, words: string])[]
  onChange(value: string): void
}) {
  const id = useId()
  return (
    <span className="filter">
      <label htmlFor={id}>{props.label}</label>
      <select id={id} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.of.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </span>
  )
}
