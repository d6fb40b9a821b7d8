import { useState } from 'react'
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
  const ending = useAction(async ({ sessionId, device }: LiveSession) => {
    setSaid('')
    await ask(`/session/${encodeURIComponent(sessionId)}`, { method: 'DELETE' })
    setSaid(text.sessions.signedOutThere(deviceName(device, text)))
    list.replace((list.data ?? []).filter((each) => each.sessionId !== sessionId))
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
        {list.data?.map((session) => (
          <Device key={session.sessionId} session={session} busy={ending.busy} onEnd={ending.run} />
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
    </Page>
  )
}

function Device({
  session,
  busy,
  onEnd,
}: {
  session: LiveSession
  busy: boolean
  onEnd(session: LiveSession): void
}) {
  const { text, dates } = useWords()
  const { current, lastSeenAt, startedAt, method } = session
  const device = deviceName(session.device, text)
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
        {method === 'passkey' && <p className="soft">{text.passkeys.proved}</p>}
        {method === 'school' && <p className="soft">{text.school.proved}</p>}
      </div>
      {!current && (
        <Button busy={busy} label={`${text.sessions.signOutThere}: ${device}`} onPress={() => onEnd(session)}>
          {text.sessions.signOutThere}
        </Button>
      )}
    </li>
  )
}

/** The service names devices in English: a program, a system, "Firefox on Android" or "Unknown device". */
function deviceName(device: string, { sessions }: Text): string {
  if (device === 'Unknown device') return sessions.unknownDevice
  const [program, system] = device.split(' on ')
  return system === undefined ? device : sessions.deviceOn(program!, system)
}
