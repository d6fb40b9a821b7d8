import { type ReactNode, useEffect, useRef, useState } from 'react'
import { kept } from '../code/challenge.ts'
import { chooseRole, draft } from '../draft.ts'
import { Button } from '../parts/button.tsx'
import { Page } from '../parts/page.tsx'
import { type Role, roles, servedRoles } from '../people.ts'
import { useRoute } from '../route.ts'
import type { Farewell } from '../session.ts'
import { AddressForm } from '../sign-in/address-form.tsx'
import { Code } from '../sign-in/code.tsx'
import { Entry } from '../sign-in/entry.tsx'
import { Register } from '../sign-in/register.tsx'
import { RoleChoice } from '../sign-in/role-choice.tsx'
import { useWords } from '../text/text.ts'
import type { Need } from './replies.ts'

interface SignInProps {
  readonly client: Need['client']
  readonly farewell: Farewell | null
  readonly children: ReactNode
  onCancel(): void
}

/** The portal's own forms, for those whom the application serves. */
export function ClientSignIn(props: SignInProps) {
  const [place] = useRoute()
  const waiting = place === 'code' ? kept() : null
  const registering = place === 'register'
  return (
    <Entry first={!waiting && !registering}>
      {waiting ? <Code kept={waiting} /> : registering ? <Register /> : <First {...props} />}
    </Entry>
  )
}

function First({ client, farewell, children, onCancel }: SignInProps) {
  const { text } = useWords()
  const among = roles.filter((role) => client.roles.includes(role))
  const [role, setRole] = useState<Role | null>(
    () => (among.length === 1 ? among[0] : among.find((each) => each === draft.role)) ?? null,
  )
  const [missing, setMissing] = useState(false)
  const choice = useRef<HTMLFieldSetElement>(null)

  useEffect(() => {
    if (missing) choice.current?.querySelector<HTMLInputElement>('[name=role]')?.focus()
  }, [missing])

  function choose(chosen: Role): void {
    const served = servedRoles.find((each) => each === chosen)
    if (served) chooseRole(served)
    setRole(chosen)
    setMissing(false)
  }

  return (
    <Page title={text.applications.signIn(client.name)} lead={text.signIn.lead} narrow>
      {children}
      <AddressForm
        farewell={farewell}
        as={role}
        hint={role === 'student' ? text.signIn.studentHint : undefined}
        onMissingRole={() => setMissing(true)}
      >
        {among.length > 1 && (
          <RoleChoice ref={choice} among={among} role={role} missing={missing} onChoose={choose} />
        )}
      </AddressForm>
      <div className="actions">
        <Button look="quiet" onPress={onCancel}>
          {text.cancel}
        </Button>
      </div>
      {among.includes('veterinarian') && (
        <p className="aside">
          {client.unverifiedVeterinarians ? (
            <>
              {text.signIn.newHere} <a href="#/register">{text.signIn.register}</a>
            </>
          ) : (
            text.applications.verifiedOnly
          )}
        </p>
      )}
    </Page>
  )
}
