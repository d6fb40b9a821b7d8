import { type CSSProperties, useState } from 'react'
import { Button } from '../parts/button.tsx'
import type { SchoolTime } from '../school-time.ts'
import { type Text, useWords } from '../text/text.ts'
import { classLink, type Placed, spanText } from './classes.ts'
import { State, Times } from './day.tsx'
import { comingMonday, type Day, dayAfter, mondayOf, weekFrom } from './timetable.ts'

/**
 * One week: days side by side where there is room, and one below the other on a phone. Rotations are bands over the days
 * that they cover. Arrows lead to other weeks.
 */
export function Week({ classes, now }: { classes: readonly Placed[]; now: SchoolTime }) {
  const { text, dates } = useWords()
  /** A Monday; null follows the clock. */
  const [chosen, setChosen] = useState<string | null>(null)
  const thisMonday = mondayOf(now.date)
  const monday = chosen ?? comingMonday(classes, now)
  const { days, bands } = weekFrom(classes, monday, now.date)
  const name = nameOf(monday, thisMonday, text)
  return (
    <section className="week" aria-labelledby="week">
      <header>
        <h2 id="week" aria-live="polite">
          {name && `${name}, `}
          <span className={name ? 'soft' : undefined}>{dates.shortSpan(monday, dayAfter(monday, 6))}</span>
        </h2>
        <div className="turn print-none">
          <Button
            look="quiet"
            label={text.student.weekBefore}
            onPress={() => setChosen(dayAfter(monday, -7))}
          >
            <span aria-hidden="true">←</span>
          </Button>
          <Button look="quiet" waits={monday === thisMonday} onPress={() => setChosen(thisMonday)}>
            {text.student.toThisWeek}
          </Button>
          <Button look="quiet" label={text.student.weekAfter} onPress={() => setChosen(dayAfter(monday, 7))}>
            <span aria-hidden="true">→</span>
          </Button>
        </div>
      </header>
      <div className="card grid" style={{ '--days': days.length } as CSSProperties}>
        {bands.length > 0 && (
          <ul className="bands plain-list" aria-label={text.student.allDay}>
            {bands.map(({ placed, first, last }) => (
              <li
                key={`${placed.entry.classId} ${first}`}
                className="band"
                style={{ '--from': first + 1, '--to': last + 2 } as CSSProperties}
              >
                <span className="which-days">{dates.weekdaySpan(days[first]!.date, days[last]!.date)}</span>
                <a href={classLink(placed.entry)}>{placed.entry.title}</a>
                <span className="soft">
                  {[placed.entry.location, spanText({ start: null, end: placed.end }, text, dates)]
                    .filter(Boolean)
                    .join(' · ')}
                </span>
              </li>
            ))}
          </ul>
        )}
        <ol>
          {days.map((day) => (
            <DayOfWeek key={day.date} day={day} now={now} isFree={isFree(day, days, bands)} />
          ))}
        </ol>
      </div>
    </section>
  )
}

const nameOf = (monday: string, thisMonday: string, { student }: Text): string | null =>
  ({
    [thisMonday]: student.week,
    [dayAfter(thisMonday, 7)]: student.nextWeek,
    [dayAfter(thisMonday, -7)]: student.lastWeek,
  })[monday] ?? null

const isFree = (
  day: Day,
  days: readonly Day[],
  bands: readonly { readonly first: number; readonly last: number }[],
) =>
  day.occurrences.length === 0 &&
  !bands.some(({ first, last }) => first <= days.indexOf(day) && days.indexOf(day) <= last)

function DayOfWeek({
  day: { date, occurrences },
  now,
  isFree,
}: {
  day: Day
  now: SchoolTime
  isFree: boolean
}) {
  const { text, dates } = useWords()
  const isToday = date === now.date
  return (
    <li
      className={`${isToday ? 'is-today' : ''} ${occurrences.length === 0 ? 'empty' : ''}`}
      aria-current={isToday ? 'date' : undefined}
    >
      <h3>{dates.weekdayAndDay(date)}</h3>
      <ul className="plain-list">
        {isFree && isToday && <li className="soft free">{text.student.nothingToday}</li>}
        {occurrences.map((one) => (
          <li key={`${one.start} ${one.placed.entry.classId}`} className={`slot ${one.placed.entry.kind}`}>
            <Times of={one} />
            <a href={classLink(one.placed.entry)}>{one.placed.entry.title}</a>
            {one.placed.entry.location && <span className="soft">{one.placed.entry.location}</span>}
            {isToday && <State of={one} now={now} />}
          </li>
        ))}
      </ul>
    </li>
  )
}
