/**
 * Time by the service's clock, because a device's own may be hours off. Every reply carries it; offline, the last
 * known difference is used. Waits are counted by the device's clock, which goes on while a phone sleeps.
 */
import { useEffect, useState } from 'react'

const second = 1000

/** By how much the service's clock is ahead of this device's. Null before the first reply. */
let aheadMs: number | null = null

export const now = (): number => Date.now() + (aheadMs ?? 0)

/** `date`: the header of a reply that has just arrived. */
export function hearTime(date: string | null): void {
  const at = Date.parse(date ?? '')
  if (!Number.isNaN(at)) aheadMs = at - Date.now()
}

export const clockAheadMs = (): number => aheadMs ?? 0

/** From an earlier visit. Does nothing once a reply has arrived. */
export function assumeClockAhead(ms: number): void {
  aheadMs ??= ms
}

/**
 * A time of the service as this device's clock will show it. `usualMs` is the whole wait: the header has no fractions of
 * a second, so the difference can be one too many, and a proxy's clock may be wrong too.
 */
export function deadline(at: string, usualMs: number): number {
  const wait = Date.parse(at) - now()
  return Date.now() + (wait > 0 ? Math.min(wait, usualMs) : usualMs)
}

/** Counts down once a second; 0 when past or null. */
export function useSecondsUntil(at: number | null): number {
  const left = () => (at === null ? 0 : Math.max(0, Math.ceil((at - Date.now()) / second)))
  const [, tick] = useState(0)
  const seconds = left()
  useEffect(() => {
    if (seconds === 0) return
    const timer = setInterval(() => tick((before) => before + 1), second)
    return () => clearInterval(timer)
  }, [seconds === 0])
  return seconds
}

export const minutesAndSeconds = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
