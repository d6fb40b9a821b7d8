/** When an event is tried again, and when an endpoint is switched off. */
import { hour, minute, second } from '../../platform/lib/clock.ts'

/** 72 hours in all. */
const pausesMs = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  1 * hour,
  3 * hour,
  6 * hour,
  10 * hour,
  14 * hour,
  18 * hour,
  20 * hour,
]
const triesMax = pausesMs.length + 1
const failingMaxMs = 72 * hour
/** After this many failures in a row, the endpoint is in trouble, not a single event. */
const manyFailures = 5
export const webhooksMax = 50

/** What is known of an endpoint. */
export interface Health {
  readonly disabled_at: number | null
  /** Attempts that failed since the last success. */
  readonly failures: number
  /** When the first of them was. */
  readonly failing_since: number | null
}

export const hasRoom = (webhooks: number) => webhooks < webhooksMax

/** The pause after this many attempts of a delivery; undefined if it was the last. */
export const pauseAfter = (attempts: number) => pausesMs[attempts - 1]

/** A time ahead of now is of a clock that was wrong. */
export const failingSince = ({ failing_since: since }: Health, now: number) =>
  since === null || since > now ? now : since

export const hasFailed = ({ failures, failing_since }: Health) => failures > 0 || failing_since !== null

export const isInTrouble = ({ failures }: Health) => failures >= manyFailures

/** `unreadable`: its secret cannot be read, so nothing can be tried. */
export type Trouble = 'gone' | 'failing' | 'unreadable'

/** After three days without a success, and as many attempts as a single event gets; at once if it answered 410. */
export function isSwitchedOff(webhook: Health | undefined, trouble: Trouble, now: number): boolean {
  if (!webhook || webhook.disabled_at !== null) return false
  if (trouble === 'gone') return true
  const { failures, failing_since } = webhook
  const isLong = failing_since !== null && now - failing_since >= failingMaxMs
  return isLong && (trouble === 'unreadable' || failures >= triesMax)
}
