/**
 * Wrong answers: how many make an attack, and what an attack changes. They are counted for the address, for the
 * network that answered and the one that had asked for the code, and for the whole service.
 *
 * Above a threshold, new codes have eight digits. While the whole service is under attack, open six-digit codes are
 * refused as well, unless a known device asked for them. That bounds the daily guesses at six digits, however many
 * addresses and networks take part. Wrong answers wait for each other at the row of the service, so none is compared
 * beyond the threshold.
 */
import { day, hour, minute } from '../../platform/lib/clock.ts'

/** The inbox of a code, and the networks that asked for it and answered. */
export interface Participants {
  readonly inbox: string
  readonly askedFrom: string
  readonly answeredFrom: string
}

export const attackedKinds = ['address', 'network', 'service'] as const

/** Wrong answers that have just reached a threshold. */
export interface Attack {
  readonly on: (typeof attackedKinds)[number]
  /** The attacking network, or the one that gave the last wrong answer. */
  readonly network: string
  readonly wrongCodes: number
  readonly withinMinutes: number
}

type Numbers<Name extends string> = { readonly [N in Name]: number }
/** Wrong and right answers of the whole service. */
export type ServiceCounts = Numbers<'wrong_hour' | 'wrong_day' | 'right_hour' | 'right_day'>
/** Also wrong answers to the codes of an inbox, and to those that a network asked for. */
export type GuessCounts = ServiceCounts &
  Numbers<'inbox_hour' | 'inbox_day' | 'asked_ten_minutes' | 'asked_day'>
/** Also those that a network gave. */
export type AnswerCounts = GuessCounts & Numbers<'answered_ten_minutes' | 'answered_day'>

interface Threshold {
  readonly on: Attack['on']
  readonly count: keyof AnswerCounts
  readonly max: number
  readonly withinMs: number
  /** Right answers that raise it. */
  readonly right?: keyof ServiceCounts
}

/** A busy service has more slips: up to a tenth as many wrong answers as right ones is not an attack. */
const rightPerWrong = 10
/** An upper bound, so that an attacker cannot raise the threshold by signing in to their own accounts. */
const wrongMost = 2_400

const thresholds: readonly Threshold[] = [
  { on: 'address', count: 'inbox_hour', max: 20, withinMs: hour },
  { on: 'address', count: 'inbox_day', max: 50, withinMs: day },
  { on: 'network', count: 'answered_ten_minutes', max: 100, withinMs: 10 * minute },
  { on: 'network', count: 'answered_day', max: 300, withinMs: day },
  { on: 'service', count: 'wrong_hour', right: 'right_hour', max: 500, withinMs: hour },
  { on: 'service', count: 'wrong_day', right: 'right_day', max: 2_000, withinMs: day },
  { on: 'network', count: 'asked_ten_minutes', max: 100, withinMs: 10 * minute },
  { on: 'network', count: 'asked_day', max: 300, withinMs: day },
]
const ofService = thresholds.filter(({ on }) => on === 'service')
const isOfAsking = ({ count }: Threshold) => count.startsWith('asked')

type Counts = Partial<AnswerCounts> & ServiceCounts

function maxOf({ max, right }: Threshold, counts: Counts): number {
  if (!right) return max
  return Math.min(wrongMost, Math.max(max, Math.floor(counts[right] / rightPerWrong)))
}

const isReached = (counts: Counts) => (one: Threshold) => (counts[one.count] ?? 0) >= maxOf(one, counts)

/** While nobody guesses across the whole service. */
export const isCalm = (counts: ServiceCounts) => !ofService.some(isReached(counts))

/**
 * Far below the thresholds, a right answer need not wait until the wrong ones before it are counted. Otherwise it must: of
 * many guesses at once, all those that are not counted yet would be compared as well.
 */
export const isQuiet = (counts: ServiceCounts) =>
  !ofService.some((one) => counts[one.count as keyof ServiceCounts] >= one.max / 2)

/** While somebody guesses codes of this inbox, from this network or across the whole service. */
const isUnderAttack = (counts: GuessCounts) => thresholds.some(isReached(counts))

/** With this many open challenges, an inbox gets longer codes for new ones. */
const openChallengesMax = 3

export const needsLongerCode = (counts: GuessCounts, openChallenges: number) =>
  openChallenges >= openChallengesMax || isUnderAttack(counts)

/** The thresholds that one more wrong answer reaches. */
export function attacksBegunBy(
  before: AnswerCounts,
  { askedFrom, answeredFrom }: Omit<Participants, 'inbox'>,
): Attack[] {
  const isOne = askedFrom === answeredFrom
  return thresholds.flatMap((one) => {
    const wrongCodes = before[one.count] + 1
    if (wrongCodes !== maxOf(one, before) || (isOne && isOfAsking(one))) return []
    const network = isOfAsking(one) ? askedFrom : answeredFrom
    return [{ on: one.on, network, wrongCodes, withinMinutes: one.withinMs / minute }]
  })
}

export function stateOfService(counts: ServiceCounts) {
  const [inHour, inDay] = ofService
  return {
    wrongLastHour: counts.wrong_hour,
    wrongLastDay: counts.wrong_day,
    /** From this many on, the whole service counts as attacked. */
    hourThreshold: maxOf(inHour!, counts),
    dayThreshold: maxOf(inDay!, counts),
    underAttack: !isCalm(counts),
  }
}
