/** Compares the clock of this machine with others: codes, tokens and sessions depend on it. */
import { minute, second } from '../../platform/lib/clock.ts'
import { bad, type Finding, good, lasting, warning } from './doctor.ts'

export interface OtherClock {
  readonly whose: string
  readonly now: number
  /** Ours, at the same time. */
  readonly ours: number
}

const unevenMs = 10 * second
const wrongMs = 2 * minute

export function checkClock({ whose, now, ours }: OtherClock): Finding {
  const apart = ours - now
  const text = `this machine is ${lasting(Math.abs(apart))} ${apart < 0 ? 'behind' : 'ahead of'} ${whose}`
  const remedy = 'make sure that both machines set their clocks by NTP'
  if (Math.abs(apart) >= wrongMs) return bad('clock', text, remedy)
  if (Math.abs(apart) >= unevenMs) return warning('clock', text, remedy)
  return good('clock', `agrees with ${whose}`)
}
