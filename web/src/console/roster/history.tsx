/** Imports and undos, newest first. */
import type { Staff } from '../../people.ts'
import { useWords } from '../../text/text.ts'
import { useActors } from '../event-list.tsx'
import { type Import, type ImportList, operations } from '../roster-replies.ts'
import { StateMark } from '../state.tsx'
import { useConsole } from '../text/console-words.ts'

export function History({ of: { imports, canEmpty }, user }: { of: ImportList; user: Staff }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  return (
    <ol className="rows plain-list">
      {imports.map((one) => (
        <li key={one.generation} className="import">
          <span>
            <a href={`#/roster/imports/${one.generation}`}>{text.numbered(number(one.generation))}</a>
            {' · '}
            <Title of={one} />
          </span>
          <span className="soft">
            <About of={one} user={user} />
          </span>
          <Allowed of={one} user={user} />
          {one.canGoBack && <GoBack to={one.generation} />}
        </li>
      ))}
      {canEmpty && (
        <li className="import">
          <span className="soft">{text.atFirst}</span>
          <GoBack to={0} />
        </li>
      )}
    </ol>
  )
}

export function Title({ of: one }: { of: Import }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  return (
    <>
      {one.kind === 'undo' ? text.undoOf(number(one.content)) : text.what[one.kind]}
      {one.kind === 'import' && (
        <>
          {' · '}
          <bdi>{one.fileName}</bdi>
        </>
      )}
      {one.current && (
        <>
          {' '}
          <StateMark state="good" word={text.current} />
        </>
      )}
    </>
  )
}

/** When, by whom, and how many students. */
export function About({ of: one, user }: { of: Import; user: Staff }) {
  const { dates } = useWords()
  const { text: all, number } = useConsole()
  const text = all.roster
  const who = useWho(user)
  const parts = operations.flatMap((operation) =>
    one.students[operation] > 0 ? [`${text.operations[operation]} ${number(one.students[operation])}`] : [],
  )
  return (
    <>
      {dates.moment(one.publishedAt)} · <bdi>{all.events.by(who(one))}</bdi>
      {parts.length > 0 && ` · ${text.kinds.student} (${parts.join(', ')})`}
    </>
  )
}

/** The holds that were confirmed. */
export function Allowed({ of: one, user }: { of: Import; user: Staff }) {
  const { text: all } = useConsole()
  const text = all.roster
  const who = useWho(user)
  if (one.allowed.length === 0) return null
  return (
    <span className="soft">
      {text.allowed} {one.allowed.map((code) => text.holdNames[code] ?? code).join(', ')} (
      <bdi>{all.events.by(who(one))}</bdi>)
    </span>
  )
}

function useWho(user: Staff): (one: Import) => string {
  const nameOf = useActors(user)
  return ({ actor, actorName }) =>
    actor === user.userId || actorName === null ? nameOf(actor ?? '') : actorName
}

function GoBack({ to }: { to: number }) {
  const { text: all } = useConsole()
  const text = all.roster
  return (
    <a href={`#/roster/undo/${to}`} aria-label={`${text.undo} ${to}`}>
      {text.undo}
    </a>
  )
}
