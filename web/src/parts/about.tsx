import { isStudent, type User } from '../people.ts'
import { useWords } from '../text/text.ts'
import { Address } from './address.tsx'

/** Who is signed in, in a few lines. */
export function About({ user }: { user: User }) {
  const { text } = useWords()
  const facts = isStudent(user)
    ? [
        user.pronouns,
        user.year === null ? null : text.student.year(user.year),
        user.studentNumber === null ? null : text.student.number(user.studentNumber),
        user.school?.name,
      ]
    : []
  return (
    <ul className="about plain-list" aria-label={text.nav.about}>
      <li className="who">
        {user.firstname} {user.lastname}
      </li>
      {facts.map((fact) => fact && <li key={fact}>{fact}</li>)}
      <li>
        <Address of={user.email} />
      </li>
    </ul>
  )
}
