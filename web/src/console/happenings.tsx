import type { Staff } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { can } from './places.ts'
import type { Happening, Member } from './replies.ts'
import { useConsole } from './text/console-words.ts'

const readMembers = (path: string) =>
  path === '' ? Promise.resolve([]) : ask<{ members: Member[] }>(path).then(({ members }) => members)

/** Says who did something. Only admins can read the names of staff; others see their own and ids. */
export function useActors(user: Staff): (actor: string) => string {
  const { text } = useConsole()
  const { data: members } = useResource(can(user, 'admin') ? '/staff/members' : '', readMembers)
  return (actor) => {
    const known = text.events.actors[actor]
    if (known !== undefined) return known
    if (actor === user.userId) return text.you
    const member = members?.find(({ userId }) => userId === actor)
    return member ? `${member.firstname} ${member.lastname}` : text.events.someStaff(actor.slice(0, 6))
  }
}

/** Events as people read them. */
export function Happenings({
  of,
  user,
  withPerson = false,
}: {
  of: readonly Happening[]
  user: Staff
  withPerson?: boolean
}) {
  const { dates } = useWords()
  const { text } = useConsole()
  const nameOf = useActors(user)
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
            {withPerson && userId && !type.startsWith('staff.') && (
              <p>
                <a href={`#/people/${encodeURIComponent(userId)}`}>{text.events.person}</a>
              </p>
            )}
          </div>
        </li>
      ))}
    </ol>
  )
}

function Details({ of }: { of: Happening['data'] }) {
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
