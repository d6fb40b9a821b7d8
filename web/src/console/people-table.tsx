import { Address } from '../parts/address.tsx'
import { useWords } from '../text/text.ts'
import { fullName, Name, personHash, StatusMark } from './person-parts.tsx'
import type { PersonSummary, Sort } from './replies.ts'
import { StateMark } from './state.tsx'
import { useConsole } from './text/console-words.ts'

type Chosen = ReadonlyMap<string, PersonSummary>

/** People in their order. Their heads change the order; a narrow screen shows fewer columns. */
export function PeopleTable({
  of,
  sort,
  onSort,
  chosen,
  onChoose,
}: {
  of: readonly PersonSummary[]
  sort: Sort
  onSort(sort: Sort): void
  chosen: Chosen
  onChoose(chosen: Chosen): void
}) {
  const { text: all } = useConsole()
  const text = all.people
  const allChosen = of.every(({ userId }) => chosen.has(userId))
  function toggle(people: readonly PersonSummary[], isChosen: boolean) {
    const next = new Map(chosen)
    for (const person of people)
      if (isChosen) next.set(person.userId, person)
      else next.delete(person.userId)
    onChoose(next)
  }
  const head = (by: 'name' | 'created' | 'updated', words: string, where?: string) => (
    <th
      scope="col"
      className={where}
      aria-sort={sort === by ? 'ascending' : sort === `-${by}` ? 'descending' : undefined}
    >
      <button type="button" className="sort" onClick={() => onSort(sort === by ? `-${by}` : by)}>
        {words}
        <span aria-hidden="true">{sort === by ? ' ↑' : sort === `-${by}` ? ' ↓' : ''}</span>
      </button>
    </th>
  )
  return (
    <table className="results directory" aria-label={text.results}>
      <thead>
        <tr>
          <td className="pick">
            <label>
              <input
                type="checkbox"
                aria-label={text.chooseAll}
                checked={allChosen}
                onChange={(event) => toggle(of, event.currentTarget.checked)}
              />
            </label>
          </td>
          {head('name', text.columns.name)}
          <th scope="col" className="wide">
            {text.role}
          </th>
          <th scope="col" className="wide">
            {text.status}
          </th>
          {head('created', text.columns.created, 'wide')}
          {head('updated', text.columns.updated, 'wide')}
        </tr>
      </thead>
      <tbody>
        {of.map((person) => (
          <Row
            key={person.userId}
            of={person}
            isChosen={chosen.has(person.userId)}
            onChoose={(isChosen) => toggle([person], isChosen)}
          />
        ))}
      </tbody>
    </table>
  )
}

function Row({
  of: person,
  isChosen,
  onChoose,
}: {
  of: PersonSummary
  isChosen: boolean
  onChoose(isChosen: boolean): void
}) {
  const { dates } = useWords()
  const { text: all } = useConsole()
  const text = all.people
  const role = [all.roles[person.role], person.year !== null && text.inYear(person.year)]
    .filter(Boolean)
    .join(' · ')
  const status = (
    <>
      <StatusMark status={person.status} />
      {person.verificationLost && <StateMark state="warning" word={all.person.checkAgain} />}
    </>
  )
  return (
    <tr>
      <td className="pick">
        <label>
          <input
            type="checkbox"
            aria-label={text.choose(fullName(person) || all.unnamed)}
            checked={isChosen}
            onChange={(event) => onChoose(event.currentTarget.checked)}
          />
        </label>
      </td>
      <td>
        <a href={personHash(person.userId)}>
          <Name of={person} />
        </a>
        <span className="narrow">{status}</span>
        <span className="soft">
          <span className="narrow">{role}</span>
          {person.studentNumber && <bdi>{person.studentNumber}</bdi>}
          {person.email && <Address of={person.email} />}
        </span>
      </td>
      <td className="wide">{role}</td>
      <td className="wide">{status}</td>
      <td className="wide">{dates.dayOf(person.createdAt)}</td>
      <td className="wide">{dates.dayOf(person.updatedAt)}</td>
    </tr>
  )
}
