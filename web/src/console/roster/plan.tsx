import { useEffect, useState } from 'react'
import { useAction } from '../../parts/action.ts'
import { Button } from '../../parts/button.tsx'
import { Reading } from '../../parts/loading.tsx'
import { Notice, ProblemNotice } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { save } from '../../parts/save.ts'
import type { Staff } from '../../people.ts'
import { useResource } from '../../resource.ts'
import { go } from '../../route.ts'
import { ask } from '../../session.ts'
import { Deed } from '../deed.tsx'
import { usePages } from '../pages.ts'
import { StateMark } from '../state.tsx'
import { useConsole } from '../text/console-words.ts'
import { type Change, type Finding, type Hold, kinds, type Operation, type Plan } from './replies.ts'

const lookEveryMs = 1_000
const operations: readonly Operation[] = ['added', 'changed', 'leaving', 'returning']
const findingsShownMax = 200

const read = (path: string) => ask<Plan>(path)
const pathOf = (planId: string) => `/staff/roster/plans/${encodeURIComponent(planId)}`

/** What a file would change, the questions it raises, and the import itself. */
export function PlanPage({ planId, user }: { planId: string; user: Staff }) {
  const { text: all } = useConsole()
  const text = all.roster
  const plan = useResource(pathOf(planId), read)
  const { data, problem, reload } = plan
  const isApplying = data?.state === 'applying'
  useEffect(() => {
    if (!isApplying) return
    const timer = setInterval(reload, lookEveryMs)
    return () => clearInterval(timer)
  }, [isApplying, reload])

  if (!data && problem?.code === 'not-found')
    return (
      <Page title={text.planUnknown} lead={text.planUnknownLead} narrow>
        <p>
          <a href="#/roster">{text.toRoster}</a>
        </p>
      </Page>
    )
  return (
    <Page title={text.plan} heading={data?.fileName ? <bdi>{text.planOf(data.fileName)}</bdi> : text.plan}>
      <p>
        <a href="#/roster">{text.toRoster}</a>
      </p>
      <Reading of={plan} />
      {data && <Body plan={data} user={user} onChanged={reload} />}
    </Page>
  )
}

function Body({ plan, user, onChanged }: { plan: Plan; user: Staff; onChanged(): void }) {
  const { text: all, percent } = useConsole()
  const text = all.roster
  const [allowed, setAllowed] = useState<readonly string[]>([])
  const errors = plan.findings.filter(({ severity }) => severity === 'error').length
  const changesSomething = kinds.some((kind) => operations.some((one) => (plan.counts[kind]?.[one] ?? 0) > 0))
  const unanswered = plan.holds.filter(({ code }) => !allowed.includes(code)).length
  const done = plan.progress?.total ? plan.progress.done / plan.progress.total : null
  return (
    <>
      <div role="status">
        {plan.state === 'applied' && (
          <Notice tone="good">
            <p>{text.applied}</p>
          </Notice>
        )}
        {plan.state === 'failed' && (
          <Notice tone="bad">
            <p>{text.failed}</p>
          </Notice>
        )}
        {plan.state === 'applying' && <p>{text.applying}</p>}
      </div>
      {plan.state === 'applying' && (
        <progress
          aria-label={done === null ? text.applying : `${text.applying} ${percent(done)}`}
          {...(done !== null && { value: done })}
        />
      )}
      {plan.state === 'ready' && errors === 0 && plan.holds.length > 0 && (
        <Holds of={plan.holds} allowed={allowed} onAllowed={setAllowed} />
      )}
      {(plan.state === 'ready' || plan.state === 'refused') && (
        <Decision
          plan={plan}
          user={user}
          allowed={allowed}
          possible={plan.state === 'ready' && errors === 0 && changesSomething}
          unanswered={unanswered > 0}
          onChanged={onChanged}
        />
      )}
      {plan.findings.length > 0 && <Findings of={plan.findings} errors={errors} />}
      {changesSomething ? <CountsTable of={plan} /> : errors === 0 && <p>{text.nothing}</p>}
      {changesSomething && <Changes planId={plan.planId} />}
    </>
  )
}

function Holds({
  of,
  allowed,
  onAllowed,
}: {
  of: readonly Hold[]
  allowed: readonly string[]
  onAllowed(allowed: readonly string[]): void
}) {
  const { text: all } = useConsole()
  const text = all.roster
  return (
    <section className="card holds" aria-labelledby="holds">
      <h2 id="holds">
        <StateMark state="warning" word={text.holds} />
      </h2>
      <p>{text.holdsLead}</p>
      <ul className="plain-list">
        {of.map(({ code, reason }) => (
          <li key={code}>
            <fieldset className="checks">
              <legend>{text.hold[code] ?? text.otherHold}</legend>
              <p>
                <bdi>{reason}</bdi>
              </p>
              <label className="check">
                <input
                  type="checkbox"
                  checked={allowed.includes(code)}
                  onChange={(event) =>
                    onAllowed(
                      event.currentTarget.checked
                        ? [...allowed, code]
                        : allowed.filter((each) => each !== code),
                    )
                  }
                />
                {text.yes}
              </label>
            </fieldset>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Decision({
  plan,
  user,
  allowed,
  possible,
  unanswered,
  onChanged,
}: {
  plan: Plan
  user: Staff
  allowed: readonly string[]
  possible: boolean
  unanswered: boolean
  onChanged(): void
}) {
  const { text: all } = useConsole()
  const text = all.roster
  const [asking, setAsking] = useState(false)
  const [reminded, setReminded] = useState(false)
  const discarding = useAction(async () => {
    await ask(pathOf(plan.planId), { method: 'DELETE' })
    go('#/roster')
  })
  return (
    <>
      <div className="actions decision">
        {possible && (
          <Button look="main" onPress={() => (unanswered ? setReminded(true) : setAsking(true))}>
            {text.apply}
          </Button>
        )}
        <Button busy={discarding.busy} onPress={discarding.run}>
          {text.discard}
        </Button>
      </div>
      <p role="alert" className="said">
        {reminded && unanswered ? text.applyFirst : ''}
      </p>
      {discarding.problem && <ProblemNotice problem={discarding.problem} />}
      {asking && (
        <Deed
          user={user}
          title={text.applyTitle}
          effects={text.applyEffects}
          undo={text.applyUndo}
          submit={text.apply}
          work={() => ask(`${pathOf(plan.planId)}/apply`, { method: 'POST', body: { allow: allowed } })}
          explain={({ status }) => (status === 409 ? text.movedOn : null)}
          onDone={() => {
            setAsking(false)
            onChanged()
          }}
          onCancel={() => setAsking(false)}
        />
      )}
    </>
  )
}

function CountsTable({ of }: { of: Plan }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  const columns = ['before', ...operations, 'after'] as const
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keyboard
    <section className="scrolls" tabIndex={0} aria-label={text.plan}>
      <table>
        <thead>
          <tr>
            <th scope="col">{text.what}</th>
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
  )
}

/** Old beside new. */
function Changes({ planId }: { planId: string }) {
  const { text: all } = useConsole()
  const text = all.roster
  const { items, problem, hasMore, busy, more, reload } = usePages<Change>(
    `${pathOf(planId)}/changes`,
    'changes',
  )
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">{text.changes}</h2>
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      <ul className="rows plain-list">
        {items?.map((change) => (
          <li key={`${change.kind} ${change.sourcedId}`}>
            <span>
              <strong>{text.operations[change.operation]}</strong> · {text.kinds[change.kind]} ·{' '}
              <bdi>{titleOf(change)}</bdi>
            </span>
            <Differences of={change} />
          </li>
        ))}
      </ul>
      {hasMore && (
        <Button busy={busy} onPress={more}>
          {all.more}
        </Button>
      )}
    </section>
  )
}

function titleOf({ before, after, sourcedId }: Change): string {
  const { firstname, lastname, title, name } = after ?? before ?? {}
  const words = [firstname, lastname, title, name].filter((each) => typeof each === 'string')
  return words.join(' ') || sourcedId
}

function Differences({ of: { before, after } }: { of: Change }) {
  const { text: all } = useConsole()
  const text = all.roster
  if (!before || !after) return null
  const shown = (value: unknown) =>
    value === null || value === undefined
      ? text.absent
      : typeof value === 'string'
        ? value
        : JSON.stringify(value)
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  return (
    <dl className="differences">
      {names.map((name) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <del>
              <span className="visually-hidden">{text.fieldBefore} </span>
              <bdi>{shown(before[name])}</bdi>
            </del>{' '}
            <ins>
              <span className="visually-hidden">{text.fieldAfter} </span>
              <bdi>{shown(after[name])}</bdi>
            </ins>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Findings({ of, errors }: { of: readonly Finding[]; errors: number }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  const warnings = of.length - errors
  const gravestFirst = of.toSorted((a, b) => a.severity.localeCompare(b.severity))
  return (
    <section aria-labelledby="findings">
      <h2 id="findings">{text.findings}</h2>
      {errors > 0 && <p>{text.errors(errors, number(errors))}</p>}
      {warnings > 0 && <p>{text.warnings(warnings, number(warnings))}</p>}
      <p>
        <Button onPress={() => save('roster-remarks.csv', 'text/csv', csvOf(of))}>{text.download}</Button>
      </p>
      <ul className="rows plain-list">
        {gravestFirst.slice(0, findingsShownMax).map((finding) => (
          <li key={[finding.code, finding.file, finding.line, finding.column, finding.value].join(' ')}>
            <span>
              <StateMark
                state={finding.severity === 'error' ? 'bad' : 'warning'}
                word={finding.severity === 'error' ? text.error : text.warning}
              />{' '}
              <bdi>
                {finding.line === null ? finding.file : text.at(finding.file, String(finding.line))}
                {finding.column && `, ${finding.column}`}
              </bdi>
            </span>
            <span>
              <bdi>{finding.message}</bdi>
              {finding.value !== null && (
                <span className="soft">
                  {' '}
                  (<bdi>{finding.value}</bdi>)
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** A spreadsheet must not take what stood in the file for a formula. */
function csvOf(findings: readonly Finding[]): string {
  const columns = ['severity', 'code', 'file', 'line', 'column', 'value', 'message'] as const
  const cell = (value: string | number | null) => {
    const text = String(value ?? '')
    return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`
  }
  const lines = findings.map((finding) => columns.map((column) => cell(finding[column])).join(','))
  return `\uFEFF${[columns.join(','), ...lines].join('\r\n')}\r\n`
}
