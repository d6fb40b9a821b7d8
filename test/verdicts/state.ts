/** What a store has of the roster, without random ids and in an order of its own. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { fileOf } from '../../src/platform/db/open.ts'

type Row = Readonly<Record<string, string | number | null>>
/** Rows by table and by what identifies them. */
export type State = Readonly<Record<string, Readonly<Record<string, Row>>>>

/** Columns by name, so that new ones are no difference. Times are those of the stopped clock. */
const tables: readonly (readonly [table: string, key: string, columns: string, visible: boolean])[] = [
  ['roster_state', '', 'content, generation, last_generation, folded, redo, leased_by', false],
  [
    'roster_generation',
    'id',
    'id, kind, parent, content, file_name, sha256, version, rows, summary, actor, allowed, newest_row_at, published_at',
    false,
  ],
  [
    'roster_record',
    'kind, sourced_id',
    'kind, sourced_id, from_gen, digest, data, document, updated_at',
    true,
  ],
  [
    'roster_enrolment',
    'sourced_id',
    'sourced_id, from_gen, user_id, class_id, school_id, role, is_primary, start_date, end_date',
    true,
  ],
  [
    'student',
    'sourced_id',
    'sourced_id, person_id, from_gen, digest, email, email_key, firstname, firstname_key, lastname, lastname_key, preferred_name, pronouns, student_number, year, school_id, school_name, updated_at',
    true,
  ],
  [
    'disabled_student',
    'sourced_id',
    'sourced_id, person_id, from_gen, digest, email, email_key, firstname, lastname, student_number, year',
    true,
  ],
  ['roster_correction', 'person_id', 'person_id, from_gen, email, firstname, lastname, corrected_at', true],
  ['student_identity', 'sourced_id', 'sourced_id, person_id, generation, matched_from', false],
  ['roster_departure', 'generation, person_id', 'generation, person_id', false],
  ['person', 'person_id', 'id as person_id, role, status', false],
  [
    'event',
    'generation, type, person_id',
    'generation, type, person_id, actor, data, case when number is null then 0 else 1 end as is_numbered',
    false,
  ],
]

const visible =
  'from_gen <= (select content from roster_state) and (to_gen is null or to_gen > (select content from roster_state))'

type Ask = (sql: string) => Promise<Row[]>

/** The people of one store, named after the first sourcedId that they had. */
export class People {
  readonly #names = new Map<string, string>()

  add(id: string, sourcedId: string): void {
    if (!this.#names.has(id)) this.#names.set(id, `person of ${sourcedId}`)
  }

  /** The text with names in place of ids. */
  in(text: string): string {
    return text.replaceAll(/[A-Za-z0-9_-]{22}/g, (id) => this.#names.get(id) ?? id)
  }
}

export async function stateOf(url: string, people: People): Promise<State> {
  const file = fileOf(url)
  if (file !== null) {
    const db = new DatabaseSync(file, { readOnly: true })
    try {
      return await readState(async (sql) => db.prepare(sql).all() as Row[], people)
    } finally {
      db.close()
    }
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await readState(async (sql) => (await client.query(sql)).rows, people)
  } finally {
    await client.end()
  }
}

async function readState(ask: Ask, people: People): Promise<State> {
  const known = [
    ...(await ask('select person_id, sourced_id, generation as gen from student_identity')),
    ...(await ask('select person_id, sourced_id, from_gen as gen from disabled_student')),
  ].map(({ person_id, sourced_id, gen }) => ({
    id: String(person_id),
    name: String(sourced_id),
    gen: Number(gen),
  }))
  known.sort((a, b) => a.gen - b.gen || (a.name < b.name ? -1 : 1))
  for (const { id, name } of known) people.add(id, name)
  const state: Record<string, Record<string, Row>> = {}
  for (const [table, key, columns, isOfRoster] of tables) {
    const rows = await ask(`select ${columns} from ${table}${isOfRoster ? ` where ${visible}` : ''}`)
    state[table] = keyed(
      rows.map((row) => plain(row, people)),
      key.split(', '),
    )
  }
  return state
}

/** PostgreSQL gives big integers as texts. */
function plain(row: Row, people: People): Row {
  const cells = Object.entries(row).flatMap(([name, value]) => {
    if (value === null) return []
    const isNumber = /(_at|^is_|^redo$)/.test(name)
    return [[name, isNumber ? Number(value) : typeof value === 'string' ? people.in(value) : value]]
  })
  return Object.fromEntries(cells)
}

function keyed(rows: readonly Row[], key: readonly string[]): Record<string, Row> {
  const sorted = rows
    .map((row) => ({
      row,
      name: key.map((column) => row[column] ?? '').join(' '),
      text: JSON.stringify(row),
    }))
    .sort((a, b) => (a.name === b.name ? (a.text < b.text ? -1 : 1) : a.name < b.name ? -1 : 1))
  const found: Record<string, Row> = {}
  for (const { row, name } of sorted) {
    let free = name
    for (let n = 2; free in found; n++) free = `${name} (${n})`
    found[free] = row
  }
  return found
}
