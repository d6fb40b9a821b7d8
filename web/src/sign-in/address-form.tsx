import { type ReactNode, useEffect, useRef, useState } from 'react'
import { schoolRoles } from '../../../src/roles.ts'
import { askForCode, showCode } from '../code/challenge.ts'
import { draft, looksLikeAddress } from '../draft.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { AddressField } from '../parts/field.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { PasskeySignIn } from '../passkeys/sign-in.tsx'
import { canUsePasskeys } from '../passkeys/webauthn.ts'
import type { Role } from '../people.ts'
import { isOpen } from '../school.ts'
import { SchoolSignIn } from '../school-account/sign-in.tsx'
import type { Farewell } from '../session.ts'
import { useWords } from '../text/text.ts'
import { SharedChoice } from './shared-choice.tsx'

/** The first step of every sign-in: the address that the code goes to. */
export function AddressForm({
  farewell,
  as: role,
  hint,
  onMissingRole,
  children,
}: {
  farewell: Farewell | null
  /** Null if the reader has yet to choose. */
  as: Role | null
  hint?: ReactNode
  onMissingRole?: () => void
  /** Above the address. */
  children?: ReactNode
}) {
  const { text } = useWords()
  const [email, setEmail] = useState(draft.email)
  const [wrong, setWrong] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const field = () => form.current?.querySelector<HTMLInputElement>('[name=email]')
  const sending = useAction(async () => {
    const next = /^#\/(code|register)?$/.test(location.hash) ? '#/' : location.hash || '#/'
    if (role) showCode({ challenge: await askForCode(role, email.trim()), next, registered: false })
  })
  const codes = role === null || isOpen(role, 'code')
  const schoolRole = schoolRoles.find((one) => one === role) ?? null
  const refused = wrong || sending.problem?.fields.includes('email')

  useEffect(() => {
    if (draft.typing) form.current?.querySelector<HTMLInputElement>('[name=email]')?.focus()
    draft.typing = false
  }, [])

  function submit() {
    if (role === null) return onMissingRole?.()
    const fine = looksLikeAddress(email)
    setWrong(!fine)
    if (fine) sending.run()
    else field()?.focus()
  }

  return (
    <>
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
          submit()
        }}
      >
        {children}
        {codes && (
          <AddressField
            label={text.fields.email}
            hint={hint}
            error={refused ? text.fields.wrongEmail : null}
            name="email"
            autoComplete={canUsePasskeys() ? 'email webauthn' : 'email'}
            required
            value={email}
            onText={(typed) => {
              draft.email = typed
              setEmail(typed)
              setWrong(false)
            }}
          />
        )}
        <SharedChoice />
        {sending.problem && !refused && <ProblemNotice problem={sending.problem} onRetry={sending.run} />}
        {codes && (
          <div className="actions">
            <Button look="main" submits busy={sending.busy} waits={sending.waits}>
              {text.signIn.send}
            </Button>
          </div>
        )}
      </form>
      {schoolRole && <SchoolSignIn as={schoolRole} />}
      <PasskeySignIn />
    </>
  )
}
