import { weekdays } from '../../../src/school/student/classes.ts'
import { Address } from '../parts/address.tsx'
import { Reading } from '../parts/loading.tsx'
import { TimesElsewhere } from '../parts/times-elsewhere.tsx'
import type { TaughtClass } from '../people.ts'
import { useResource } from '../resource.ts'
import { useSchoolTime } from '../school-time.ts'
import { ask } from '../session.ts'
import { spanText } from '../student/classes.ts'
import { useWords } from '../text/text.ts'

const read = async (path: string) => (await ask<{ classes: TaughtClass[] } | undefined>(path))?.classes ?? []

/**
 * The classes that this veterinarian teaches according to the roster, and their students. Most teach none and see
 * nothing here.
 */
export function Teaching() {
  const { text } = useWords()
  const now = useSchoolTime()
  const classes = useResource('/veterinarian/me/classes', read)
  if (classes.data?.length === 0) return null
  return (
    <section className="teaching" aria-labelledby="teaching">
      <h2 id="teaching">{text.teaching.title}</h2>
      <Reading of={classes} />
      {classes.data?.some(({ meetings }) => meetings.length > 0) && <TimesElsewhere at={now} />}
      <ul className="cards wide">
        {classes.data?.map((entry) => (
          <li key={entry.classId}>
            <Taught entry={entry} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Taught({ entry }: { entry: TaughtClass }) {
  const { text, dates } = useWords()
  const dated = datesOf(entry)
  const times = entry.meetings.map(
    ({ day, start, end }) => `${dates.weekday(weekdays.indexOf(day))} ${dates.times(start, end)}`,
  )
  return (
    <article className={`card class ${entry.kind}`}>
      <p className="kind">{text.student.kinds[entry.kind]}</p>
      <h3>{entry.title}</h3>
      {dated && <p>{spanText(dated, text, dates)}</p>}
      <p className="soft">{[times.join(', '), entry.location].filter(Boolean).join(' · ')}</p>
      <details>
        <summary>{text.teaching.students(entry.students.length)}</summary>
        <ul className="plain-list people">
          {entry.students.map((one) => (
            <li key={`${one.email} ${one.startDate}`}>
              <span>
                {one.preferredName ?? one.firstname} {one.lastname}
                {one.pronouns && <span className="soft"> ({one.pronouns})</span>}
                {(one.startDate || one.endDate) && (
                  <span className="soft">
                    {' · '}
                    {spanText({ start: one.startDate, end: one.endDate }, text, dates)}
                  </span>
                )}
              </span>
              {one.email && (
                <a href={`mailto:${one.email}`}>
                  <Address of={one.email} />
                </a>
              )}
            </li>
          ))}
        </ul>
      </details>
    </article>
  )
}

/** A rotation is shorter than a term, so it is shown from its first student to its last, or else with its terms. */
function datesOf({
  kind,
  students,
  terms,
}: TaughtClass): { start: string | null; end: string | null } | null {
  if (kind !== 'rotation') return null
  const known = (dates: readonly (string | null)[]) => dates.filter((date) => date !== null).sort()
  const starts = known(students.map(({ startDate }) => startDate))
  const ends = known(students.map(({ endDate }) => endDate))
  const start = starts[0] ?? known(terms.map(({ startDate }) => startDate))[0] ?? null
  const end = ends.at(-1) ?? known(terms.map(({ endDate }) => endDate)).at(-1) ?? null
  return start === null && end === null ? null : { start, end }
}
