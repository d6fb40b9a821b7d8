import type { SchoolTime } from '../school-time.ts'
import { useWords } from '../text/text.ts'

/** For readers in a different time zone from the school. */
export function TimesElsewhere({ at: { date, time, isElsewhere } }: { at: SchoolTime }) {
  const { text, dates } = useWords()
  if (!isElsewhere) return null
  return <p className="small soft">{text.timesElsewhere(dates.weekdayAndDay(date), dates.timeOfDay(time))}</p>
}
