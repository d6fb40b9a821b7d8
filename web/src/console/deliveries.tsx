import { useWords } from '../text/text.ts'
import type { Delivery, DeliveryState, DeliveryStep, StepName } from './replies.ts'
import { type State, StateMark } from './state.tsx'
import { useConsole } from './text/console-words.ts'

const states: Record<DeliveryState, State> = {
  queued: 'empty',
  deferred: 'warning',
  handed: 'warning',
  'not-sent': 'bad',
  failed: 'bad',
  bounced: 'bad',
  opened: 'good',
}

const codes = ['code', 'address-code', 'step-up-code']

/** Mails as lines of steps, newest first. The first sentence of each answers "I got no code". */
export function DeliveryList({
  of,
  none,
  withPerson = false,
}: {
  of: readonly Delivery[]
  none: string
  withPerson?: boolean
}) {
  if (of.length === 0) return <p className="soft">{none}</p>
  const newestFirst = of.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))
  return (
    <ol className="deliveries plain-list">
      {newestFirst.map((delivery) => (
        <DeliveryCard key={delivery.deliveryId} of={delivery} withPerson={withPerson} />
      ))}
    </ol>
  )
}

function DeliveryCard({ of, withPerson }: { of: Delivery; withPerson: boolean }) {
  const { dates } = useWords()
  const { text: all } = useConsole()
  const text = all.delivery
  const { mail, createdAt, role, domain, userId, askedBy } = of
  return (
    <li className="card">
      <h3>
        <time dateTime={createdAt}>{dates.moment(createdAt)}</time>
        {' · '}
        {mail === null ? text.unknownKind : (text.kinds[mail] ?? text.unknownKind)}
        <span className="soft">
          {' '}
          {text.as(all.roles[role])} {(withPerson || askedBy) && <bdi>{text.atDomain(domain)}</bdi>}
        </span>
      </h3>
      <p className="verdict">
        <Verdict of={of} />
      </p>
      <Steps of={of.steps} />
      {withPerson && userId && (
        <p>
          <a href={`#/people/${encodeURIComponent(userId)}`}>{text.person}</a>
        </p>
      )}
      {askedBy && (
        <p>
          <a href={`#/people/${encodeURIComponent(askedBy)}`}>{text.asker}</a>
        </p>
      )}
    </li>
  )
}

function Verdict({ of: { mail, state, steps } }: { of: Delivery }) {
  const { text: all } = useConsole()
  const text = all.delivery
  if (state === 'handed' && mail !== null && !codes.includes(mail))
    return <StateMark state="good" word={text.handedNotice} />
  const isWrong = state === 'handed' && steps.some(({ step }) => step === 'wrong-code')
  return <StateMark state={states[state]} word={isWrong ? text.handedWrong : text.verdicts[state]} />
}

/** Repeated steps are shown once, with the time of the last. */
function Steps({ of }: { of: readonly DeliveryStep[] }) {
  const groups: { last: DeliveryStep; times: number }[] = []
  for (const step of of) {
    const before = groups.at(-1)
    if (before?.last.step === step.step) groups[groups.length - 1] = { last: step, times: before.times + 1 }
    else groups.push({ last: step, times: 1 })
  }
  return (
    <ol className="steps">
      {groups.map(({ last, times }) => (
        <li key={`${last.step} ${last.at}`} className={stepStates[last.step]}>
          <Step of={last} times={times} />
        </li>
      ))}
    </ol>
  )
}

const stepStates: Record<StepName, State> = {
  queued: 'good',
  deferred: 'warning',
  handed: 'good',
  'not-sent': 'bad',
  failed: 'bad',
  bounced: 'bad',
  'wrong-code': 'warning',
  'right-code': 'good',
}

function Step({
  of: { step, at, server, reply, why, hard, nextAt },
  times,
}: {
  of: DeliveryStep
  times: number
}) {
  const { dates } = useWords()
  const { text: all } = useConsole()
  const text = all.delivery
  return (
    <>
      <strong>
        {text.steps[step]}
        {hard && `, ${text.forGood}`}
        {times > 1 && ` (${text.times(times)})`}
      </strong>
      <time className="small soft" dateTime={at}>
        {dates.clock(at)}
      </time>
      {server && (
        <span className="small">
          <bdi>{text.to(server)}</bdi>
        </span>
      )}
      {why && (
        <span className="small">
          <bdi>{why}</bdi>
        </span>
      )}
      {reply && (
        <span className="small">
          {text.said} <bdi className="reply">{reply}</bdi>
        </span>
      )}
      {nextAt && <span className="small soft">{text.nextTry(dates.recent(nextAt))}</span>}
    </>
  )
}
