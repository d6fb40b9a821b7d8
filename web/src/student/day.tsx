import type { SchoolTime } from '../school-time.ts'
import { useWords } from '../text/text.ts'
import { classLink, type Placed, spanText } from './classes.ts'
import {
  dayOf,
  isAllDay,
  isOn,
  isOver,
  nextMeeting,
  type Occurrence,
  periodsOn,
  periodText,
  takesPlaceOn,
} from './timetable.ts'

/** What comes next, today or later. */
export function Next({ classes, now }: { classes: readonly Placed[]; now: SchoolTime }) {
  const { text, dates } = useWords()
  const next = nextMeeting(classes, now)
  if (!next) return null
  const { entry } = next.placed
  const time = dates.times(next.start, next.end)
  return (
    <section className="next" aria-labelledby="next">
      <h2 id="next">{text.student.next}</h2>
      <p>
        <span className="time">
          {next.date === now.date ? time : `${dates.weekdayAndDay(next.date)}, ${time}`}
        </span>{' '}
        <a href={classLink(entry)}>{entry.title}</a>
        {entry.location && <span className="soft"> {entry.location}</span>}
      </p>
    </section>
  )
}

/** Today's classes and nothing else. */
export function Today({ classes, now }: { classes: readonly Placed[]; now: SchoolTime }) {
  const { text, dates } = useWords()
  const { date: today } = now
  const { occurrences } = dayOf(classes, today)
  const allDay = classes.filter(
    (placed) =>
      (isAllDay(placed) && takesPlaceOn(placed, today)) ||
      (placed.state === 'now' &&
        placed.entry.meetings.length === 0 &&
        periodsOn(placed.entry.periods, today).length > 0),
  )
  return (
    <section className="today" aria-labelledby="today">
      <h2 id="today">{text.student.today}</h2>
      {occurrences.length + allDay.length === 0 ? (
        <p>{text.student.nothingToday}</p>
      ) : (
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
              className={`${one.placed.entry.kind} ${isOver(one, now) ? 'over' : ''}`}
            >
              <span>
                <Times of={one} /> <State of={one} now={now} />
              </span>
              <Entry placed={one.placed} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

export function Times({ of: { start, end } }: { of: Occurrence }) {
  const { dates } = useWords()
  return <span className="time">{dates.times(start, end)}</span>
}

/** Says in words whether a class is on or over. */
export function State({ of, now }: { of: Occurrence; now: SchoolTime }) {
  const { text } = useWords()
  if (isOn(of, now)) return <span className="badge now">{text.student.now}</span>
  return isOver(of, now) ? <span className="badge">{text.student.over}</span> : null
}

function Entry({ placed: { entry }, more }: { placed: Placed; more?: string }) {
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
