import { useWords } from '../text/text.ts'
import { classLink } from './classes.ts'
import { Times } from './day.tsx'
import type { Day } from './week.ts'

/** The week: days side by side where there is room, and one below the other on a phone. */
export function Week({ days, isNext, today }: { days: readonly Day[]; isNext: boolean; today: string }) {
  const { text, dates } = useWords()
  return (
    <section className="week" aria-labelledby="week">
      <h2 id="week">{isNext ? text.student.nextWeek : text.student.week}</h2>
      <ol className="card">
        {days.map(({ date, occurrences }) => (
          <li
            key={date}
            className={`${date === today ? 'is-today' : ''} ${occurrences.length === 0 ? 'empty' : ''}`}
            aria-current={date === today ? 'date' : undefined}
          >
            <h3>{dates.weekdayAndDay(date)}</h3>
            <ul className="plain-list">
              {occurrences.map((one) => (
                <li
                  key={`${one.start} ${one.placed.entry.classId}`}
                  className={`slot ${one.placed.entry.kind}`}
                >
                  <Times of={one} />
                  <a href={classLink(one.placed.entry)}>{one.placed.entry.title}</a>
                  {one.placed.entry.location && <span className="soft">{one.placed.entry.location}</span>}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </section>
  )
}
