import type { ReactNode } from 'react'
import { weekdays } from '../../../src/school/student/classes.ts'
import { Address } from '../parts/address.tsx'
import { Facts } from '../parts/facts.tsx'
import { Reading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { TimesElsewhere } from '../parts/times-elsewhere.tsx'
import type { Class } from '../people.ts'
import { type SchoolTime, useSchoolTime } from '../school-time.ts'
import { useWords } from '../text/text.ts'
import { type Placed, spanText, stateWord, useClasses } from './classes.ts'
import { dayOf, isOn, periodText } from './timetable.ts'

export function ClassDetail({ classId }: { classId: string }) {
  const { text } = useWords()
  const now = useSchoolTime()
  const classes = useClasses(now.date)
  const placed = classes.data?.find(({ entry }) => entry.classId === classId)
  if (placed)
    return (
      <Detail placed={placed} now={now}>
        <Reading of={classes} />
      </Detail>
    )
  if (!classes.data)
    return (
      <main id="content" className="page">
        <Reading of={classes} />
      </main>
    )
  return (
    <Page title={text.student.unknownClass} lead={text.student.unknownClassLead} narrow>
      <p>
        <a href="#/">{text.student.toClasses}</a>
      </p>
    </Page>
  )
}

function Detail({ placed, now, children }: { placed: Placed; now: SchoolTime; children: ReactNode }) {
  const { text, dates } = useWords()
  const { entry } = placed
  const isMeeting = dayOf([placed], now.date).occurrences.some((one) => isOn(one, now))
  const course = [entry.course.title, entry.course.code].filter(Boolean).join(' · ')
  const facts: [name: string, value: ReactNode][] = [
    [text.student.dates, spanText(placed, text, dates)],
    [text.student.place, entry.location ?? text.student.noPlace],
    [
      text.student.times,
      entry.meetings.length > 0 && (
        <ul className="plain-list">
          {entry.meetings.map(({ day, start, end }) => (
            <li key={`${day} ${start}`}>
              {dates.weekday(weekdays.indexOf(day))} {dates.times(start, end)}
            </li>
          ))}
        </ul>
      ),
    ],
    [text.student.periods, entry.periods.map((each) => periodText(each, dates.weekday)).join(', ')],
    [text.student.course, course],
    [text.student.code, entry.code],
    [text.student.subjects, entry.subjects.join(', ')],
    [text.student.school, entry.school.name],
    [
      text.student.terms,
      entry.terms.length > 0 && (
        <ul className="plain-list">
          {entry.terms.map((term) => (
            <li key={term.termId}>
              {term.title}: {dates.span(term.startDate, term.endDate)}
            </li>
          ))}
        </ul>
      ),
    ],
  ]
  return (
    <Page title={entry.title}>
      <p className={`tags ${entry.kind}`}>
        <span className="kind">{text.student.kinds[entry.kind]}</span>
        {isMeeting ? (
          <span className="badge now">{text.student.now}</span>
        ) : (
          <span className="badge">{stateWord(placed, text)}</span>
        )}
      </p>
      {children}
      {entry.meetings.length > 0 && <TimesElsewhere at={now} />}
      <div className="columns">
        <section className="card">
          <Facts of={facts} />
        </section>
        <section className="card" aria-labelledby="teachers">
          <h2 id="teachers">{text.student.teachers}</h2>
          <Teachers of={entry} />
        </section>
      </div>
      <p className="print-none">
        <a href="#/">{text.student.toClasses}</a>
      </p>
    </Page>
  )
}

function Teachers({ of: { teachers } }: { of: Class }) {
  const { text } = useWords()
  if (teachers.length === 0) return <p className="soft">{text.student.noTeachers}</p>
  return (
    <ul className="plain-list people">
      {teachers.map(({ firstname, lastname, email, primary }) => (
        <li key={`${firstname} ${lastname} ${email}`}>
          <span>
            {firstname} {lastname}
            {primary && teachers.length > 1 && <span className="badge">{text.student.lead}</span>}
          </span>
          {email && (
            <a href={`mailto:${email}`}>
              <Address of={email} />
            </a>
          )}
        </li>
      ))}
    </ul>
  )
}
