/** The time at the school. The timetable uses it, wherever the reader is and whatever their clock says. */
import { useEffect, useState } from 'react'
import { now } from './clock.ts'
import { school } from './school.ts'

const secondMs = 1_000

export interface SchoolTime {
  /** Such as 2026-11-16. */
  readonly date: string
  /** Such as 09:40. */
  readonly time: string
  /** Whether the reader's clock should show something else. */
  readonly isElsewhere: boolean
}

// The Swedish format is that of ISO 8601.
const formatIn = (timeZone?: string) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
const here = formatIn()
const there = schoolFormat()

/** A zone that this browser does not know yet must not break the page. */
function schoolFormat(): Intl.DateTimeFormat {
  try {
    return formatIn(school.timeZone ?? undefined)
  } catch {
    return here
  }
}

const wallClock = () => there.format(now())

/**
 * Follows the clock. It looks every second, because the minute can also change when a sleeping device wakes up, or when
 * a reply says what time it really is.
 */
export function useSchoolTime(): SchoolTime {
  const [, show] = useState(wallClock)
  useEffect(() => {
    const timer = setInterval(() => show(wallClock), secondMs)
    return () => clearInterval(timer)
  }, [])
  const text = wallClock()
  const [date = '', time = ''] = text.split(' ')
  return { date, time, isElsewhere: text !== here.format(now()) }
}
