import { type ReactNode, useId, useState } from 'react'
import type { Static } from 'typebox'
import type { ConsentList } from '../../../src/identity/oauth/authorize-schemas.ts'
import type { LiveSession } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask, signOut } from '../session.ts'
import { type Text, useWords } from '../text/text.ts'
import { useAction } from './action.ts'
import { Button } from './button.tsx'
import { Confirm } from './confirm.tsx'
import { Reading } from './loading.tsx'
import { ProblemNotice } from './notice.tsx'
import { focusHeading, Page } from './page.tsx'

const read = (path: string) =>
  ask<{ sessions: LiveSession[] }>(path).then(({ sessions }) =>
    sessions.sort(
      (a, b) => Number(b.current) - Number(a.current) || b.lastSeenAt.localeCompare(a.lastSeenAt),
    ),
  )

export function Sessions() {
  const { text } = useWords()
  const list = useResource('/session', read)
  const [said, setSaid] = useState('')
  const [asking, setAsking] = useState(false)
  const ending = useAction(async ({ sessionId, device, clientName }: LiveSession) => {
    setSaid('')
    await ask(`/session/${encodeURIComponent(sessionId)}`, { method: 'DELETE' })
    setSaid(text.sessions.signedOutThere(clientName ?? deviceName(device, text)))
    list.replace(
      (list.data ?? []).filter((each) => each.sessionId !== sessionId && each.parentId !== sessionId),
    )
    focusHeading()
  })
  const endingAll = useAction(async () => {
    await ask('/session/all', { method: 'DELETE' })
    await signOut()
  })

  return (
    <Page title={text.sessions.title} lead={text.sessions.lead}>
      <Reading of={list} />
      {ending.problem && <ProblemNotice problem={ending.problem} />}
      <p role="status" className="soft">
        {said}
      </p>
      <ul className="cards devices">
        {list.data
          ?.filter(({ parentId }) => parentId === null)
          .map((session) => (
            <Device key={session.sessionId} session={session} busy={ending.busy} onEnd={ending.run}>
              <Below
                of={list.data!.filter(({ parentId }) => parentId === session.sessionId)}
                busy={ending.busy}
                onEnd={ending.run}
              />
            </Device>
          ))}
      </ul>
      {list.data && (
        <div className="actions">
          <Button look="danger" onPress={() => setAsking(true)}>
            {text.sessions.everywhere}
          </Button>
        </div>
      )}
      {asking && (
        <Confirm
          title={text.sessions.everywhereTitle}
          action={text.sessions.everywhere}
          busy={endingAll.busy}
          onConfirm={endingAll.run}
          onCancel={() => setAsking(false)}
        >
          <p>{text.sessions.everywhereLead}</p>
          {endingAll.problem && <ProblemNotice problem={endingAll.problem} />}
        </Confirm>
      )}
      <Consents onWithdrawn={list.reload} />
    </Page>
  )
}

interface SessionProps {
  readonly busy: boolean
  onEnd(session: LiveSession): void
}

/** A device, or an application that stays signed in without the portal. */
function Device({
  session,
  busy,
  onEnd,
  children,
}: SessionProps & { session: LiveSession; children: ReactNode }) {
  const { text, dates } = useWords()
  const { current, lastSeenAt, startedAt, method, clientName } = session
  const device = clientName ?? deviceName(session.device, text)
  return (
    <li className={current ? 'card here' : 'card'}>
      <div>
        <h2>
          {device}
          {current && <em>, {text.sessions.here}</em>}
        </h2>
        <p>
          <time dateTime={lastSeenAt}>{text.sessions.lastUsed(dates.recent(lastSeenAt))}</time>
        </p>
        <p className="soft">{text.sessions.since(dates.moment(startedAt))}</p>
        {clientName !== null && <p className="soft">{text.applications.offline}</p>}
        {method === 'passkey' && <p className="soft">{text.passkeys.proved}</p>}
        {method === 'school' && <p className="soft">{text.school.proved}</p>}
      </div>
      {!current && (
        <Button busy={busy} label={`${text.sessions.signOutThere}: ${device}`} onPress={() => onEnd(session)}>
          {text.sessions.signOutThere}
        </Button>
      )}
      {children}
    </li>
  )
}

/** The applications that were opened from a device, and end with it. */
function Below({ of, busy, onEnd }: SessionProps & { of: readonly LiveSession[] }) {
  const { text, dates } = useWords()
  if (of.length === 0) return null
  return (
    <ul className="feeds plain-list below" aria-label={text.applications.below}>
      {of.map((session) => (
        <li key={session.sessionId}>
          <div>
            <strong>{session.clientName}</strong>
            <span className="soft">{text.sessions.since(dates.moment(session.startedAt))}</span>
          </div>
          <Button
            busy={busy}
            label={`${text.sessions.signOutThere}: ${session.clientName}`}
            onPress={() => onEnd(session)}
          >
            {text.sessions.signOutThere}
          </Button>
        </li>
      ))}
    </ul>
  )
}

type Consent = Static<typeof ConsentList>['consents'][number]

const readConsents = (path: string) => ask<Static<typeof ConsentList>>(path).then(({ consents }) => consents)

function Consents({ onWithdrawn }: { onWithdrawn(): void }) {
  const { text, dates } = useWords()
  const id = useId()
  const list = useResource('/consents', readConsents)
  const [said, setSaid] = useState('')
  const withdrawing = useAction(async ({ clientId, name }: Consent) => {
    setSaid('')
    await ask(`/consents/${encodeURIComponent(clientId)}`, { method: 'DELETE' })
    setSaid(text.applications.withdrawn(name))
    list.replace((list.data ?? []).filter((each) => each.clientId !== clientId))
    onWithdrawn()
    focusHeading()
  })
  return (
    <>
      <p role="status" className="soft">
        {said}
      </p>
      {withdrawing.problem && <ProblemNotice problem={withdrawing.problem} />}
      {list.data !== undefined && list.data.length > 0 && (
        <section aria-labelledby={id}>
          <h2 id={id}>{text.applications.list}</h2>
          <ul className="feeds plain-list">
            {list.data.map((consent) => (
              <li key={consent.clientId}>
                <div>
                  <strong>{consent.name}</strong>
                  <span className="soft">{text.applications.since(dates.moment(consent.givenAt))}</span>
                </div>
                <Button
                  busy={withdrawing.busy}
                  label={`${text.applications.withdraw}: ${consent.name}`}
                  onPress={() => withdrawing.run(consent)}
                >
                  {text.applications.withdraw}
                </Button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

/** The service names devices in English: a program, a system, "Firefox on Android" or "Unknown device". */
function deviceName(device: string, { sessions }: Text): string {
  if (device === 'Unknown device') return sessions.unknownDevice
  const [program, system] = device.split(' on ')
  return system === undefined ? device : sessions.deviceOn(program!, system)
}
