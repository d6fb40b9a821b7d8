import type { SchoolTime } from '../school-time.ts'
import { useWords } from '../text/text.ts'
import { classLink, type Placed, spanText } from './classes.ts'
import { dayOf, nextMeeting, type Occurrence, periodsOn, periodText } from './week.ts'

/** Today's classes, and the next one. */
export function Today({ classes, now }: { classes: readonly Placed[]; now: SchoolTime }) {
  const { text, dates } = useWords()
  const { date: today, time } = now
  const { occurrences } = dayOf(classes, today)
  const allDay = classes.filter(
    ({ state, entry }) =>
      state === 'now' &&
      entry.meetings.length === 0 &&
      (entry.kind === 'rotation' || periodsOn(entry.periods, today).length > 0),
  )
  const next = nextMeeting(classes, now)
  const isOver = ({ end }: Occurrence) => end <= time
  const isOn = (one: Occurrence) => one.start <= time && !isOver(one)
  if (occurrences.length + allDay.length === 0 && !next) return null
  return (
    <section className="today" aria-labelledby="today">
      <h2 id="today">{text.student.today}</h2>
      {occurrences.length + allDay.length === 0 && <p>{text.student.nothingToday}</p>}
      <ul className="agenda card">
        {allDay.map((placed) => (
          <li key={placed.entry.classId} className={placed.entry.kind}>
            <span className="time">
              {periodsOn(placed.entry.periods, today)
                .map((period) => periodText(period, dates.weekday))
                .join(', ') || text.student.allDay}
            </span>
            <Entry placed={placed} more={spanText({ start: null, end: placed.end }, text, dates)} />
          </li>
        ))}
        {occurrences.map((one) => (
          <li
            key={`${one.start} ${one.placed.entry.classId}`}
            className={`${one.placed.entry.kind} ${isOver(one) ? 'over' : ''}`}
          >
            <Times of={one} />
            <Entry
              placed={one.placed}
              more={
                isOn(one)
                  ? text.student.onNow
                  : one === next || sameTime(one, next)
                    ? text.student.next
                    : null
              }
            />
          </li>
        ))}
        {next && next.date !== today && (
          <li className={`${next.placed.entry.kind} later`}>
            <span className="time">
              {dates.weekdayAndDay(next.date)}
              <br />
              {dates.times(next.start, next.end)}
            </span>
            <Entry placed={next.placed} more={text.student.next} />
          </li>
        )}
      </ul>
    </section>
  )
}

const sameTime = (one: Occurrence, next: Occurrence | null) =>
  next !== null && one.date === next.date && one.start === next.start

export function Times({ of: { start, end } }: { of: Occurrence }) {
  const { dates } = useWords()
  return <span className="time">{dates.times(start, end)}</span>
}

function Entry({ placed: { entry }, more }: { placed: Placed; more: string | null }) {
  const { text } = useWords()
  return (
    <span className="what">
      <a href={classLink(entry)}>{entry.title}</a>
      <span className="soft">
        {[text.student.kinds[entry.kind], entry.location, more].filter(Boolean).join(' · ')}
      </span>
    </span>
  )
}
