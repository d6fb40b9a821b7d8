import { useEffect, useState } from 'react'
import { useAction } from '../../parts/action.ts'
import { Button } from '../../parts/button.tsx'
import { Reading } from '../../parts/loading.tsx'
import { Notice, ProblemNotice } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import type { Staff } from '../../people.ts'
import { useResource } from '../../resource.ts'
import { go } from '../../route.ts'
import { ask } from '../../session.ts'
import { useWords } from '../../text/text.ts'
import { ActionDialog } from '../action-dialog.tsx'
import { useActors } from '../event-list.tsx'
import type { Plan, PlanOptions } from '../roster-replies.ts'
import { useConsole } from '../text/console-words.ts'
import { Changes, CountsTable } from './changes.tsx'
import { Findings } from './findings.tsx'
import { Holds } from './holds.tsx'
import { ClassList, canBeCorrected } from './list.tsx'
import { Sending, useSending } from './sending.tsx'
import { fileOf } from './upload.ts'

const lookEveryMs = 1_000
/** With more bad rows than this, the file should be fixed. */
const skippableMax = 100

const read = (path: string) => ask<Plan>(path)
const pathOf = (planId: string) => `/staff/roster/plans/${encodeURIComponent(planId)}`

/** The changes of a file, its holds, and the import. */
export function PlanPage({ planId, user }: { planId: string; user: Staff }) {
  const { text: all } = useConsole()
  const text = all.roster
  const plan = useResource(pathOf(planId), read)
  const { data, problem, reload } = plan
  const isBusy = data?.state === 'planning' || data?.state === 'applying'
  useEffect(() => {
    if (!isBusy) return
    const timer = setInterval(reload, lookEveryMs)
    return () => clearInterval(timer)
  }, [isBusy, reload])

  if (!data && problem?.code === 'not-found')
    return (
      <Page title={text.planUnknown} lead={text.planUnknownLead} narrow>
        <ToRoster />
      </Page>
    )
  const titleOf = ({ state, fileName }: Plan) =>
    state === 'refused' || state === 'applied' ? fileName : text.planOf(fileName)
  return (
    <Page title={text.plan} heading={data ? <bdi>{titleOf(data)}</bdi> : text.plan}>
      <ToRoster />
      <Reading of={plan} />
      {data && <Body plan={data} user={user} onChanged={reload} />}
    </Page>
  )
}

export function ToRoster() {
  const { text } = useConsole()
  return (
    <p>
      <a href="#/roster">{text.roster.toRoster}</a>
    </p>
  )
}

function Body({ plan, user, onChanged }: { plan: Plan; user: Staff; onChanged(): void }) {
  const { text: all } = useConsole()
  const text = all.roster
  const [allowed, setAllowed] = useState<readonly string[]>([])
  const codes = [...new Set(plan.holds.map(({ code }) => code))]
  const unanswered = codes.some((code) => !allowed.includes(code))
  const again = useSending()
  const file = fileOf(plan.planId)
  const readAs = (options: Partial<PlanOptions>) => file && again.run(file, { ...plan.options, ...options })
  const isMade = plan.roster !== null
  const isOpen = plan.state === 'ready' || (plan.state === 'failed' && isMade && plan.failure !== 'moved-on')
  const changesSomething = plan.groups.length > 0
  return (
    <>
      <About plan={plan} user={user} />
      <Outcome plan={plan} />
      <Sending of={again} />
      {plan.list && plan.errors > 0 && <Findings of={plan} />}
      {plan.list && <ClassList plan={plan} onReadAs={file ? readAs : undefined} />}
      {isOpen && plan.holds.length > 0 && (
        <Holds
          of={plan.holds}
          lead={text.holdsLead}
          asks={changesSomething}
          allowed={allowed}
          onAllowed={setAllowed}
          onReadAs={file ? readAs : undefined}
        />
      )}
      {plan.state === 'refused' && mayLeaveOut(plan) && file && (
        <section className="card">
          <p>{text.skipLead(plan.badRows, String(plan.badRows))}</p>
          <Button onPress={() => readAs({ skipBadRows: plan.badRows })}>{text.skip}</Button>
        </section>
      )}
      {plan.state !== 'applying' && plan.state !== 'applied' && (
        <Decision
          plan={plan}
          user={user}
          allowed={allowed}
          possible={isOpen && changesSomething}
          unanswered={unanswered}
          onChanged={onChanged}
        />
      )}
      {!plan.list && plan.errors > 0 && <Findings of={plan} />}
      {!changesSomething && isOpen && <p>{plan.holds.length > 0 ? text.nothingSo : text.nothing}</p>}
      {changesSomething && plan.state !== 'applied' && (
        <Changes groups={plan.groups} path={`${pathOf(plan.planId)}/changes`} />
      )}
      {changesSomething && <CountsTable of={plan} opened={plan.state === 'applied'} />}
      {plan.errors === 0 && plan.warnings > 0 && plan.findings.length > 0 && <Findings of={plan} />}
    </>
  )
}

/** Bad rows can be skipped if there are no other errors. */
function mayLeaveOut({ badRows, findings }: Plan): boolean {
  const areAllOfRows = findings.every(({ severity, line }) => severity !== 'error' || (line ?? 2) > 1)
  return badRows > 0 && badRows <= skippableMax && areAllOfRows
}

function About({ plan, user }: { plan: Plan; user: Staff }) {
  const { dates } = useWords()
  const { text: all, number } = useConsole()
  const text = all.roster
  const nameOf = useActors(user)
  // A class list has rows of its own; those of the set that was made of it do not count.
  const rows = plan.list?.tables.reduce((sum, table) => sum + table.rows, 0) || (plan.rows ?? 0)
  const modes = plan.modes.map((mode) => text.modes[mode] ?? mode)
  const parts = [
    plan.modes.length > 0 && (plan.list ? text.list.kinds[plan.list.kind] : `OneRoster ${plan.version}`),
    ...modes,
    rows > 0 && text.rows(rows, number(rows)),
    `${dates.moment(plan.createdAt)}, ${all.events.by(nameOf(plan.createdBy))}`,
    plan.options.match && text.matched[plan.options.match],
    plan.skipsBadRows && text.skipped(plan.badRows, number(plan.badRows)),
  ]
  return (
    <p className="soft">
      <bdi>{parts.filter(Boolean).join(' · ')}</bdi>
    </p>
  )
}

function Outcome({ plan }: { plan: Plan }) {
  const { text: all, percent, number } = useConsole()
  const text = all.roster
  const done = plan.progress?.total ? plan.progress.done / plan.progress.total : null
  const rows = done === null ? (plan.progress?.done ?? 0) : 0
  const work = plan.state === 'planning' ? text.planning : done === null ? text.preparing : text.applying
  return (
    <div className="outcome">
      <div role="status">
        {plan.state === 'applied' && (
          <Notice tone="good">
            <p>{text.applied}</p>
          </Notice>
        )}
        {plan.state === 'failed' && (
          <Notice tone="bad">
            <p>{(plan.roster === null ? text.planFailures : text.failures)[plan.failure ?? 'error']}</p>
          </Notice>
        )}
        {plan.state === 'refused' && (
          <Notice tone="bad">
            <p>{canBeCorrected(plan) ? text.refusedList : text.refused}</p>
          </Notice>
        )}
        {plan.progress && <p>{work}</p>}
      </div>
      {plan.progress && (
        <progress
          aria-label={done === null ? work : `${work} ${percent(done)}`}
          {...(done !== null && { value: done })}
        />
      )}
      {rows > 0 && <p className="soft">{text.rowsRead(rows, number(rows))}</p>}
    </div>
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
  const mayDiscard = plan.createdBy === user.userId || user.may.includes('admin')
  const discarding = useAction(async () => {
    await ask(pathOf(plan.planId), { method: 'DELETE' })
    go('#/roster')
  })
  return (
    <>
      <div className="actions decision">
        {possible && (
          <Button look="main" onPress={() => (unanswered ? setReminded(true) : setAsking(true))}>
            {plan.state === 'failed' ? text.applyAgain : text.apply}
          </Button>
        )}
        {mayDiscard && (
          <Button busy={discarding.busy} onPress={discarding.run}>
            {plan.state === 'planning' ? text.cancel : text.discard}
          </Button>
        )}
      </div>
      <p role="alert" className={reminded && unanswered ? 'field-error' : 'said'}>
        {reminded && unanswered ? text.applyFirst : ''}
      </p>
      {discarding.problem && <ProblemNotice problem={discarding.problem} />}
      {asking && (
        <ActionDialog
          user={user}
          title={text.applyTitle}
          effects={text.applyEffects}
          undo={text.applyUndo}
          submit={text.apply}
          work={() => ask(`${pathOf(plan.planId)}/apply`, { method: 'POST', body: { allow: allowed } })}
          explain={({ code }) => (code === 'roster-moved-on' ? text.failures['moved-on'] : null)}
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
