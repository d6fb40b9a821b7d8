import { byOtherIndex, inGeneration, unclosedIn } from '../../../identity/people/in-roster.ts'
import type { Db } from '../../../platform/db/db.ts'
import { hasClosedLater } from './pages.ts'

export type Sizes = Record<
  'org' | 'term' | 'course' | 'class' | 'user' | 'role' | 'enrolment' | 'student' | 'address' | 'number',
  number
>

/** How many are visible, by kind; `address` and `number`: how many students have one. */
export async function sizesIn(db: Db, content: number): Promise<Sizes> {
  // The index of what is not closed says all.
  const visibleIn = async (table: string) =>
    (await hasClosedLater(db, table, content)) ? inGeneration('t', '$1') : byOtherIndex(unclosedIn('t', '$1'))
  const count = async <R>(table: string, what: string, end = '') =>
    db.all<R>(`select ${what} from ${table} t where ${await visibleIn(table)} ${end}`, [content])
  const records = await count<{ kind: keyof Sizes; n: number }>(
    'roster_record',
    't.kind, count(*) as n',
    'group by t.kind',
  )
  const [enrolments] = await count<{ n: number }>('roster_enrolment', 'count(*) as n')
  const [students] = await count<{ n: number; address: number; number: number }>(
    'student',
    'count(*) as n, count(t.email_key) as address, count(t.student_number) as number',
  )
  const sizes = { org: 0, term: 0, course: 0, class: 0, user: 0, role: 0 }
  return {
    ...sizes,
    ...Object.fromEntries(records.map(({ kind, n }) => [kind, n])),
    enrolment: enrolments!.n,
    student: students!.n,
    address: students!.address,
    number: students!.number,
  }
}
