import { useEffect } from 'react'
import { Reading } from '../../parts/loading.tsx'
import type { Staff } from '../../people.ts'
import { useResource } from '../../resource.ts'
import { ask } from '../../session.ts'
import { useWords } from '../../text/text.ts'
import { useActors } from '../event-list.tsx'
import { operations, type PendingPlan } from '../roster-replies.ts'
import { type State, StateMark } from '../state.tsx'
import { useConsole } from '../text/console-words.ts'

const lookEveryMs = 2_000
const read = (path: string) => ask<{ plans: PendingPlan[] }>(path).then(({ plans }) => plans)

/** Uploads that were not imported, of everybody; nothing if there are none. */
export function Pending({ user }: { user: Staff }) {
  const { dates } = useWords()
  const { text: all } = useConsole()
  const text = all.roster
  const nameOf = useActors(user)
  const plans = useResource('/staff/roster/plans', read)
  const { data, reload } = plans
  const isBusy = data?.some(({ progress }) => progress !== null) ?? false
  useEffect(() => {
    if (!isBusy) return
    const timer = setInterval(reload, lookEveryMs)
    return () => clearInterval(timer)
  }, [isBusy, reload])
  if (data?.length === 0) return null
  return (
    <section aria-labelledby="pending">
      <h2 id="pending">{text.pending}</h2>
      <Reading of={plans} />
      <ul className="rows plain-list">
        {data?.map((plan) => (
          <li key={plan.planId} className="import">
            <span>
              <a href={`#/roster/plans/${encodeURIComponent(plan.planId)}`}>
                <bdi>{plan.fileName}</bdi>
              </a>{' '}
              <Verdict of={plan} />
            </span>
            <span className="soft">
              {dates.moment(plan.createdAt)} ·{' '}
              <bdi>
                {all.events.by(
                  plan.createdBy === user.userId
                    ? nameOf(user.userId)
                    : (plan.createdByName ?? nameOf(plan.createdBy)),
                )}
              </bdi>{' '}
              · {text.expires(dates.moment(plan.expiresAt))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const marks = {
  planning: 'empty',
  applying: 'empty',
  ready: 'good',
  refused: 'bad',
  failed: 'bad',
  applied: 'good',
} as const satisfies Record<PendingPlan['state'], State>

function Verdict({ of: { state, holds, errors, students } }: { of: PendingPlan }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  const parts = operations.flatMap((operation) =>
    students[operation] > 0 ? [`${text.operations[operation]} ${number(students[operation])}`] : [],
  )
  const isHeld = state === 'ready' && holds.length > 0
  return (
    <>
      <StateMark state={isHeld ? 'warning' : marks[state]} word={isHeld ? text.held : text.states[state]} />
      <span className="soft">
        {isHeld && ` · ${holds.map((code) => text.holdNames[code] ?? code).join(', ')}`}
        {state === 'refused' && ` · ${text.errors(errors, number(errors))}`}
        {state === 'ready' && parts.length > 0 && ` · ${text.kinds.student} (${parts.join(', ')})`}
      </span>
    </>
  )
}
