/**
 * Batches reads by id on PostgreSQL: those of one turn of the event loop become one statement over an array of ids,
 * which saves much of the cost of a read (docs/decisions/0009-speed.md).
 */
import type { ReadById, Row } from './db.ts'

type Waiting = Map<string, PromiseWithResolvers<Row | undefined>>

export class ReadsById {
  readonly #all: (sql: string, ids: readonly string[]) => Promise<Row[]>
  readonly #gathered = new Map<ReadById, Waiting>()

  constructor(all: (sql: string, ids: readonly string[]) => Promise<Row[]>) {
    this.#all = all
  }

  row(read: ReadById, id: string): Promise<Row | undefined> {
    let waiting = this.#gathered.get(read)
    if (!waiting) {
      waiting = new Map()
      this.#gathered.set(read, waiting)
      setImmediate(() => this.#ask(read))
    }
    const known = waiting.get(id)
    if (known) return known.promise
    const one = Promise.withResolvers<Row | undefined>()
    waiting.set(id, one)
    return one.promise
  }

  async #ask(read: ReadById): Promise<void> {
    const waiting = this.#gathered.get(read)!
    this.#gathered.delete(read)
    try {
      const rows = await this.#all(read.many, [...waiting.keys()])
      for (const row of rows) waiting.get(row[read.idColumn] as string)!.resolve(row)
      // Has no effect on those already resolved.
      for (const { resolve } of waiting.values()) resolve(undefined)
    } catch (error) {
      for (const { reject } of waiting.values()) reject(error)
    }
  }
}
