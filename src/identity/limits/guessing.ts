/**
 * Wrong answers: how many make an attack, and what an attack changes. They are counted for the address, for the
 * network that answered and the one that had asked for the code, and for the whole service.
 *
 * Above a threshold, new codes have eight digits. While the whole service is under attack, open six-digit codes are
 * refused as well, unless a known device asked for them. That bounds the daily guesses at six digits, however many
 * addresses and networks take part. The check (`calm`) and the count are in one transaction, so answers that arrive
 * together pass the threshold by at most the number of connections to the store.
 */
import {
  both,
  type Condition,
  type Db,
  type Expression,
  expression,
  literal,
  not,
  type Row,
  type Statement,
  statementOf,
  value,
} from '../../platform/db/db.ts'
import { day, hour, minute } from '../../platform/lib/clock.ts'
import { type Counter, countAnswer, countAtTwo, countedSince } from './store.ts'

export const attackedKinds = ['address', 'network', 'service'] as const
type AttackedKind = (typeof attackedKinds)[number]

/** How many wrong answers within which time make an attack. */
interface Threshold {
  readonly on: AttackedKind
  readonly wrong: Counter
  /** Right answers that raise the threshold. */
  readonly right?: Counter
  readonly max: number
  readonly withinMs: number
}

/** A busy service has more slips: up to a tenth as many wrong answers as right ones is not an attack. */
const rightPerWrong = 10
/** An upper bound, so that an attacker cannot raise the threshold by signing in to their own accounts. */
const wrongMost = 2_400

const minutely = (key: Expression): Counter => ({ key, slotMs: minute })
// These sums are read at every sign-in, so a day has fewer, longer slots.
const daily = (key: Expression): Counter => ({ key, slotMs: 15 * minute })

const ofInbox = (inbox: Expression) => minutely(expression`${literal('address:')} || ${inbox}`)
const ofNetwork = (network: Expression) => minutely(expression`${literal('network:')} || ${network}`)
const wrongInHour = minutely(literal('service'))
const wrongInDay = daily(literal('service:day'))
const rightInHour = minutely(literal('right'))
const rightInDay = daily(literal('right:day'))

const addressThresholds = (wrong: Counter): Threshold[] => [
  { on: 'address', wrong, max: 20, withinMs: hour },
  { on: 'address', wrong, max: 50, withinMs: day },
]
const networkThresholds = (wrong: Counter): Threshold[] => [
  { on: 'network', wrong, max: 100, withinMs: 10 * minute },
  { on: 'network', wrong, max: 300, withinMs: day },
]
const serviceThresholds: readonly Threshold[] = [
  { on: 'service', wrong: wrongInHour, right: rightInHour, max: 500, withinMs: hour },
  { on: 'service', wrong: wrongInDay, right: rightInDay, max: 2_000, withinMs: day },
]

/** Wrong answers that have just reached a threshold. */
export interface Attack {
  readonly on: AttackedKind
  /** The attacking network, or the one that gave the last wrong answer. */
  readonly network: string
  readonly wrongCodes: number
  readonly withinMinutes: number
}

/** Whose code was answered, and from where. */
export interface Guess {
  readonly inbox: Expression
  readonly askedFrom: Expression
  readonly answeredFrom: string
}

/** The statements that count a wrong answer, and what their results say. */
export interface FailureCounting {
  readonly statements: readonly Statement[]
  /** `results` starts with those of the statements. */
  attacks(results: readonly Row[][], askedFrom: string): Attack[]
}

/**
 * Counts a wrong answer, if `when` is true. Each locks its counters and then reads them, so of several at once exactly one
 * sees a count reach its threshold.
 */
export function countWrong(guess: Guess, now: number, when: Condition): FailureCounting {
  const inbox = ofInbox(guess.inbox)
  const asking = ofNetwork(guess.askedFrom)
  const answering = ofNetwork(value(guess.answeredFrom))
  const thresholds = [
    ...addressThresholds(inbox),
    ...networkThresholds(answering),
    ...serviceThresholds,
    ...networkThresholds(asking),
  ]
  return {
    statements: [
      countAnswer([inbox, asking, answering, wrongInHour, wrongInDay], now, when),
      statesOf(thresholds, now),
    ],
    attacks(results, askedFrom) {
      const states = results[1] as State[]
      const reached = states.filter(({ wrong, threshold }) => wrong >= threshold && wrong - 1 < threshold)
      return reached.flatMap(({ nth, wrong }) => {
        const { on, withinMs, wrong: counter } = thresholds[nth]!
        const network = counter === asking ? askedFrom : guess.answeredFrom
        const isSame = counter === asking && askedFrom === guess.answeredFrom
        return isSame ? [] : [{ on, network, wrongCodes: wrong, withinMinutes: withinMs / minute }]
      })
    },
  }
}

/** Counts a right answer. */
export const countRight = (now: number): Statement => countAtTwo([rightInHour, rightInDay], now)

/** True while nobody guesses across the whole service. */
export function calm(now: number): Condition {
  return allBelow(serviceThresholds, now)
}

/** True while somebody guesses codes of this inbox, from this network or across the whole service. */
export function underAttack(inbox: string, network: string, now: number): Condition {
  const thresholds = [
    ...addressThresholds(ofInbox(value(inbox))),
    ...networkThresholds(ofNetwork(value(network))),
    ...serviceThresholds,
  ]
  return not(allBelow(thresholds, now))
}

export interface ServiceState {
  readonly wrongLastHour: number
  readonly wrongLastDay: number
  /** From this many on, the whole service counts as attacked. */
  readonly hourThreshold: number
  readonly dayThreshold: number
  readonly underAttack: boolean
}

export async function serviceState(db: Pick<Db, 'all'>, now: number): Promise<ServiceState> {
  const [inHour, inDay] = await readStates(db, serviceThresholds, now)
  return {
    wrongLastHour: inHour!.wrong,
    wrongLastDay: inDay!.wrong,
    hourThreshold: inHour!.threshold,
    dayThreshold: inDay!.threshold,
    underAttack: [inHour!, inDay!].some(({ wrong, threshold }) => wrong >= threshold),
  }
}

/** Wrong answers of a network in the last ten minutes and in the last day. */
export async function wrongFrom(db: Db, network: string, now: number): Promise<[number, number]> {
  const [short, long] = await readStates(db, networkThresholds(ofNetwork(value(network))), now)
  return [short!.wrong, long!.wrong]
}

type State = { readonly nth: number; readonly wrong: number; readonly threshold: number }

async function readStates(db: Pick<Db, 'all'>, thresholds: readonly Threshold[], now: number) {
  const { sql, params } = statesOf(thresholds, now)
  return (await db.all<State>(sql, params)).toSorted((a, b) => a.nth - b.nth)
}

function statesOf(thresholds: readonly Threshold[], now: number): Statement {
  return statementOf(
    thresholds
      .map(
        (one, nth) =>
          expression`select ${literal(nth)} as nth, ${wrongOf(one, now)} as wrong, ${maxOf(one, now)} as threshold`,
      )
      .reduce((all, one) => expression`${all} union all ${one}`),
  )
}

function allBelow(thresholds: readonly Threshold[], now: number): Condition {
  return thresholds
    .map((one): Condition => {
      const wrong = wrongOf(one, now)
      const max = literal(one.max)
      if (!one.right) return expression`${wrong} < ${max}`
      // In quiet times the right answers are not summed up.
      return expression`(select n < ${max} or n < ${maxOf(one, now)} from (select ${wrong} as n) as counted)`
    })
    .reduce(both)
}

const wrongOf = ({ wrong, withinMs }: Threshold, now: number) => countedSince(wrong, now - withinMs)

function maxOf({ right, max, withinMs }: Threshold, now: number): Expression {
  if (!right) return literal(max)
  return expression`(select case when total <= ${literal(max * rightPerWrong)} then ${literal(max)}
      when total > ${literal(wrongMost * rightPerWrong)} then ${literal(wrongMost)}
      else total / ${literal(rightPerWrong)} end
    from (select ${countedSince(right, now - withinMs)} as total) as answers)`
}
