import type { ReactNode } from 'react'
import { now as clockNow } from '../clock.ts'
import { About } from '../parts/about.tsx'
import { Button } from '../parts/button.tsx'
import { Reading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { TimesElsewhere } from '../parts/times-elsewhere.tsx'
import type { Student } from '../people.ts'
import { type SchoolTime, useSchoolTime } from '../school-time.ts'
import { useWords } from '../text/text.ts'
import { Changes } from './changes.tsx'
import { ClassCard } from './class-card.tsx'
import { type Placed, useClasses } from './classes.ts'
import { Next, Today } from './day.tsx'
import { isBar, Timeline } from './timeline.tsx'
import { comingMonday, isAllDay, weekFrom } from './timetable.ts'
import { Week } from './week.tsx'

/**
 * A student's day. Each class has one place: in the week if it meets in it, in the week and in the picture of the term if
 * it is a rotation, and otherwise in a list.
 */
export function Home({ user }: { user: Student }) {
  const { text, dates } = useWords()
  const now = useSchoolTime()
  const classes = useClasses(now.date)
  // By the reader's own clock, even abroad.
  const hour = new Date(clockNow()).getHours()
  const greeting = hour < 12 ? 'morning' : hour < 18 ? 'afternoon' : 'evening'
  return (
    <Page
      title={text.student.listTitle}
      heading={
        <>
          <span className="print-none">
            {text.student.greeting[greeting](user.preferredName ?? user.firstname)}
          </span>
          <span className="print-only">
            {text.student.listTitle}: {user.firstname} {user.lastname}
          </span>
        </>
      }
      lead={dates.today(now.date)}
    >
      <Reading of={classes} />
      {classes.data?.length === 0 && (
        <section className="card empty">
          <h2>{text.student.none}</h2>
          <p>{text.student.noneLead}</p>
        </section>
      )}
      {classes.data && classes.data.length > 0 && <Classes user={user} classes={classes.data} now={now} />}
    </Page>
  )
}

function Classes({ user, classes, now }: { user: Student; classes: readonly Placed[]; now: SchoolTime }) {
  const { text } = useWords()
  const today = now.date
  const { days } = weekFrom(classes, comingMonday(classes, now), today)
  const inWeek = new Set(days.flatMap(({ occurrences }) => occurrences.map(({ placed }) => placed)))
  const listed = (state: Placed['state']) =>
    classes.filter((placed) => placed.state === state && !inWeek.has(placed) && !isBar(placed))
  const past = listed('past').reverse()
  const hasWeek = classes.some((placed) => placed.entry.meetings.length > 0 || isAllDay(placed))
  return (
    <div className="home">
      <div className="main">
        <Changes user={user} classes={classes} />
        <TimesElsewhere at={now} />
        <Next classes={classes} now={now} />
        <Today classes={classes} now={now} />
        {hasWeek && <Week classes={classes} now={now} />}
        <Group id="current" title={text.student.current} list={listed('now')} />
        <Group id="upcoming" title={text.student.upcoming} list={listed('ahead')} />
        {past.length > 0 && (
          <details className="group past">
            <summary>
              <h2>{text.student.pastCount(past.length)}</h2>
            </summary>
            <Cards of={past} />
          </details>
        )}
        <div className="actions print-none">
          <Button onPress={() => print()}>{text.student.print}</Button>
        </div>
      </div>
      <aside>
        <section className="card me print-none" aria-labelledby="me">
          <h2 id="me">{text.nav.about}</h2>
          <About user={user} />
        </section>
        <Timeline classes={classes} today={today} />
      </aside>
    </div>
  )
}

function Group({ id, title, list }: { id: string; title: string; list: readonly Placed[] }): ReactNode {
  if (list.length === 0) return null
  return (
    <section aria-labelledby={id} className={`group ${id}`}>
      <h2 id={id}>{title}</h2>
      <Cards of={list} />
    </section>
  )
}

function Cards({ of }: { of: readonly Placed[] }) {
  return (
    <ul className="cards">
      {of.map((placed) => (
        <li key={placed.entry.classId}>
          <ClassCard placed={placed} />
        </li>
      ))}
    </ul>
  )
}
