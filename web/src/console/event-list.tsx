import type { Staff } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { can } from './navigation.ts'
import { fullName } from './person-parts.tsx'
import type { EventEntry, Member } from './replies.ts'
import { useConsole } from './text/console-words.ts'

const readMembers = (path: string) =>
  path === '' ? Promise.resolve([]) : ask<{ members: Member[] }>(path).then(({ members }) => members)

/** Only admins can read the names of staff; others see their own and ids. */
function useStaffNames(user: Staff): (userId: string) => string | undefined {
  const { text } = useConsole()
  const { data: members } = useResource(can(user, 'admin') ? '/staff/members' : '', readMembers)
  return (id) => {
    const member = members?.find(({ userId }) => userId === id)
    return id === user.userId ? text.you : member && fullName(member)
  }
}

/** Says who did something. */
export function useActors(user: Staff): (actor: string) => string {
  const { text } = useConsole()
  const staffName = useStaffNames(user)
  return (actor) => text.events.actors[actor] ?? staffName(actor) ?? text.events.someStaff(actor.slice(0, 6))
}

/** Events in readable form. */
export function EventList({
  of,
  user,
  withPerson = false,
}: {
  of: readonly EventEntry[]
  user: Staff
  withPerson?: boolean
}) {
  const { dates } = useWords()
  const { text } = useConsole()
  const nameOf = useActors(user)
  const staffName = useStaffNames(user)
  return (
    <ol className="log plain-list">
      {of.map(({ id, at, type, actor, note, userId, data }) => (
        <li key={id}>
          <time dateTime={at}>{dates.precise(at)}</time>
          <div>
            <strong>{text.events.types[type] ?? type}</strong>{' '}
            <span className="soft">
              <bdi>{text.events.by(nameOf(actor))}</bdi>
            </span>
            <Details of={data} />
            {note && (
              <p className="note">
                {text.events.note} <bdi>{note}</bdi>
              </p>
            )}
          </div>
          {withPerson && userId && (
            <Whom userId={userId} staffName={staffName(userId)} isStaff={type.startsWith('staff.')} />
          )}
        </li>
      ))}
    </ol>
  )
}

function Details({ of }: { of: EventEntry['data'] }) {
  const { text } = useConsole()
  const reason = of.reason
  if (typeof reason !== 'string') return null
  return (
    <span className="soft">
      {' · '}
      <bdi>{text.person.endReasons[reason] ?? reason}</bdi>
    </span>
  )
}

/** Whom it was about. Members of staff have no page of their own. */
function Whom({
  userId,
  staffName,
  isStaff,
}: {
  userId: string
  staffName: string | undefined
  isStaff: boolean
}) {
  const { text } = useConsole()
  if (staffName !== undefined) return <bdi className="soft">{staffName}</bdi>
  if (isStaff) return <span className="soft">{text.events.someStaff(userId.slice(0, 6))}</span>
  return <a href={`#/people/${encodeURIComponent(userId)}`}>{text.events.person}</a>
}
