/** Time comes from one place, so that tests can move it. Epoch milliseconds everywhere inside. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** Formats times. That is slow, and most ask for the same minute, within which nothing that is shown changes. */
export function byTheMinute(format: Intl.DateTimeFormat): (at: number) => string {
  let lastMinute = Number.NaN
  let text = ''
  return (at) => {
    const minuteNumber = Math.floor(at / minute)
    if (minuteNumber !== lastMinute) {
      text = format.format(at)
      lastMinute = minuteNumber
    }
    return text
  }
}

let lastDay = Number.NaN
let lastDate = ''

/** RFC 3339 UTC, as the interface writes times. As toISOString, which is slow, and the same day is asked for often. */
export function timestamp(ms: number): string {
  const dayNumber = Math.floor(ms / day)
  if (dayNumber !== lastDay) {
    lastDate = new Date(ms).toISOString().slice(0, 11)
    lastDay = dayNumber
  }
  const rest = ms - dayNumber * day
  const h = Math.floor(rest / hour)
  const m = Math.floor((rest % hour) / minute)
  const s = Math.floor((rest % minute) / second)
  return `${lastDate}${two(h)}:${two(m)}:${two(s)}.${three(rest % second)}Z`
}

const two = (n: number) => (n < 10 ? `0${n}` : `${n}`)
const three = (n: number) => (n < 100 ? `0${two(n)}` : `${n}`)

export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}
