import { useEffect, useRef, useState } from 'react'
import { useAction } from '../parts/action.ts'
import { Address } from '../parts/address.tsx'
import { Button } from '../parts/button.tsx'
import { Facts } from '../parts/facts.tsx'
import { Field } from '../parts/field.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import type { Veterinarian } from '../people.ts'
import { ask, rename } from '../session.ts'
import { useWords } from '../text/text.ts'
import { PublicPage } from './public-page.tsx'
import { Teaching } from './teaching.tsx'

export function Profile({ user }: { user: Veterinarian }) {
  const { text, dates } = useWords()
  const [editing, setEditing] = useState(false)
  const [saved, setSaved] = useState(false)
  const [confirmed, setConfirmed] = useState(false)
  const edit = useRef<HTMLButtonElement>(null)
  const name = `${user.firstname} ${user.lastname}`

  // Only when the button is there again; a frame may be painted before that.
  const [returning, setReturning] = useState(false)
  useEffect(() => {
    if (!returning) return
    edit.current?.focus()
    setReturning(false)
  }, [returning])
  const close = (saved: boolean) => {
    setEditing(false)
    setSaved(saved)
    setReturning(true)
  }
  return (
    <Page title={name} lead={text.profile.lead}>
      {!user.confirmed && !editing && (
        <ConfirmNames
          user={user}
          onDone={() => {
            setConfirmed(true)
            // Where the page is, so that it does not jump to the details far below.
            document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
          }}
          onChange={() => setEditing(true)}
        />
      )}
      <div role="status" className="said">
        {confirmed && <p className="notice good">{text.profile.confirmed}</p>}
      </div>
      <Teaching />
      <div className="columns">
        <section className="card" aria-labelledby="details">
          <h2 id="details">{text.profile.details}</h2>
          {editing ? (
            <Edit user={user} onDone={close} />
          ) : (
            <>
              <Facts
                of={[
                  [text.profile.name, name],
                  [text.fields.email, <Address key="email" of={user.email} />],
                  [text.profile.since, dates.dayOf(user.createdAt)],
                ]}
              />
              <div className="actions">
                <Button
                  ref={edit}
                  onPress={() => {
                    setSaved(false)
                    setEditing(true)
                  }}
                >
                  {text.profile.edit}
                </Button>
                <a className="button plain" href="#/email">
                  {text.email.change}
                </a>
              </div>
            </>
          )}
          <p role="status" className="soft">
            {saved && text.profile.saved}
          </p>
        </section>
        <PublicPage user={user} />
      </div>
    </Page>
  )
}

const saveNames = async (names: Pick<Veterinarian, 'firstname' | 'lastname'>) =>
  rename(await ask<Veterinarian>('/veterinarian/me', { method: 'PATCH', body: names }))

/** Anybody could have registered this address under any name, so the owner is asked once, after signing in. */
function ConfirmNames({ user, onDone, onChange }: { user: Veterinarian; onDone(): void; onChange(): void }) {
  const { text } = useWords()
  const { firstname, lastname } = user
  const confirming = useAction(async () => {
    await saveNames({ firstname, lastname })
    onDone()
  })
  return (
    <section className="card" aria-labelledby="confirm-names">
      <h2 id="confirm-names">{text.profile.confirmTitle}</h2>
      <p>
        <strong>
          {firstname} {lastname}
        </strong>
      </p>
      <p>{text.profile.confirmLead}</p>
      {confirming.problem && <ProblemNotice problem={confirming.problem} onRetry={confirming.run} />}
      <div className="actions">
        <Button look="main" busy={confirming.busy} onPress={confirming.run}>
          {text.profile.confirmYes}
        </Button>
        <Button onPress={onChange}>{text.profile.confirmNo}</Button>
      </div>
    </section>
  )
}

function Edit({ user, onDone }: { user: Veterinarian; onDone(saved: boolean): void }) {
  const { text } = useWords()
  const [firstname, setFirstname] = useState(user.firstname)
  const [lastname, setLastname] = useState(user.lastname)
  const [wrong, setWrong] = useState<readonly string[]>([])
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => first.current?.focus(), [])
  const saving = useAction(async () => {
    await saveNames({ firstname, lastname })
    onDone(true)
  })
  const refused = [...wrong, ...(saving.problem?.fields ?? [])]
  const errorOf = (name: string) => (refused.includes(name) ? text.fields.wrongName : null)
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        const found = Object.entries({ firstname, lastname })
          .filter(([, value]) => value.trim() === '')
          .map(([name]) => name)
        setWrong(found)
        if (found.length === 0) saving.run()
        else event.currentTarget.querySelector<HTMLInputElement>(`[name=${found[0]}]`)?.focus()
      }}
    >
      {user.verified && <p className="soft">{text.profile.lostByName}</p>}
      <Field
        ref={first}
        label={text.fields.firstname}
        name="firstname"
        autoComplete="given-name"
        maxLength={200}
        value={firstname}
        onText={setFirstname}
        error={errorOf('firstname')}
      />
      <Field
        label={text.fields.lastname}
        name="lastname"
        autoComplete="family-name"
        maxLength={200}
        value={lastname}
        onText={setLastname}
        error={errorOf('lastname')}
      />
      {saving.problem && saving.problem.fields.length === 0 && (
        <ProblemNotice problem={saving.problem} onRetry={saving.run} />
      )}
      <div className="actions">
        <Button look="main" submits busy={saving.busy}>
          {text.profile.save}
        </Button>
        <Button onPress={() => onDone(false)}>{text.cancel}</Button>
      </div>
    </form>
  )
}
