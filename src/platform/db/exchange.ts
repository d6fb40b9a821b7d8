/**
 * Sends several statements to PostgreSQL, followed by a single Sync, so there is only one reply to wait for. Unless they
 * begin or end a transaction, the server treats everything before a Sync as one. On its own, `pg` sends a Sync with every
 * statement. docs/performance.md says what this saves.
 */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { preparedMax } from './bounds.ts'
import type { Param, Row, Statement, Value } from './db.ts'

export interface Command {
  readonly text: string
  readonly params: readonly (Param | readonly string[])[]
}

export const commandOf = ({ sql, postgres = sql, params }: Statement): Command => ({ text: postgres, params })

interface Column {
  readonly name: string
  readonly parse: (text: string) => Value
}

interface Prepared {
  readonly name: string
  /** Null until the server has described the statement. If its first use fails, it may be prepared without that. */
  columns: readonly Column[] | null
  /** With all columns. Copies of it are faster than objects that grow. */
  empty: Row
}

interface PreparedStatements {
  readonly byText: Map<string, Prepared>
  /** How many were forgotten, which the server may have all the same. Names of later ones differ from theirs. */
  forgotten: number
}

interface Sent {
  readonly text: string
  readonly statement: Prepared
  readonly isNew: boolean
}

const preparedOn = new WeakMap<pg.Client, PreparedStatements>()

/** Runs the commands until one fails, and returns the rows of each. */
export function exchange(
  client: pg.Client,
  commands: readonly Command[],
  { prepare }: { prepare: boolean },
): Promise<Row[][]> {
  let prepared: PreparedStatements | undefined
  if (prepare) {
    prepared = preparedOn.get(client) ?? { byText: new Map(), forgotten: 0 }
    preparedOn.set(client, prepared)
  }
  return new Promise((resolve, reject) => {
    const results: Row[][] = []
    const done = (error?: Error | null) => (error ? reject(error) : resolve(results))
    client.query(new Exchange(commands, prepared, results, done))
  })
}

/** In pipeline mode `pg` takes only queries of its own class. It calls the methods as replies arrive. */
class Exchange extends pg.Query {
  declare readonly callback: (error?: Error | null) => void
  readonly #prepared: PreparedStatements | undefined
  readonly #sent: Sent[] = []
  readonly #results: Row[][]
  #rows: Row[] = []

  constructor(
    commands: readonly Command[],
    prepared: PreparedStatements | undefined,
    results: Row[][],
    callback: (error?: Error | null) => void,
  ) {
    super('', callback)
    this.#prepared = prepared
    this.#results = results
    // All are encoded before the first is sent: half an exchange would mix up the replies of all that follow.
    const all = commands.map(({ text, params }) => ({ text, values: params.map(encoded) }))
    this.submit = (connection) => {
      connection.stream.cork()
      for (const { text, values } of all) this.#sent.push(this.#send(connection, text, values))
      connection.sync()
      connection.stream.uncork()
    }
  }

  #send(connection: pg.Connection, text: string, values: (string | Buffer | null)[]): Sent {
    const known = this.#prepared?.byText.get(text)
    const statement = known ?? { name: this.#newName(text), columns: null, empty: {} }
    if (!known) {
      if (statement.name !== '') this.#prepared!.byText.set(text, statement)
      connection.parse({ name: statement.name, text, types: [] }, true)
    }
    connection.bind({ statement: statement.name, values }, true)
    if (!statement.columns) connection.describe({ type: 'P' }, true)
    connection.execute({}, true)
    return { text, statement, isNew: !known }
  }

  /** Derived from the text, so that a name never stands for another statement, even on a connection that others have used. */
  #newName(text: string): string {
    if (!this.#prepared) return ''
    const { byText, forgotten } = this.#prepared
    if (byText.size + forgotten >= preparedMax) return ''
    return `${createHash('sha256').update(text).digest('base64url').slice(0, 20)}${forgotten || ''}`
  }

  /** The server skips what follows the statement that failed, so those are not prepared. Whether that one is, is unknown. */
  handleError(error: Error): void {
    const unsure = this.#sent.slice(this.#results.length).filter(({ isNew }) => isNew)
    for (const { text } of unsure) this.#prepared?.byText.delete(text)
    if (this.#prepared) this.#prepared.forgotten += unsure.length
    this.callback(error)
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    const { statement } = this.#sent[this.#results.length]!
    statement.columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: pg.types.getTypeParser(dataTypeID),
    }))
    statement.empty = Object.fromEntries(fields.map(({ name }) => [name, null]))
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const { columns, empty } = this.#sent[this.#results.length]!.statement
    const row = { ...empty }
    for (let i = 0; i < fields.length; i++) {
      const { name, parse } = columns![i]!
      const text = fields[i]!
      if (text !== null) row[name] = parse(text)
    }
    this.#rows.push(row)
  }

  handleCommandComplete(): void {
    // Only a statement that returns no rows is still without a description.
    this.#sent[this.#results.length]!.statement.columns ??= []
    this.#results.push(this.#rows)
    this.#rows = []
  }

  handleReadyForQuery(): void {
    this.callback()
  }
}

function encoded(param: Command['params'][number] | undefined): string | Buffer | null {
  if (param === null || param === undefined) return null
  if (typeof param === 'string') return param
  if (typeof param === 'number') return String(param)
  if (param instanceof Uint8Array) return Buffer.from(param.buffer, param.byteOffset, param.byteLength)
  return `{${param.map((one) => `"${one.replace(/["\\]/g, '\\$&')}"`).join()}}`
}
