import { Button } from '../parts/button.tsx'
import { Reading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import type { Student } from '../people.ts'
import { useWords } from '../text/text.ts'
import { ClassCard } from './class-card.tsx'
import { type Placed, periodsToday, useClasses } from './classes.ts'
import { Timeline } from './timeline.tsx'

export function Home({ user }: { user: Student }) {
  const { text, dates } = useWords()
  const classes = useClasses()
  const now = new Date()
  const name = user.preferredName ?? user.firstname
  const hour = now.getHours()
  const greeting = hour < 12 ? 'morning' : hour < 18 ? 'afternoon' : 'evening'
  const on = classes.data?.filter(({ state }) => state === 'now') ?? []
  const isToday = ({ entry }: Placed) => entry.kind === 'rotation' || periodsToday(entry, now).length > 0
  const groups = [
    { id: 'today', title: text.student.today, list: on.filter(isToday) },
    { id: 'current', title: text.student.current, list: on.filter((each) => !isToday(each)) },
    { id: 'upcoming', title: text.student.upcoming, list: stateOf(classes.data, 'ahead') },
    { id: 'past', title: text.student.past, list: stateOf(classes.data, 'past').reverse() },
  ]
  const group = ({ id, title, list }: (typeof groups)[number]) =>
    list.length > 0 && (
      <section key={id} aria-labelledby={id} className={`group ${id}`}>
        <h2 id={id}>{title}</h2>
        <ul className="cards">
          {list.map((placed) => (
            <li key={placed.entry.classId}>
              <ClassCard placed={placed} today={id === 'today' ? periodsToday(placed.entry, now) : []} />
            </li>
          ))}
        </ul>
      </section>
    )

  return (
    <Page
      title={text.student.listTitle}
      heading={text.student.greeting[greeting](name)}
      lead={dates.today(now)}
    >
      <About user={user} />
      <Reading of={classes} />
      {classes.data?.length === 0 && (
        <section className="card empty">
          <h2>{text.student.none}</h2>
          <p>{text.student.noneLead}</p>
        </section>
      )}
      {classes.data && classes.data.length > 0 && on.length === 0 && <p>{text.student.nothingNow}</p>}
      {groups.slice(0, 2).map(group)}
      {classes.data && <Timeline classes={classes.data} />}
      {groups.slice(2).map(group)}
      {classes.data && classes.data.length > 0 && (
        <div className="actions print-none">
          <Button onPress={() => print()}>{text.student.print}</Button>
        </div>
      )}
    </Page>
  )
}

const stateOf = (classes: readonly Placed[] | undefined, state: Placed['state']): Placed[] =>
  classes?.filter((each) => each.state === state) ?? []

function About({ user }: { user: Student }) {
  const { text } = useWords()
  const facts = [
    `${user.firstname} ${user.lastname}`,
    user.pronouns,
    user.year === null ? null : text.student.year(user.year),
    user.studentNumber === null ? null : text.student.number(user.studentNumber),
    user.school?.name,
    user.email,
  ].filter((fact) => fact)
  return (
    <ul className="facts-line" aria-label={text.student.about}>
      {facts.map((fact) => (
        <li key={fact}>{fact}</li>
      ))}
    </ul>
  )
}
