import { useWords } from '../text/text.ts'
import { classLink, type Placed, spanText } from './classes.ts'

export function ClassCard({ placed }: { placed: Placed }) {
  const { text, dates } = useWords()
  const { entry, state } = placed
  const teacher = entry.teachers.find(({ primary }) => primary) ?? entry.teachers[0]
  return (
    <article className={`card class ${entry.kind} ${state}`}>
      <p className="kind">{text.student.kinds[entry.kind]}</p>
      <h3>
        <a href={classLink(entry)}>{entry.title}</a>
      </h3>
      <p>{spanText(placed, text, dates)}</p>
      <p className="soft">
        {[entry.location, teacher && `${teacher.firstname} ${teacher.lastname}`].filter(Boolean).join(' · ')}
      </p>
    </article>
  )
}
