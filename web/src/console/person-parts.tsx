import type { PersonStatus, PersonSummary } from './replies.ts'
import { type State, StateMark } from './state.tsx'
import { useConsole } from './text/console-words.ts'

/** Names are typed by strangers, so each is isolated from the text direction around it. */
export function Name({ of }: { of: Pick<PersonSummary, 'firstname' | 'lastname'> }) {
  const { text } = useConsole()
  const name = fullName(of)
  return <bdi className="name">{name === '' ? text.unnamed : name}</bdi>
}

export const fullName = ({ firstname, lastname }: Pick<PersonSummary, 'firstname' | 'lastname'>): string =>
  [firstname, lastname].filter(Boolean).join(' ')

const states: Record<PersonStatus, State> = {
  active: 'good',
  pending: 'empty',
  inactive: 'warning',
  suspended: 'bad',
  closed: 'empty',
}

export function StatusMark({ status }: { status: PersonStatus }) {
  const { text } = useConsole()
  return <StateMark state={states[status] ?? 'empty'} word={text.statuses[status] ?? status} />
}

/** Where the reader was in the list, for the way back. */
export const listLeft = { hash: '#/people' }

export const personHash = (userId: string) => `#/people/${encodeURIComponent(userId)}`

/** A person in a list. */
export function Result({ person }: { person: PersonSummary }) {
  const { text } = useConsole()
  const { email, studentNumber, role } = person
  return (
    <a href={personHash(person.userId)}>
      <Name of={person} />
      <StatusMark status={person.status} />
      {person.verificationLost && <StateMark state="warning" word={text.person.checkAgain} />}
      <span className="soft">
        {text.roles[role]}
        {studentNumber && (
          <>
            {' · '}
            <bdi>{studentNumber}</bdi>
          </>
        )}
        {email && (
          <>
            {' · '}
            <bdi dir="ltr">{email}</bdi>
          </>
        )}
      </span>
    </a>
  )
}
