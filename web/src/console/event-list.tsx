import type { Staff } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { can } from './navigation.ts'
import { fullName } from './person-parts.tsx'
import type { EventEntry, Member } from './replies.ts'
import { useConsole } from './text/console-words.ts'

/** Names by userId. */
export type Names = Readonly<Record<string, string>>

const readMembers = (path: string) =>
  path === '' ? Promise.resolve([]) : ask<{ members: Member[] }>(path).then(({ members }) => members)

/** The members of staff; only admins can read them. */
export function useStaffNames(user: Staff, reads = true): Names {
  const { data: members = [] } = useResource(reads && can(user, 'admin') ? '/staff/members' : '', readMembers)
  return Object.fromEntries(members.map((member) => [member.userId, fullName(member)]))
}

/** Says who did something. `names`: of staff, where the page has them already. */
export function useActors(user: Staff, names?: Names): (actor: string) => string {
  const { text } = useConsole()
  const read = useStaffNames(user, names === undefined)
  const staff = names ?? read
  return (actor) => {
    if (actor === user.userId) return text.you
    return text.events.actors[actor] ?? staff[actor] ?? text.events.someStaff(actor.slice(0, 6))
  }
}

/** Events in readable form. */
export function EventList({
  of,
  user,
  names,
  staff,
}: {
  of: readonly EventEntry[]
  user: Staff
  names: Names
  /** The members of staff. With them, each event says whom it is about. */
  staff?: Names
}) {
  const { dates } = useWords()
  const { text } = useConsole()
  const nameOf = useActors(user, names)
  return (
    <ol className="log plain-list">
      {together(of).map(({ event: { id, at, type, actor, note, userId, data }, sessions, cause }) => (
        <li key={id}>
          <time dateTime={at}>{dates.precise(at)}</time>
          <div>
            <strong>{text.events.types[type] ?? type}</strong>{' '}
            <span className="soft">
              <bdi>{text.events.by(nameOf(actor))}</bdi>
            </span>
            {cause ? (
              <span className="soft">
                {' · '}
                {text.events.endedWith[cause]}
                {sessions > 1 && ` (${text.events.devices(sessions)})`}
              </span>
            ) : (
              <Details of={data} />
            )}
            {note && (
              <p className="note">
                {text.events.note} <bdi>{note}</bdi>
              </p>
            )}
          </div>
          {staff && userId && (
            <Whom
              userId={userId}
              name={names[userId]}
              isStaff={type.startsWith('staff.') || userId in staff}
            />
          )}
        </li>
      ))}
    </ol>
  )
}

type Cause = 'suspended' | 'closed' | 'deactivated' | 'address-changed' | 'removed'
const causes: readonly string[] = ['suspended', 'closed', 'deactivated', 'address-changed', 'removed']

interface Shown {
  readonly event: EventEntry
  /** How many sessions ended with the account. */
  readonly sessions: number
  /** The change that ended them, if it is in the list. */
  readonly cause: Cause | undefined
}

/** A suspension, say, ends every session of a person at the same moment: they are shown as one. */
function together(events: readonly EventEntry[]): readonly Shown[] {
  const momentOf = ({ userId, at }: EventEntry) => `${userId} ${at}`
  const causeOf = new Map<string, Cause>()
  const ended = new Map<string, number>()
  for (const event of events) {
    const [, change = ''] = event.type.split('.')
    if (causes.includes(change)) causeOf.set(momentOf(event), change as Cause)
    if (isEndedWithAccount(event)) ended.set(momentOf(event), (ended.get(momentOf(event)) ?? 0) + 1)
  }
  const seen = new Set<string>()
  return events.flatMap((event): Shown[] => {
    if (!isEndedWithAccount(event)) return [{ event, sessions: 0, cause: undefined }]
    const moment = momentOf(event)
    const cause = causeOf.get(moment)
    if (cause === undefined) return [{ event, sessions: 1, cause }]
    if (seen.has(moment)) return []
    seen.add(moment)
    return [{ event, sessions: ended.get(moment)!, cause }]
  })
}

const isEndedWithAccount = ({ type, data }: EventEntry) =>
  type === 'session.ended' && data.reason === 'account'

function Details({ of }: { of: EventEntry['data'] }) {
  const { text } = useConsole()
  const reason = of.reason
  if (typeof reason !== 'string') return null
  return (
    <span className="soft">
      {' · '}
      <bdi>{text.person.endReasons[reason] ?? text.events.refusals[reason] ?? reason}</bdi>
      {typeof of.reference === 'string' && (
        <>
          {' · '}
          <a href={`#/refusals?reference=${encodeURIComponent(of.reference)}`}>{of.reference}</a>
        </>
      )}
    </span>
  )
}

/** Whom it was about. Members of staff have no page of their own. */
function Whom({ userId, name, isStaff }: { userId: string; name: string | undefined; isStaff: boolean }) {
  const { text } = useConsole()
  if (isStaff) return <bdi className="soft">{name ?? text.events.someStaff(userId.slice(0, 6))}</bdi>
  return (
    <a href={`#/people/${encodeURIComponent(userId)}`}>
      <bdi>{name ?? text.events.person}</bdi>
    </a>
  )
}
