import { useEffect, useRef, useState } from 'react'
import { useSecondsUntil } from '../clock.ts'
import { showWaiting } from '../code/challenge.ts'
import { forgetWaiting, recallWaiting } from '../code/waiting.ts'
import { chooseRole, draft } from '../draft.ts'
import { Button } from '../parts/button.tsx'
import { focusHeading, Page } from '../parts/page.tsx'
import { servedRoles } from '../people.ts'
import type { Farewell } from '../session.ts'
import { useWords } from '../text/text.ts'
import { AddressForm } from './address-form.tsx'
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
      <Offer />
      <AddressForm
        farewell={farewell}
        as={role}
        hint={role === 'student' ? text.signIn.studentHint : undefined}
        onMissingRole={() => setMissing(true)}
      >
        <RoleChoice
          ref={choice}
          among={servedRoles}
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

/** For somebody who closed the tab to read the mail. */
function Offer() {
  const { text } = useWords()
  const [waiting, setWaiting] = useState(recallWaiting)
  const left = useSecondsUntil(waiting?.expiresAt ?? null)
  if (!waiting || left === 0) return null
  return (
    <section className="card waiting" aria-labelledby="waiting">
      <h2 id="waiting">{text.signIn.waiting}</h2>
      <div className="actions">
        <Button look="main" onPress={() => showWaiting(waiting)}>
          {text.signIn.enter(waiting.address)}
        </Button>
        <Button
          look="quiet"
          onPress={() => {
            forgetWaiting()
            setWaiting(null)
            focusHeading()
          }}
        >
          {text.code.other}
        </Button>
      </div>
    </section>
  )
}
