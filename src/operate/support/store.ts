import { setImmediate } from 'node:timers/promises'
import { byOtherIndex, inRoster } from '../../identity/people/in-roster.ts'
import {
  accounts,
  accountTables,
  accountValues,
  type LostBy,
  type Person,
  personNames,
  type Status,
} from '../../identity/people/people.ts'
import type { Db, Value } from '../../platform/db/db.ts'
import type { ServedRole } from '../../roles.ts'
import type { Mark, Order, PartName, Place } from './order.ts'

/** Somebody whom the school serves. */
export interface ServedPerson extends Person<ServedRole> {
  readonly student_number: string | null
  readonly year: number | null
  /** When a change cleared the verification, and what changed; null once staff have verified again. */
  readonly unverified_at: number | null
  readonly unverified_because: LostBy | null
}

/** Students who are disabled on the roster have their names there. */
const servedTables = `${accountTables}
  left join disabled_student d on d.person_id = p.id and s.person_id is null and p.role = 'student' and ${inRoster('d')}`
const ofDisabled = ['email', 'email_key', 'firstname', 'lastname', 'student_number', 'year']
const servedColumns = [...personNames, 'student_number', 'year', 'unverified_at', 'unverified_because']
  .map((name) => {
    const value = accountValues[name]!
    return ofDisabled.includes(name) ? `coalesce(${value}, d.${name}) as ${name}` : `${value} as ${name}`
  })
  .join(', ')
// Everybody but staff. Not as a list of roles: SQLite would read by the index on roles, and sort everybody for each chunk.
const served = "p.role <> 'staff'"

export function servedById(db: Db, id: string): Promise<ServedPerson | undefined> {
  return db.one<ServedPerson>(`select ${servedColumns} from ${servedTables} where p.id = $1 and ${served}`, [
    id,
  ])
}

export interface Wanted {
  /** Folded; each must be part of a name, the address or the number. */
  readonly words: readonly string[]
  readonly role: ServedRole | undefined
  readonly status: string | undefined
  readonly year: number | undefined
  readonly verified: Verified | undefined
  /** Only people who have changed since; epoch milliseconds. Closed accounts are included. */
  readonly since: number | undefined
}

/** For veterinarians: verified, not verified, or to be verified again. */
export const verifiedStates = ['true', 'false', 'lost'] as const
export type Verified = (typeof verifiedStates)[number]

const isVerified: Record<Verified, string> = {
  true: 'c.verified_at is not null',
  false: 'c.verified_at is null',
  lost: 'c.unverified_at is not null',
}

/** Read in the order of names. */
const isVisible = byOtherIndex(inRoster('t'))
const isIn = (table: string, id: string) =>
  `exists (select 1 from ${table} x where x.person_id = ${id} and ${inRoster('x')})`

const textOf = (t: string, number: string) =>
  `${t}.firstname_key || ' ' || ${t}.lastname_key || ' ' || coalesce(${t}.email_key, '') || ' ' || lower(coalesce(${number}, ''))`
const names = ['t.lastname_key', 't.firstname_key']

/** A table that can be read in an order. */
interface Source {
  readonly from: string
  readonly where: string
  readonly id: string
  readonly keys: readonly string[]
}

/** Veterinarians alone have their names in `person`. */
const veterinarians: Source = {
  from: 'person t',
  where: "t.role <> 'staff' and t.lastname_key is not null",
  ...{ id: 't.id', keys: names },
}
const students: Source = {
  from: 'student t',
  where: isVisible,
  ...{ id: 't.person_id', keys: names },
}
const disabled: Source = {
  from: 'disabled_student t',
  where: `${isVisible} and not ${isIn('student', 't.person_id')}`,
  ...{ id: 't.person_id', keys: names },
}
const everybody = (...keys: string[]): Source => ({
  from: 'person t',
  where: "t.role <> 'staff'",
  ...{ id: 't.id', keys },
})
/** Among others, accounts that are closed and students who left the roster. */
const nameless: Source = { ...everybody(), where: "t.role <> 'staff' and t.lastname_key is null" }

/** The sources in which somebody may be wanted. */
function sourcesOf(part: PartName, { words, role, status, year, verified, since }: Wanted): Source[] {
  const isClosed = status === 'closed' || since !== undefined
  const forStudents = role !== 'veterinarian' && verified === undefined && status !== 'pending'
  if (part === 'named')
    return [
      ...(role !== 'student' && year === undefined && status !== 'inactive' ? [veterinarians] : []),
      ...(forStudents && status !== 'inactive' ? [students] : []),
      ...(forStudents ? [disabled] : []),
    ]
  if (part === 'nameless') {
    const isPossible = words.length === 0 && year === undefined && verified === undefined
    return isPossible && status !== 'active' && (forStudents || isClosed) ? [nameless] : []
  }
  return [everybody(part === 'created' ? 't.created_at' : 't.updated_at')]
}

/** How many people one statement reads: SQLite works in the service's own thread and must not keep it long. */
const readAtOnceMax = { sqlite: 2_000, postgres: 1_000_000_000 }
const growth = 4

interface Start {
  readonly after: Mark
  /** How many the caller is going to take. */
  readonly atOnce: number
}

/**
 * People in an order, from a place on. The first statement reads about as many as the caller is going to take; if few of
 * them are wanted, the following ones read more.
 */
export async function* servedInOrder(
  db: Db,
  { parts, isDown }: Order,
  asked: Wanted,
  { after, atOnce }: Start,
): AsyncGenerator<{ person: ServedPerson; mark: Mark }> {
  const since = asked.since === undefined ? undefined : await changesSeenFrom(db, asked.since)
  const wanted = { ...asked, since }
  const few = await fewCandidates(db, wanted)
  for (const part of parts.slice(parts.indexOf(after.part))) {
    const sources = sourcesOf(part, wanted)
    const reading = { part, sources, isDown: isDown && part !== 'nameless', few }
    let place = part === after.part ? after.place : []
    for (let size = atOnce; sources.length > 0; size = Math.min(size * growth, readAtOnceMax[db.engine])) {
      const rows = await readSome(db, reading, wanted, { place, size, atOnce })
      for (const row of rows) {
        place = placeOf(row)
        if (row.wanted === 1) yield { person: row, mark: { part, place } }
      }
      if (rows.length < atOnce && rows.at(-1)?.n !== size) break
      // Others get a turn.
      await setImmediate()
    }
  }
}

/** How many people one statement scans, in about ten milliseconds. */
const scannedAtOnce = 10_000
const fewMax = 1_000
/** How many names one statement reads and one turn compares. */
const namesAtOnce = 2_000

/**
 * The ids of all who may be wanted, if these are few. People are read in the order of the store, which is many times
 * faster than in another one. Undefined if there are many: then some are found soon in any order.
 */
async function fewCandidates(
  db: Db,
  { words, status, verified, since }: Wanted,
): Promise<string[] | undefined> {
  const params: Value[] = []
  const param = (value: Value) => `$${params.push(value)}`
  const [from, to, max] = [param(''), param(''), param(fewMax + 1)]
  const ofPerson =
    words.length > 0
      ? []
      : [
          status === 'inactive' && `t.role = 'student' and not ${isIn('student', 't.id')}`,
          status !== undefined &&
            status !== 'active' &&
            status !== 'inactive' &&
            `t.status = ${param(status)}`,
          verified === 'true' && 't.verified_at is not null',
          verified === 'lost' && 't.unverified_at is not null',
          since !== undefined && `t.updated_at >= ${param(since)}`,
        ].filter(Boolean)
  if (words.length === 0 && ofPerson.length === 0) return undefined
  const patterns = words.map((word) => param(patternOf(word)))
  const search = ({ from: table, where, id, number }: Source & { number: string }) => {
    const has = patterns.map((pattern) => `${textOf('t', number)} like ${pattern} escape '\\'`)
    return `select ${id} as id from ${table} where ${[`${id} > ${from}`, `${id} <= ${to}`, where, ...has].join(' and ')}`
  }
  const sql =
    words.length === 0
      ? `select t.id from person t where t.id > ${from} and t.id <= ${to} and ${ofPerson.join(' and ')} limit ${max}`
      : `${searched.map(search).join(' union all ')} limit ${max}`
  const ids: string[] = []
  const chunks = scanned<{ id: string }>(db, sql, params.slice(2), {
    atOnce: db.engine === 'sqlite' ? scannedAtOnce : null,
  })
  for await (const some of chunks) {
    for (const { id } of some) ids.push(id)
    if (ids.length > fewMax) return undefined
  }
  return ids
}

const searched = [
  { ...veterinarians, number: 'null' },
  ...[students, disabled].map((source) => ({ ...source, number: 't.student_number' })),
]

export interface Named {
  readonly id: string
  /** First and last name, folded. */
  readonly name: string
}

/** The names of all who have one, some at a time. */
export function namesInTurn(db: Db): AsyncGenerator<Named[]> {
  const named = searched.map(
    ({ from, where, id }) =>
      `select ${id} as id, t.firstname_key || ' ' || t.lastname_key as name from ${from}
       where ${id} > $1 and ${id} <= $2 and ${where}`,
  )
  return scanned<Named>(db, named.join(' union all '), [], { atOnce: namesAtOnce })
}

/** Behind every id in any collation. */
const lastId = 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz'

/** Reads by the ids of people, from $1 to $2, about so many people at once; all at once if that is null. */
async function* scanned<Row>(
  db: Db,
  sql: string,
  params: readonly Value[],
  { atOnce }: { readonly atOnce: number | null },
): AsyncGenerator<Row[]> {
  for (let after = ''; ; ) {
    const next = `select p.id from person p where p.id > $1 order by p.id limit 1 offset ${(atOnce ?? 1) - 1}`
    const end = atOnce === null ? undefined : (await db.one<{ id: string }>(next, [after]))?.id
    yield await db.all<Row>(sql, [after, end ?? lastId, ...params])
    if (end === undefined) return
    after = end
    // Others get a turn.
    await setImmediate()
  }
}

interface Found extends ServedPerson {
  /** Counted from the place. */
  readonly n: number
  readonly wanted: 0 | 1
  readonly k0?: string | number
  readonly k1?: string | number
}

const placeOf = ({ k0, k1, id }: Found): Place => [k0, k1, id].filter((key) => key !== undefined)

interface Reading {
  readonly sources: readonly Source[]
  readonly isDown: boolean
  readonly part: PartName
  /** Nobody else is wanted. */
  readonly few: readonly string[] | undefined
}

const listed = {
  sqlite: (json: string) => `(select value from json_each(${json}))`,
  postgres: (json: string) => `(select json_array_elements_text(cast(${json} as json)))`,
}

/** Returns those of the next `size` people who are wanted, and the last of all. */
function readSome(
  db: Db,
  { part, sources, isDown, few }: Reading,
  { words, role, status, year, verified, since }: Wanted,
  { place, size, atOnce }: { place: Place; size: number; atOnce: number },
): Promise<Found[]> {
  const params: Value[] = []
  const param = (value: Value) => `$${params.push(value)}`
  const direction = isDown ? ' desc' : ''
  const inOrder = (keys: readonly string[]) => keys.map((key) => `${key}${direction}`).join(', ')
  const from = place.map(param)
  const count = param(size)
  const ids = few && listed[db.engine](param(JSON.stringify(few)))
  const keyNames = sources[0]!.keys.map((_, i) => `k${i}`)
  const read = sources.map(({ from: table, where, id, keys }, i) => {
    const all = [...keys, id]
    const isAfter = from.length > 0 && `(${all.join(', ')}) ${isDown ? '<' : '>'} (${from.join(', ')})`
    const isIn = [where, ids && `${id} in ${ids}`, isAfter].filter(Boolean).join(' and ')
    const columns = [...keys.map((key, k) => `${key} as k${k}`), `${id} as id`].join(', ')
    return `select * from (select ${columns} from ${table} where ${isIn} order by ${inOrder(all)} limit ${count}) s${i}`
  })
  const filters = [
    ...words.map((word) => `c.text like ${param(patternOf(word))} escape '\\'`),
    part === 'nameless' && 'c.text is null',
    role && `c.role = ${param(role)}`,
    status === undefined ? since === undefined && "c.status <> 'closed'" : `c.status = ${param(status)}`,
    year !== undefined && `c.year = ${param(year)}`,
    verified && isVerified[verified],
    since !== undefined && `c.updated_at >= ${param(since)}`,
  ].filter(Boolean)
  const isWanted = filters.length === 0 ? 'true' : filters.join(' and ')
  return db.all<Found>(
    `with chunk as (
       select u.*, row_number() over (order by ${inOrder([...keyNames, 'id'])}) as n
       from (${read.join(' union all ')}) u order by n limit ${count}
     )
     select c.*, case when ${isWanted} then 1 else 0 end as wanted from (
       select chunk.n, ${keyNames.map((key) => `chunk.${key}, `).join('')}${servedText} as text, ${servedColumns}
       from chunk cross join ${servedTables}
       where p.id = chunk.id
     ) c
     where c.n = ${count} or (${isWanted}) order by c.n limit ${param(atOnce)}`,
    params,
  )
}

const patternOf = (word: string) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`
/** Null for somebody without a name. */
const servedText = `coalesce(${textOf('s', 's.student_number')}, ${textOf('p', 'null')}, ${textOf('d', 'd.student_number')})`

/** An import writes its changes before they can be seen: whatever was published since counts from its start. */
async function changesSeenFrom(db: Db, since: number): Promise<number> {
  const sql = 'select min(started_at) as first from roster_generation where published_at >= $1'
  const row = await db.one<{ first: number | null }>(sql, [since])
  return Math.min(since, row?.first ?? since)
}

/** People with exactly this address, student number or id. */
export async function servedByKey(db: Db, key: string): Promise<ServedPerson[]> {
  const ofRoster = (table: string, column: string, value: string) =>
    `select t.person_id from ${table} t where t.${column} = ${value} and ${inRoster('t')}`
  const ids = await db.all<{ id: string }>(
    `select p.id from person p where p.role = 'veterinarian' and p.email_key = $1
     union ${ofRoster('student', 'email_key', '$1')} union ${ofRoster('student', 'student_number', '$2')}
     union ${ofRoster('disabled_student', 'email_key', '$1')} union ${ofRoster('disabled_student', 'student_number', '$2')}
     union select p.id from person p where p.id = $2`,
    [key.toLowerCase(), key],
  )
  const people = await Promise.all(ids.map(({ id }) => servedById(db, id)))
  return people.filter((person) => person !== undefined)
}

export interface Counts {
  readonly role: ServedRole
  readonly status: Status<ServedRole>
  readonly count: number
  /** The last id of all that were counted. */
  readonly last: string
}

/** Veterinarians whom staff have to verify again. */
export async function countUnverified(db: Db): Promise<number> {
  const sql = 'select cast(count(*) as bigint) as count from person where unverified_at is not null'
  return (await db.one<{ count: number }>(sql))!.count
}

/** Whether any student is on the roster, so that one can sign in. */
export async function hasStudents(db: Db): Promise<boolean> {
  return (await db.one(`select 1 as one from student s where ${inRoster('s')} limit 1`)) !== undefined
}

/** Counts people in the order of their ids. */
export function countServed(db: Db, after: string, limit: number): Promise<Counts[]> {
  return db.all<Counts>(
    `select role, status, cast(count(*) as bigint) as count, max(max(id)) over () as last
     from (select a.id, a.role, a.status from ${accounts} a where a.id > $1 and a.role <> 'staff' order by a.id limit $2) chunk
     group by role, status`,
    [after, limit],
  )
}
