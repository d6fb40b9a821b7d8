import { useEffect, useRef, useState } from 'react'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import type { Farewell } from '../session.ts'
import { useWords } from '../text/text.ts'
import { askForCode, showCode } from './challenge.ts'
import { chooseRole, draft, looksLikeAddress } from './draft.ts'
import { RoleChoice } from './role-choice.tsx'

export function SignIn({ farewell }: { farewell: Farewell | null }) {
  const { text } = useWords()
  const [role, setRole] = useState(draft.role)
  const [email, setEmail] = useState(draft.email)
  const [wrong, setWrong] = useState<'role' | 'email' | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const sending = useAction(async () => {
    const next = /^#\/(code|register)?$/.test(location.hash) ? '#/' : location.hash || '#/'
    if (role) showCode({ challenge: await askForCode(role, email.trim()), next, registered: false })
  })
  const refused = wrong === 'email' || sending.problem?.fields.includes('email')

  useEffect(() => {
    if (draft.typing) form.current?.querySelector<HTMLInputElement>('[name=email]')?.focus()
    draft.typing = false
  }, [])
  useEffect(() => {
    const where = { role: '[name=role]', email: '[name=email]' }
    if (wrong) form.current?.querySelector<HTMLInputElement>(where[wrong])?.focus()
  }, [wrong])

  return (
    <Page title={text.signIn.title} lead={text.signIn.lead} narrow>
      {farewell && (
        <Notice tone={farewell === 'ended' ? 'plain' : 'good'}>
          <p role="status">{text.signIn.farewell[farewell]}</p>
        </Notice>
      )}
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          const found = role === null ? 'role' : looksLikeAddress(email) ? null : 'email'
          setWrong(found)
          if (!found) sending.run()
        }}
      >
        <RoleChoice
          role={role}
          missing={wrong === 'role'}
          onChoose={(chosen) => {
            chooseRole(chosen)
            setRole(chosen)
            setWrong(null)
          }}
        />
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
            setWrong(null)
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
