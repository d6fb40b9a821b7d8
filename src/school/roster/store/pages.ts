/** Reads many rows, some at a time. */
import { closedAfter, inGeneration, unclosedIn } from '../../../identity/people/in-roster.ts'
import type { Db, Value } from '../../../platform/db/db.ts'

export const pageSize = 500

/** `read` returns the rows after a key, at most `pageSize`. */
export async function* pagesFrom<R>(
  first: string,
  keyOf: (row: R) => string,
  read: (last: string) => Promise<R[]>,
): AsyncGenerator<R[]> {
  let last = first
  for (;;) {
    const page = await read(last)
    if (page.length > 0) yield page
    if (page.length < pageSize) return
    last = keyOf(page.at(-1)!)
  }
}

export interface Selection {
  readonly columns: string
  /** Its alias is `t`. */
  readonly table: string
  readonly where?: string
}

/** The rows that meet a condition, in the order of `sourced_id`. */
export function pages<R extends { readonly sourced_id: string }>(
  db: Db,
  { columns, table, where = 'true' }: Selection,
  condition: string,
  params: readonly Value[],
): AsyncGenerator<R[]> {
  const sql = `select ${columns} from ${table} t
       where ${where} and ${condition} and t.sourced_id > $${params.length + 1} order by t.sourced_id limit ${pageSize}`
  return pagesFrom(
    '',
    ({ sourced_id }) => sourced_id,
    (last) => db.all<R>(sql, [...params, last]),
  )
}

/** Another import has begun to close rows while they were read. */
export class ClosedMeanwhile extends Error {
  override readonly name = 'ClosedMeanwhile'
}

/** Rows closed by an unfinished or undone import stay visible until the next import clears it. */
export async function hasClosedLater(db: Db, table: string, content: number): Promise<boolean> {
  const sql = `select 1 as one from ${table} t where ${closedAfter('t', '$1')} limit 1`
  return (await db.one(sql, [content])) !== undefined
}

/** The rows of a generation; `params` begin at `$2`. */
export async function* pagesOf<R extends { readonly sourced_id: string }>(
  db: Db,
  content: number,
  select: Selection,
  ...params: Value[]
): AsyncGenerator<R[]> {
  const isMixed = await hasClosedLater(db, select.table, content)
  const condition = isMixed ? inGeneration('t', '$1') : unclosedIn('t', '$1')
  yield* pages<R>(db, select, condition, [content, ...params])
  if (!isMixed && (await hasClosedLater(db, select.table, content))) throw new ClosedMeanwhile()
}

const lookedUpAtOnce = 500

/** Looks many values up. There are few different texts: the last value is repeated to fill a list. */
export async function lookUp<R>(
  db: Db,
  sql: (list: string) => string,
  content: number,
  values: Iterable<string>,
): Promise<R[]> {
  const all = [...new Set(values)]
  const found: R[] = []
  for (let at = 0; at < all.length; at += lookedUpAtOnce) {
    const some = all.slice(at, at + lookedUpAtOnce)
    const size = some.length > 20 ? lookedUpAtOnce : 20
    while (some.length < size) some.push(some.at(-1)!)
    const list = some.map((_, i) => `$${i + 2}`).join(', ')
    for (const row of await db.all<R>(sql(list), [content, ...some])) found.push(row)
  }
  return found
}
