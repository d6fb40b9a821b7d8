import { useState } from 'react'
import { type Meeting, weekdays } from '../../../../src/school/student/classes.ts'
import { useAction } from '../../parts/action.ts'
import { Address } from '../../parts/address.tsx'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { Loading } from '../../parts/loading.tsx'
import { ProblemNotice } from '../../parts/notice.tsx'
import { useWords } from '../../text/text.ts'
import { download } from '../download.ts'
import { usePages } from '../pages.ts'
import {
  type Change,
  type GroupCount,
  kinds,
  operations,
  type Plan,
  studentGroups,
} from '../roster-replies.ts'
import { useConsole } from '../text/console-words.ts'

const pageSize = 20
const typingMs = 200

/** Students first, by kind of change; the rest is loaded when it is opened. A search shows what it finds instead. */
export function Changes({ groups, path }: { groups: readonly GroupCount[]; path: string }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  const [typed, setTyped] = useState('')
  const query = typed.trim()
  const saving = useAction(() => download(`${path}.csv`, 'roster-changes.csv'))
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">{text.changes}</h2>
      <div className="inline">
        <Field
          label={text.find}
          type="search"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          enterKeyHint="search"
          value={typed}
          onText={setTyped}
        />
        <Button busy={saving.busy} onPress={saving.run}>
          {text.downloadChanges}
        </Button>
      </div>
      {saving.problem && <ProblemNotice problem={saving.problem} />}
      {query === '' ? (
        groups.map(({ group, count }) => (
          <Group
            key={group}
            title={`${text.groups[group]} (${number(count)})`}
            path={`${path}?group=${group}&limit=${pageSize}`}
            opened={studentGroups.some((each) => each === group)}
          />
        ))
      ) : (
        <Found path={`${path}?q=${encodeURIComponent(query)}&limit=${pageSize}`} />
      )}
    </section>
  )
}

function Found({ path }: { path: string }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  const { items, problem, hasMore, busy, more, reload } = usePages<Change>(path, 'changes', typingMs)
  const count = items?.length ?? 0
  return (
    <>
      <p role="status" className="soft">
        {items &&
          (count === 0
            ? text.foundNothing
            : text.foundChanges(count, `${number(count)}${hasMore ? '+' : ''}`))}
      </p>
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      {!items && !problem && <Loading />}
      {items && <ChangeList of={items} withKind />}
      {hasMore && (
        <Button busy={busy} onPress={more}>
          {all.more}
        </Button>
      )}
    </>
  )
}

function Group({ title, path, opened }: { title: string; path: string; opened: boolean }) {
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
    </details>
  )
}

/** Old beside new. `withKind`: where no heading says what happens to a student. */
export function ChangeList({ of, withKind = false }: { of: readonly Change[]; withKind?: boolean }) {
  const { text: all } = useConsole()
  const text = all.roster
  return (
    <ul className="rows plain-list">
      {of.map((change) => (
        <li key={`${change.kind} ${change.sourcedId} ${change.operation}`}>
          <span>
            <bdi className="name">{change.name || change.sourcedId}</bdi>
            {withKind && <span className="soft"> · {text.kinds[change.kind]}</span>}
            {(withKind || change.kind !== 'student') && (
              <span className="soft"> · {text.happens[change.operation]}</span>
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
  const { dates } = useWords()
  const text = all.roster
  if (of === null || of === undefined || of === '' || (Array.isArray(of) && of.length === 0))
    return <span className="soft">{text.absent}</span>
  if (typeof of === 'boolean') return of ? text.isTrue : text.isFalse
  if (typeof of === 'string' && of.includes('@')) return <Address of={of} />
  const wordOf = (value: unknown) =>
    isMeeting(value)
      ? `${dates.weekday(weekdays.indexOf(value.day))} ${dates.times(value.start, value.end)}`
      : String(value)
  return <bdi>{[of].flat().map(wordOf).join(', ')}</bdi>
}

const isMeeting = (value: unknown): value is Meeting => typeof value === 'object' && value !== null

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
