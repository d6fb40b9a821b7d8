/**
 * A teacher's view of the roster: their classes and who is in them. Teachers have no account of their own; a
 * veterinarian is a teacher if the roster has one with the same address. Whoever moves to another address stays that
 * teacher, and whoever takes the old address is not.
 */
import { domainToUnicode } from 'node:url'
import type { Person } from '../../identity/people/people.ts'
import type { Db, Statement } from '../../platform/db/db.ts'
import { type Span, spanOf } from './classes.ts'
import { type ClassDocument, readDocument } from './document.ts'
import { classesTaught, linkTeachers, type TaughtRow, type TeacherKeys } from './store.ts'

export interface TaughtClass extends ClassDocument {
  readonly students: ReturnType<typeof studentOf>[]
}

export interface Taught {
  readonly entry: TaughtClass
  /** One for each time that the roster enrols the teacher. */
  readonly spans: readonly Span[]
}

type Veterinarian = Pick<Person, 'id' | 'email_key'>

/** Sorted by start date, then title; students by name. */
export async function teachingOf(db: Db, veterinarian: Veterinarian): Promise<Taught[]> {
  const rows = await classesTaught(db, keysOf(veterinarian))
  const byClass = Map.groupBy(rows, ({ class_id }) => class_id)
  return [...byClass.values()].flatMap(taughtOf).sort(byFirstDay)
}

/** Empty if a class is gone from the roster whose students are still enrolled. */
function taughtOf(rows: readonly TaughtRow[]): Taught[] {
  const own = rows.filter(({ document }) => document !== null)
  const [first] = own
  if (!first) return []
  const document = readDocument(first.document!, first.class_updated_at!)
  const students = rows.filter((row) => row.document === null).map(studentOf)
  const spans = own.map((row) => spanOf({ ...document, enrolment: datesOf(row) }))
  return [{ entry: { ...document, students: students.sort(byName) }, spans }]
}

/** For the transaction in which a veterinarian leaves this address. */
export const keepTeaching = (leaving: Veterinarian, now: number): Statement =>
  linkTeachers(keysOf(leaving), now)

const keysOf = ({ id, email_key }: Veterinarian): TeacherKeys => ({
  personId: id,
  addresses: [email_key, spelledOut(email_key)],
})

/** The roster may contain an internationalised domain in Unicode. */
function spelledOut(addressKey: string): string {
  const at = addressKey.lastIndexOf('@') + 1
  return addressKey.slice(0, at) + domainToUnicode(addressKey.slice(at))
}

const datesOf = ({ start_date, end_date }: TaughtRow) => ({ startDate: start_date, endDate: end_date })

function studentOf(row: TaughtRow) {
  return {
    firstname: row.firstname!,
    lastname: row.lastname!,
    preferredName: row.preferred_name,
    pronouns: row.pronouns,
    email: row.email,
    ...datesOf(row),
  }
}

function byName(a: ReturnType<typeof studentOf>, b: ReturnType<typeof studentOf>): number {
  return (
    a.lastname.localeCompare(b.lastname) ||
    a.firstname.localeCompare(b.firstname) ||
    (a.startDate ?? '').localeCompare(b.startDate ?? '')
  )
}

const firstDay = ({ spans }: Taught) => spans.map(({ start }) => start ?? '').sort()[0]!

function byFirstDay(a: Taught, b: Taught): number {
  const [left, right] = [firstDay(a), firstDay(b)]
  if (left !== right) return left < right ? -1 : 1
  return a.entry.title.localeCompare(b.entry.title)
}
