import { useState } from 'react'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { type ServedRole, servedRoles } from '../people.ts'
import type { Farewell } from '../session.ts'
import { useWords } from '../text/text.ts'
import { askForCode, showCode } from './challenge.ts'
import { draft, looksLikeAddress } from './draft.ts'

export function SignIn({ farewell }: { farewell: Farewell | null }) {
  const { text } = useWords()
  const [role, setRole] = useState<ServedRole>(draft.role)
  const [email, setEmail] = useState(draft.email)
  const [wrong, setWrong] = useState(false)
  const sending = useAction(async () => {
    const next = /^#\/(code|register)?$/.test(location.hash) ? '#/' : location.hash || '#/'
    showCode(await askForCode(role, email.trim()), next)
  })
  const refused = wrong || sending.problem?.fields.includes('email')

  return (
    <Page title={text.signIn.title} lead={text.signIn.lead} narrow>
      {farewell && (
        <Notice tone={farewell === 'ended' ? 'plain' : 'good'}>
          <p role="status">{text.signIn.farewell[farewell]}</p>
        </Notice>
      )}
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          const fine = looksLikeAddress(email)
          setWrong(!fine)
          if (fine) sending.run()
          else event.currentTarget.querySelector<HTMLInputElement>('input[type=email]')?.focus()
        }}
      >
        <fieldset className="choice">
          <legend>{text.signIn.role}</legend>
          {servedRoles.map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="role"
                value={each}
                checked={role === each}
                onChange={() => {
                  draft.role = each
                  setRole(each)
                }}
              />
              <span>{text.signIn[each]}</span>
            </label>
          ))}
        </fieldset>
        <Field
          label={text.fields.email}
          hint={role === 'student' ? text.signIn.studentHint : undefined}
          error={refused ? text.fields.wrongEmail : null}
          type="email"
          name="email"
          autoComplete="email"
          inputMode="email"
          autoCapitalize="off"
          spellCheck={false}
          dir="ltr"
          required
          value={email}
          onText={(typed) => {
            draft.email = typed
            setEmail(typed)
            setWrong(false)
          }}
        />
        {sending.problem && !sending.problem.fields.includes('email') && (
          <ProblemNotice problem={sending.problem} onRetry={sending.run} />
        )}
        <div className="actions">
          <Button look="main" submits busy={sending.busy} waits={sending.waits}>
            {text.signIn.send}
          </Button>
        </div>
      </form>
      <p className="aside">
        {text.signIn.newHere} <a href="#/register">{text.signIn.register}</a>
      </p>
    </Page>
  )
}
