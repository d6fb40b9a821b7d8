import { folded } from '../lib/folded.ts'
import type { Exec, Rows } from './db.ts'

const namesPerInsert = 1_000
const tables = ['person', 'student']
const columns = ['firstname', 'lastname']

/** Gives a key to every name that was written before names had keys. */
export async function fillNameKeys(exec: Exec, rows: Rows): Promise<void> {
  const each = tables.flatMap((table) => columns.map((column) => ({ table, column })))
  const written = await rows(
    each.map(({ table, column }) => `select ${column} as name from ${table}`).join(' union '),
  )
  const names = written.flatMap(({ name }) => (name === null ? [] : [String(name)]))
  await exec('create temporary table name_key (name text primary key, key text not null)')
  for (let at = 0; at < names.length; at += namesPerInsert) {
    const some = names.slice(at, at + namesPerInsert)
    const values = some.map((name) => `(${quoted(name)}, ${quoted(folded(name))})`)
    await exec(`insert into name_key (name, key) values ${values.join(', ')}`)
  }
  for (const { table, column } of each)
    await exec(
      `update ${table} set ${column}_key = (select key from name_key where name = ${column}) where ${column} is not null`,
    )
  await exec('drop table name_key')
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
