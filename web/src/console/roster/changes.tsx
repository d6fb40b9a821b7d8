import { useState } from 'react'
import { Address } from '../../parts/address.tsx'
import { Button } from '../../parts/button.tsx'
import { Loading } from '../../parts/loading.tsx'
import { ProblemNotice } from '../../parts/notice.tsx'
import { usePages } from '../pages.ts'
import { useConsole } from '../text/console-words.ts'
import { type Change, kinds, operations, type Plan, studentGroups } from './replies.ts'

const pageSize = 20

/** Students first, by kind of change; the rest is loaded when it is opened. */
export function Changes({ of, path }: { of: Plan; path: string }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">{text.changes}</h2>
      {of.groups.map(({ group, count, kept }) => (
        <Group
          key={group}
          title={`${text.groups[group]} (${number(count)})`}
          path={`${path}?group=${group}&limit=${pageSize}`}
          opened={studentGroups.some((each) => each === group)}
          rest={kept < count ? text.onlyFirst(number(kept)) : null}
        />
      ))}
    </section>
  )
}

function Group({
  title,
  path,
  opened,
  rest,
}: {
  title: string
  path: string
  opened: boolean
  rest: string | null
}) {
  const { text: all } = useConsole()
  const [open, setOpen] = useState(opened)
  const { items, problem, hasMore, busy, more, reload } = usePages<Change>(open ? path : null, 'changes')
  return (
    <details className="group" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h3>{title}</h3>
      </summary>
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      {open && !items && !problem && <Loading />}
      {items && <ChangeList of={items} />}
      {hasMore && (
        <Button busy={busy} onPress={more}>
          {all.more}
        </Button>
      )}
      {!hasMore && rest && <p className="soft">{rest}</p>}
    </details>
  )
}

/** Old beside new. */
export function ChangeList({ of }: { of: readonly Change[] }) {
  const { text: all } = useConsole()
  const text = all.roster
  return (
    <ul className="rows plain-list">
      {of.map((change) => (
        <li key={`${change.kind} ${change.sourcedId} ${change.operation}`}>
          <span>
            <bdi className="name">{change.name || change.sourcedId}</bdi>
            {change.kind !== 'student' && (
              <span className="soft"> · {text.operations[change.operation]}</span>
            )}
            <Details of={change} />
          </span>
          <Differences of={change} />
        </li>
      ))}
    </ul>
  )
}

/** What distinguishes people. */
function Details({ of: { kind, operation, studentNumber, before, after } }: { of: Change }) {
  if (kind !== 'student') return null
  const email = (after ?? before)?.email
  return (
    <span className="soft">
      {studentNumber && (
        <>
          {' · '}
          <bdi>{studentNumber}</bdi>
        </>
      )}
      {operation !== 'changed' && typeof email === 'string' && (
        <>
          {' · '}
          <Address of={email} />
        </>
      )}
    </span>
  )
}

function Differences({ of: { before, after } }: { of: Change }) {
  const { text: all } = useConsole()
  const text = all.roster
  if (!before || !after) return null
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name] ?? null) !== JSON.stringify(after[name] ?? null),
  )
  if (names.length === 0) return <p className="soft">{text.newId}</p>
  return (
    <dl className="differences">
      {names.map((name) => (
        <div key={name}>
          <dt>{text.fields[name] ?? name}</dt>
          <dd>
            <del>
              <span className="visually-hidden">{text.fieldBefore} </span>
              <Value of={before[name]} />
            </del>{' '}
            <span aria-hidden="true">→</span>{' '}
            <ins>
              <span className="visually-hidden">{text.fieldAfter} </span>
              <Value of={after[name]} />
            </ins>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Value({ of }: { of: unknown }) {
  const { text: all } = useConsole()
  const text = all.roster
  if (of === null || of === undefined || of === '' || (Array.isArray(of) && of.length === 0))
    return <span className="soft">{text.absent}</span>
  if (typeof of === 'boolean') return of ? text.isTrue : text.isFalse
  if (typeof of === 'string' && of.includes('@')) return <Address of={of} />
  const words = Array.isArray(of) ? of.map(wordOf).join(', ') : wordOf(of)
  return <bdi>{words}</bdi>
}

const wordOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? Object.values(value).join(' ') : String(value)

export function CountsTable({ of, opened }: { of: Plan; opened: boolean }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  const columns = ['before', ...operations, 'after'] as const
  return (
    <details className="group" open={opened}>
      <summary>
        <h2>{text.inNumbers}</h2>
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keyboard */}
      <section className="scrolls" tabIndex={0} aria-label={text.inNumbers}>
        <table>
          <thead>
            <tr>
              <th scope="col">{text.kind}</th>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column === 'before' || column === 'after' ? text[column] : text.operations[column]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {kinds.map((kind) => {
              const counts = of.counts[kind]
              return (
                counts && (
                  <tr key={kind}>
                    <th scope="row">{text.kinds[kind]}</th>
                    {columns.map((column) => (
                      <td key={column} className={counts[column] === 0 ? 'soft' : undefined}>
                        {number(counts[column])}
                      </td>
                    ))}
                  </tr>
                )
              )
            })}
          </tbody>
        </table>
      </section>
    </details>
  )
}
