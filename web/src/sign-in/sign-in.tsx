import { useEffect, useRef, useState } from 'react'
import { Page } from '../parts/page.tsx'
import type { Farewell } from '../session.ts'
import { useWords } from '../text/text.ts'
import { AddressForm } from './address-form.tsx'
import { chooseRole, draft } from './draft.ts'
import { RoleChoice } from './role-choice.tsx'

export function SignIn({ farewell }: { farewell: Farewell | null }) {
  const { text } = useWords()
  const [role, setRole] = useState(draft.role)
  const [missing, setMissing] = useState(false)
  const choice = useRef<HTMLFieldSetElement>(null)

  useEffect(() => {
    if (missing) choice.current?.querySelector<HTMLInputElement>('[name=role]')?.focus()
  }, [missing])

  return (
    <Page title={text.signIn.title} lead={text.signIn.lead} narrow>
      <AddressForm
        farewell={farewell}
        as={role}
        hint={role === 'student' ? text.signIn.studentHint : undefined}
        onMissingRole={() => setMissing(true)}
      >
        <RoleChoice
          ref={choice}
          role={role}
          missing={missing}
          onChoose={(chosen) => {
            chooseRole(chosen)
            setRole(chosen)
            setMissing(false)
          }}
        />
      </AddressForm>
      <p className="aside">
        {text.signIn.newHere} <a href="#/register">{text.signIn.register}</a>
      </p>
    </Page>
  )
}
