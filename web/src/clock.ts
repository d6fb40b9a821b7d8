/** Deadlines from the service, by this device's clock. */
import { useEffect, useState } from 'react'

const second = 1000

/**
 * A phone's clock may be hours off, which would put a deadline in the past or far in the future. If the wait is
 * implausible, the usual wait is assumed.
 */
export function deadline(at: string, usualMs: number): number {
  const now = Date.now()
  const ahead = Date.parse(at) - now
  return now + (ahead > 0 && ahead <= usualMs + 60 * second ? ahead : usualMs)
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
