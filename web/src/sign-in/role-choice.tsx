import { type Ref, useId } from 'react'
import { type Role, servedRoles } from '../people.ts'
import { useWords } from '../text/text.ts'

/** Nothing is preselected: a student who registers as a veterinarian by accident gets a useless account. */
export function RoleChoice<R extends Role>({
  among,
  role,
  missing,
  onChoose,
  ref,
}: {
  among: readonly R[]
  role: R | null
  missing: boolean
  onChoose(role: R): void
  ref: Ref<HTMLFieldSetElement>
}) {
  const { text } = useWords()
  const id = useId()
  return (
    <fieldset ref={ref} className="choice" aria-describedby={missing ? id : undefined}>
      <legend>{text.signIn.role}</legend>
      {among.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name="role"
            value={each}
            checked={role === each}
            aria-invalid={missing || undefined}
            onChange={() => onChoose(each)}
          />
          <span>{text.signIn[each]}</span>
        </label>
      ))}
      {missing && (
        <p className="field-error" id={id} role="alert">
          {among.length === servedRoles.length ? text.signIn.chooseRole : text.signIn.chooseOne}
        </p>
      )}
    </fieldset>
  )
}
