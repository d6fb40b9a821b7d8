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
