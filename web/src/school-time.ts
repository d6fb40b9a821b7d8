/** The time at the school. The timetable uses it, wherever the reader is and whatever their clock says. */
import { useEffect, useState } from 'react'
import { now } from './clock.ts'
import { school } from './school.ts'

const minuteMs = 60_000

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

function schoolTime(): SchoolTime {
  const text = there.format(now())
  const [date = '', time = ''] = text.split(' ')
  return { date, time, isElsewhere: text !== here.format(now()) }
}

/** Updates every minute. */
export function useSchoolTime(): SchoolTime {
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setTimeout(() => tick((before) => before + 1), minuteMs - (now() % minuteMs))
    return () => clearTimeout(timer)
  })
  return schoolTime()
}
