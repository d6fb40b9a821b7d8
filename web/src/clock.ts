/** Moments of the service, on the clock of this device. */
import { useEffect, useState } from 'react'

const second = 1000

/**
 * A phone's clock may be wrong by hours, and then a moment that is minutes ahead seems past or far away. It is put
 * where it would be if the clock were right and the wait as long as usual.
 */
export function deadline(at: string, usualMs: number): number {
  const now = Date.now()
  const ahead = Date.parse(at) - now
  return now + (ahead > 0 && ahead <= usualMs + 60 * second ? ahead : usualMs)
}

/** Whole seconds until then, counted down once a second; 0 when past or null. */
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

/** `9:05`. */
export const minutesAndSeconds = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
