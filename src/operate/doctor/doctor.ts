/**
 * The checks of `chiron doctor`. Each file checks one area and returns findings: good, warning or bad, in one line,
 * with a fix. Nothing here writes to the store or sends a mail. `commands/doctor.ts` puts them together.
 */
import { counted } from '../../platform/lib/counted.ts'

export const areas = [
  'settings',
  'service',
  'store',
  'mail server',
  'sender',
  'clock',
  'public url',
  'proxy',
  'keys',
  'passkeys',
  'school accounts',
  'backup',
  'roster',
  'outbox',
  'webhooks',
  'applications',
  'rehearsal',
] as const
export type Area = (typeof areas)[number]

export interface Finding {
  readonly area: Area
  readonly state: 'good' | 'warning' | 'bad'
  readonly text: string
  /** The suggested fix; null if none is needed. */
  readonly remedy: string | null
}

export const good = (area: Area, text: string): Finding => ({ area, state: 'good', text, remedy: null })
export const warning = (area: Area, text: string, remedy: string): Finding => ({
  area,
  state: 'warning',
  text,
  remedy,
})
export const bad = (area: Area, text: string, remedy: string): Finding => ({
  area,
  state: 'bad',
  text,
  remedy,
})

const minuteMs = 60_000

/** `40 minutes`, `5 hours`, `12 days`. */
export function lasting(ms: number): string {
  const minutes = Math.round(ms / minuteMs)
  if (minutes < 1) return counted(Math.max(0, Math.round(ms / 1000)), 'second', 'seconds')
  if (minutes < 120) return counted(minutes, 'minute', 'minutes')
  const hours = Math.round(minutes / 60)
  return hours < 72 ? `${hours} hours` : `${Math.round(hours / 24)} days`
}
