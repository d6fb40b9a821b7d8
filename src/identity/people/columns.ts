/** The columns of a person, once: their types, what they contain, and where an account has its value from. */
import { type Column, foldedName, hidden, lowerCased, shown } from '../../platform/db/columns.ts'
import type { Role } from '../../roles.ts'
import { inRoster } from './in-roster.ts'
import type { Status } from './statuses.ts'

/** A column that every reader of a person gets. */
interface Field<T> {
  readonly contains: Column
  /** The value in an account, with the column's name for `*`. */
  readonly value: string
  /** Only for the type. */
  readonly type?: T
}

const own = <T>(contains: Column, value = 'p.*'): Field<T> => ({ contains, value })
/** The roster has the names and addresses of students. */
const ofRoster = <T>(contains: Column): Field<T> => ({ contains, value: 'coalesce(s.*, p.*)' })

const isInactive = "p.role = 'student' and p.status = 'active' and s.person_id is null"

const fields = {
  id: own<string>('id'),
  role: own<Role>('other'),
  status: own<Status>('other', `case when ${isInactive} then 'inactive' else p.status end`),
  email: ofRoster<string>(shown('null', 'profile.email')),
  email_key: ofRoster<string>(hidden('null', lowerCased)),
  firstname: ofRoster<string>(shown('null', 'profile.firstname')),
  lastname: ofRoster<string>(shown('null', 'profile.lastname')),
  created_at: own<number>('time'),
  /** Imports change it, too, if they change a student. */
  updated_at: own<number>('time'),
  confirm_before: own<number | null>(hidden('null', 'who can ask for an export has confirmed')),
  /** When the owner set or confirmed the names while signed in. */
  confirmed_at: own<number | null>(hidden('null', 'shown as profile.confirmed')),
  /** When staff checked who this is. */
  verified_at: own<number | null>(hidden('null', 'shown as profile.verified')),
}

/** Those that few readers need. */
const more = {
  firstname_key: hidden('null', foldedName),
  lastname_key: hidden('null', foldedName),
  unverified_at: hidden('null', 'shown as the event veterinarian.unverified'),
  unverified_because: hidden('null', 'name or address: the event before it shows which'),
  activated_at: 'time',
  closed_at: 'time',
  hidden_at: 'time',
  may: 'other',
} as const

type Fields = typeof fields
export type PersonFields = {
  readonly [K in keyof Fields]: Fields[K] extends Field<infer T> ? T : never
}

const contents = Object.entries(fields).map(([name, { contains }]): [string, Column] => [name, contains])
export const personColumns: Readonly<Record<string, Column>> = { ...Object.fromEntries(contents), ...more }

export const personNames: readonly string[] = Object.keys(fields)
export const personList = (alias: string) => personNames.map((name) => `${alias}.${name}`).join(', ')

const values: [name: string, value: string][] = [
  ...Object.entries(fields).map(([name, { value }]): [string, string] => [name, value]),
  ...Object.keys(more).map((name): [string, string] => [name, 'p.*']),
  ['student_number', 's.*'],
  ['year', 's.*'],
]

/** The columns of an account as SQL, by their names; for `accountTables`. */
export const accountValues: Readonly<Record<string, string>> = Object.fromEntries(
  values.map(([name, value]) => [name, value.replaceAll('*', name)]),
)
export const accountTables = `person p left join student s on s.person_id = p.id and ${inRoster('s')}`

/** Everybody, in place of a table: students with the names and addresses of the roster that is visible now. */
export const accounts = `(select ${Object.entries(accountValues)
  .map(([name, value]) => `${value} as ${name}`)
  .join(', ')} from ${accountTables})`

/** Where to read accounts of this role. Only those of students depend on the roster. */
export const accountsOf = (role: Role) => (role === 'student' ? accounts : 'person')
