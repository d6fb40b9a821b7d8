/** One application: its registration, who is signed in there, and its actions. */
import { type ReactNode, useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Reading } from '../../parts/loading.tsx'
import { ProblemNotice } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import type { Staff } from '../../people.ts'
import { useResource } from '../../resource.ts'
import { go } from '../../route.ts'
import { ask } from '../../session.ts'
import { useWords } from '../../text/text.ts'
import { ActionDialog } from '../action-dialog.tsx'
import { Attempts } from '../attempts.tsx'
import { usePages } from '../pages.ts'
import { personHash } from '../person-parts.tsx'
import { presetOf } from '../presets.ts'
import type { Application, ApplicationPerson, ApplicationWithSecret } from '../replies.ts'
import { type State, StateMark } from '../state.tsx'
import { useConsole } from '../text/console-words.ts'
import { ChangeApplication } from './form.tsx'
import { ApplicationState } from './list.tsx'
import { Paste, PasteDialog } from './paste.tsx'

const read = (path: string) => ask<Application>(path)
const list = '#/applications'

type ActionName = 'admit-verified' | 'admit-all' | 'rotate' | 'sign-out' | 'disable' | 'enable' | 'remove'
type Doing = ActionName | 'change'

export function ApplicationPage({ clientId, user }: { clientId: string; user: Staff }) {
  const { text: all, number } = useConsole()
  const text = all.applications
  const path = `/staff/clients/${encodeURIComponent(clientId)}`
  const resource = useResource(path, read)
  const { data: client, problem } = resource
  const [doing, setDoing] = useState<Doing | null>(null)
  const [said, setSaid] = useState('')
  const [secret, setSecret] = useState<string | null>(null)

  if (!client && problem?.code === 'not-found')
    return (
      <Page title={text.unknown} narrow>
        <Back />
      </Page>
    )
  if (!client)
    return (
      <Page title={text.title}>
        <Reading of={resource} />
      </Page>
    )
  const done = (words: string) => {
    setDoing(null)
    setSaid(words)
    resource.reload()
  }
  const actions: readonly Doing[] = [
    ...(client.unverifiedVeterinarians === null ? (['admit-verified', 'admit-all'] as const) : []),
    'change',
    ...(client.hasSecret ? (['rotate'] as const) : []),
    'sign-out',
    client.enabled ? 'disable' : 'enable',
    'remove',
  ]
  const values = { ...client, secret, redirectUri: client.redirectUris[0] ?? '' }
  return (
    <Page
      title={client.name}
      heading={<bdi className="name">{client.name}</bdi>}
      lead={
        <>
          {text.kinds[client.kind]} <ApplicationState of={client} />
        </>
      }
    >
      <Back />
      <Reading of={resource} />
      <p role="status" className={said ? 'notice good' : 'said'}>
        {said}
      </p>
      <div className="columns">
        <section className="card" aria-labelledby="about">
          <h2 id="about">{text.about}</h2>
          <About of={client} />
        </section>
        <section className="card" aria-labelledby="actions">
          <h2 id="actions">{all.person.actions}</h2>
          <div className="person-actions">
            {actions.map((name) => (
              <Button
                key={name}
                look={name === 'remove' || name === 'disable' ? 'danger' : 'plain'}
                onPress={() => setDoing(name)}
              >
                {text.actions[name].open}
              </Button>
            ))}
          </div>
        </section>
      </div>
      <section aria-labelledby="paste">
        <h2 id="paste">{text.pasteTitle}</h2>
        <Paste preset={presetOf(client.kind)} of={{ ...values, secret: null }} />
      </section>
      {client.kind !== 'service' && (
        <section aria-labelledby="people">
          <h2 id="people">{text.people(client.signedIn, number(client.signedIn))}</h2>
          <People key={`${client.signedIn} ${client.lastUsedAt}`} path={`${path}/people`} />
        </section>
      )}
      {client.backchannelUri !== null && (
        <section aria-labelledby="calls">
          <h2 id="calls">{text.calls}</h2>
          <Calls of={client} />
        </section>
      )}
      {doing === 'change' && (
        <ChangeApplication
          client={client}
          user={user}
          onDone={() => done(text.changed)}
          onCancel={() => setDoing(null)}
        />
      )}
      {doing !== null && doing !== 'change' && (
        <ApplicationAction
          name={doing}
          client={client}
          path={path}
          user={user}
          onSecret={setSecret}
          onDone={() => (doing === 'remove' ? go(list) : done(text.actions[doing].done))}
          onCancel={() => setDoing(null)}
        />
      )}
      {secret !== null && doing === null && (
        <PasteDialog
          title={text.newSecret}
          preset={presetOf(client.kind)}
          of={values}
          onClose={() => setSecret(null)}
        />
      )}
    </Page>
  )
}

function Back() {
  const { text } = useConsole()
  return (
    <p>
      <a href={list}>{text.applications.toList}</a>
    </p>
  )
}

function About({ of }: { of: Application }) {
  const { dates } = useWords()
  const { text: all } = useConsole()
  const text = all.applications
  const isForPeople = of.kind !== 'service'
  const veterinarians =
    text.admits[
      of.unverifiedVeterinarians === null ? 'undecided' : of.unverifiedVeterinarians ? 'all' : 'verified'
    ]
  const options = [
    ...(of.kind === 'web' && !of.pkce ? [text.withoutPkce] : []),
    ...(of.claimsInIdToken ? [text.optionNames.claims] : []),
    ...(of.idTokenAlg === 'RS256' ? [text.optionNames.rs256] : []),
    ...(of.subject === 'pairwise' ? [text.pairwise] : []),
  ]
  return (
    <Facts
      of={[
        [text.clientId, <code key="id">{of.clientId}</code>],
        [text.scopes, <bdi key="scopes">{of.scopes.join(' ')}</bdi>],
        [text.roles, isForPeople && of.roles.map((role) => text.rolesMany[role]).join(', ')],
        [text.rolesMany.veterinarian, of.roles.includes('veterinarian') && veterinarians],
        [text.redirect, isForPeople && <Addresses of={of.redirectUris} />],
        [text.logout, of.logoutUris.length > 0 && <Addresses of={of.logoutUris} />],
        [text.backchannel, of.backchannelUri !== null && <Addresses of={[of.backchannelUri]} />],
        [text.asks, isForPeople && text.asksWhen[of.kind === 'native' ? 'always' : (of.consent ?? 'never')]],
        [text.options, options.join(', ')],
        [text.formerSecret, of.formerSecretUntil !== null && dates.moment(of.formerSecretUntil)],
        [text.since, dates.dayOf(of.createdAt)],
        [text.used, of.lastUsedAt === null ? text.neverUsed : dates.recent(of.lastUsedAt)],
      ]}
    />
  )
}

function Addresses({ of }: { of: readonly string[] }): ReactNode {
  return (
    <ul className="plain-list addresses">
      {of.map((address) => (
        <li key={address}>
          <bdi dir="ltr">{address}</bdi>
        </li>
      ))}
    </ul>
  )
}

function People({ path }: { path: string }) {
  const { dates } = useWords()
  const { text: all, number } = useConsole()
  const text = all.applications
  const { items, problem, busy, hasMore, more, reload } = usePages<ApplicationPerson>(path, 'people')
  return (
    <>
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      {items?.length === 0 && <p className="soft">{text.nobody}</p>}
      <ul className="rows plain-list">
        {items?.map(({ userId, name, role, sessions, lastSeenAt }) => {
          const shown = <bdi>{name ?? all.unnamed}</bdi>
          return (
            <li key={userId}>
              {/* Members of staff have no page of their own. */}
              {role === 'staff' ? <span>{shown}</span> : <a href={personHash(userId)}>{shown}</a>}
              <span className="soft">
                {all.roles[role]} · {all.person.lastSeen(dates.moment(lastSeenAt))}
                {sessions > 1 && ` · ${text.sessions(sessions, number(sessions))}`}
              </span>
            </li>
          )
        })}
      </ul>
      {hasMore && (
        <Button busy={busy} onPress={more}>
          {all.more}
        </Button>
      )}
    </>
  )
}

const callStates: Record<Application['failedCalls'][number]['state'], State> = {
  waiting: 'warning',
  failed: 'bad',
}

function Calls({ of: { calls, failedCalls } }: { of: Application }) {
  const { text: all, number } = useConsole()
  const text = all.applications
  return (
    <>
      <p className="soft">
        {text.callsLead(number(calls.waiting))} {failedCalls.length === 0 && text.noCalls}
      </p>
      <ul className="rows plain-list">
        {failedCalls.map((call) => (
          <li key={call.sessionId}>
            <StateMark state={callStates[call.state]} word={text.callStates[call.state]} />
            <Attempts of={call} />
            <a href={personHash(call.userId)}>{text.whose}</a>
          </li>
        ))}
      </ul>
    </>
  )
}

const overlapDays = [0, 1, 7, 30] as const

function ApplicationAction({
  name,
  client,
  path,
  user,
  onSecret,
  onDone,
  onCancel,
}: {
  name: ActionName
  client: Application
  path: string
  user: Staff
  onSecret(secret: string): void
  onDone(): void
  onCancel(): void
}) {
  const { text: all } = useConsole()
  const text = all.applications
  const [days, setDays] = useState<number>(7)
  const words = text.actions[name]
  const admit = (unverifiedVeterinarians: boolean) =>
    ask<void>(path, { method: 'PATCH', body: { unverifiedVeterinarians } })
  const works: Record<ActionName, () => Promise<void>> = {
    'admit-verified': () => admit(false),
    'admit-all': () => admit(true),
    rotate: async () => {
      const body = { overlapSeconds: days * 86_400 }
      onSecret((await ask<ApplicationWithSecret>(`${path}/rotate`, { method: 'POST', body })).secret)
    },
    'sign-out': () => ask(`${path}/sign-out`, { method: 'POST' }),
    disable: () => ask(path, { method: 'PATCH', body: { enabled: false } }),
    enable: () => ask(path, { method: 'PATCH', body: { enabled: true } }),
    remove: () => ask(path, { method: 'DELETE' }),
  }
  return (
    <ActionDialog
      user={user}
      title={<bdi>{words.title(client.name)}</bdi>}
      effects={words.effects}
      {...(words.undo !== undefined && { undo: words.undo })}
      isFinal={name === 'remove'}
      submit={words.submit}
      danger={name === 'remove' || name === 'disable'}
      work={works[name]}
      onDone={onDone}
      onCancel={onCancel}
    >
      {name === 'rotate' && (
        <fieldset className="checks">
          <legend>{text.overlap}</legend>
          {overlapDays.map((each) => (
            <label key={each} className="check">
              <input type="radio" name="overlap" checked={days === each} onChange={() => setDays(each)} />
              <span>{text.overlaps[each]}</span>
            </label>
          ))}
        </fieldset>
      )}
    </ActionDialog>
  )
}
