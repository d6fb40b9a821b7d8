import { useWords } from '../text/text.ts'
import { type Placed, spanText } from './classes.ts'

export function ClassCard({ placed, today }: { placed: Placed; today: readonly string[] }) {
  const { text, dates } = useWords()
  const { entry, state } = placed
  const teacher = entry.teachers.find(({ primary }) => primary) ?? entry.teachers[0]
  return (
    <article className={`card class ${entry.kind} ${state}`}>
      <p className="kind">{text.student.kinds[entry.kind]}</p>
      <h3>
        <a href={`#/classes/${encodeURIComponent(entry.classId)}`}>{entry.title}</a>
      </h3>
      {today.length > 0 && <p className="periods">{today.join(', ')}</p>}
      <p>{spanText(placed, text, dates)}</p>
      <p className="soft">
        {[entry.location, teacher && `${teacher.firstname} ${teacher.lastname}`].filter(Boolean).join(' · ')}
      </p>
    </article>
  )
}
