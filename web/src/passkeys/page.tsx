import { useState } from 'react'
import type { Static } from 'typebox'
import type { PasskeyEntry } from '../../../src/identity/passkeys/schemas.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { Reading } from '../parts/loading.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { focusHeading, Page } from '../parts/page.tsx'
import type { Role } from '../people.ts'
import { useResource } from '../resource.ts'
import { isOpen, school } from '../school.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { addPasskey } from './add.ts'
import { Removal } from './removal.tsx'
import { StepUp } from './step-up.tsx'
import { canUsePasskeys, NoPasskey } from './webauthn.ts'

type Passkey = Static<typeof PasskeyEntry>

export const readPasskeys = (path: string) =>
  ask<{ passkeys: Passkey[] }>(path).then(({ passkeys }) => passkeys)

/** One's own passkeys. */
export function Passkeys({ as: role, email }: { as: Role; email: string }) {
  const { text } = useWords()
  const list = useResource('/passkey', readPasskeys)
  const [said, setSaid] = useState('')
  const [removed, setRemoved] = useState<Passkey | null>(null)
  const [renamed, setRenamed] = useState<Passkey | null>(null)
  const adding = useAction(async () => {
    setSaid('')
    try {
      const name = await addPasskey()
      list.replace(await readPasskeys('/passkey'))
      setSaid(text.passkeys.added(name))
    } catch (error) {
      if (!(error instanceof NoPasskey)) throw error
      setSaid(text.passkeys.notAdded)
    }
  })
  const stale = adding.problem?.code === 'recent-sign-in-required' ? adding.problem : null
  const isRequired = role === 'staff' && school.passkeys === 'required'
  const codeToo = isOpen(role, 'code') ? text.passkeys.codeToo : ''
  const besides = isRequired ? text.passkeys.required : codeToo

  return (
    <Page title={text.passkeys.title} lead={`${text.passkeys.lead} ${besides}`}>
      <Reading of={list} />
      {adding.problem && !stale && <ProblemNotice problem={adding.problem} />}
      <p role="status" className="soft">
        {said}
      </p>
      {list.data?.length === 0 && <p>{text.passkeys.none}</p>}
      <ul className="cards devices">
        {list.data?.map((passkey) => (
          <Entry
            key={passkey.passkeyId}
            passkey={passkey}
            onRename={() => setRenamed(passkey)}
            onRemove={() => setRemoved(passkey)}
          />
        ))}
      </ul>
      {list.data && canUsePasskeys() && (
        <div className="actions">
          <Button look="main" busy={adding.busy} waits={adding.waits} onPress={adding.run}>
            {text.passkeys.add}
          </Button>
        </div>
      )}
      {stale && (
        <Dialog title={text.passkeys.add} onCancel={adding.forget}>
          <StepUp
            as={role}
            email={email}
            problem={stale}
            why={text.passkeys.fresh}
            action={text.passkeys.goOn}
            onDone={adding.run}
            onCancel={adding.forget}
          />
        </Dialog>
      )}
      {renamed && (
        <Renaming
          passkey={renamed}
          onCancel={() => setRenamed(null)}
          onDone={(after) => {
            list.replace((list.data ?? []).map((each) => (each.passkeyId === after.passkeyId ? after : each)))
            setSaid(text.passkeys.renamed(after.name))
            setRenamed(null)
          }}
        />
      )}
      {removed && (
        <Removal
          path={`/passkey/${removed.passkeyId}`}
          title={text.passkeys.removeTitle(removed.name)}
          lead={text.passkeys.removeLead}
          action={text.passkeys.remove}
          as={role}
          email={email}
          onCancel={() => setRemoved(null)}
          onDone={() => {
            list.replace((list.data ?? []).filter((each) => each.passkeyId !== removed.passkeyId))
            setSaid(text.passkeys.removed(removed.name))
            setRemoved(null)
            requestAnimationFrame(focusHeading)
          }}
        />
      )}
    </Page>
  )
}

function Entry({ passkey, onRename, onRemove }: { passkey: Passkey; onRename(): void; onRemove(): void }) {
  const { text, dates } = useWords()
  const { name, provider, createdAt, lastUsedAt, backedUp } = passkey
  return (
    <li className="card">
      <div>
        <h2>
          <bdi>{name}</bdi>
        </h2>
        {provider && provider !== name && <p>{provider}</p>}
        <p>
          {lastUsedAt === null ? text.passkeys.neverUsed : text.passkeys.lastUsed(dates.recent(lastUsedAt))}
        </p>
        <p className="soft">{text.passkeys.addedOn(dates.moment(createdAt))}</p>
        {backedUp && <p className="soft">{text.passkeys.backedUp}</p>}
      </div>
      <div className="actions">
        <Button label={`${text.passkeys.rename}: ${name}`} onPress={onRename}>
          {text.passkeys.rename}
        </Button>
        <Button label={`${text.passkeys.remove}: ${name}`} onPress={onRemove}>
          {text.passkeys.remove}
        </Button>
      </div>
    </li>
  )
}

function Renaming({
  passkey,
  onDone,
  onCancel,
}: {
  passkey: Passkey
  onDone(after: Passkey): void
  onCancel(): void
}) {
  const { text } = useWords()
  const [name, setName] = useState(passkey.name)
  const renaming = useAction(async () =>
    onDone(await ask<Passkey>(`/passkey/${passkey.passkeyId}`, { method: 'PATCH', body: { name } })),
  )
  return (
    <Dialog title={text.passkeys.renameTitle(passkey.name)} onCancel={onCancel}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          renaming.run()
        }}
      >
        <Field
          label={text.passkeys.newName}
          autoComplete="off"
          maxLength={100}
          value={name}
          onText={setName}
        />
        {renaming.problem && <ProblemNotice problem={renaming.problem} />}
        <div className="actions">
          <Button onPress={onCancel}>{text.cancel}</Button>
          <Button look="main" submits busy={renaming.busy}>
            {text.passkeys.rename}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
