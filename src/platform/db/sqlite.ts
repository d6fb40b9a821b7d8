/**
 * SQLite through node:sqlite. It is synchronous, so work is collected during one turn of the event loop: the reads of a
 * turn share one read transaction, the writes one commit. If a write fails, the whole batch is rolled back and repeated
 * with a savepoint per job, so that only the failing one is rejected. Callers are answered only after the commit.
 *
 * One connection does both. A second one for reads would gain nothing in one thread, and every commit of the first
 * would invalidate its page cache.
 */
import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { BoundedMap } from '../lib/bounded-map.ts'
import { flush, makeFile, makeFolder } from '../lib/durable.ts'
import { errorFields } from '../lib/error-fields.ts'
import { checkNumbers, outOfReach, overloaded, preparedMax, waitingMax } from './bounds.ts'
import type { Db, Param, Row, Statement } from './db.ts'
import { type Decision, isTake, type Outcome, type Step } from './decision.ts'
import { whyNotOpened } from './sqlite-file.ts'

interface Job<Result> {
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

interface Read extends Job<unknown>, Statement {
  readonly onlyFirst: boolean
}

interface Write extends Job<unknown> {
  work(): unknown
}

interface Stage extends Job<void> {
  readonly statements: Iterable<Statement>
}

type Done = { result: unknown } | { error: unknown }

// Limits how long the first caller of a batch waits for the last.
const jobsPerCommitMax = 500
// A larger cache gains little, since the operating system caches the file too, and SQLite scans all of it at a commit
// that split a page.
const cacheKb = 16_000
const busyTimeoutMs = 5_000
const busyRetryMs = 1
// Another process may be migrating a large table.
const exclusiveTimeoutMs = 120_000
const exclusiveRetryMs = 20

export interface SqliteOptions {
  readonly readOnly?: boolean
  /** Monotonic milliseconds, to measure how long another process keeps the store locked. */
  readonly now?: () => number
}

export function openSqlite(
  path: string,
  { readOnly = false, now = () => performance.now() }: SqliteOptions = {},
): Db {
  const connection = readOnly ? connect(path, true) : makeAndConnect(path)
  // busy_timeout = 0: waiting inside SQLite for another process would block this one, so the queue retries instead. The
  // larger checkpoint interval means fewer checkpoints.
  connection.database.exec(
    `pragma busy_timeout = 0; pragma cache_size = -${cacheKb}; pragma wal_autocheckpoint = 4000`,
  )
  const reads = new Queue<Read>((jobs) => readTogether(connection, jobs), now)
  const writes = new Queue<Write>((jobs) => writeTogether(connection, jobs), now)
  const stages = new Queue<Stage>(([job]) => stage(connection, job!), now, 1)

  const read = (sql: string, params: readonly Param[], onlyFirst: boolean) =>
    new Promise((resolve, reject) => reads.add({ sql, params, onlyFirst, resolve, reject }))
  const write = <Result>(work: () => Result) =>
    new Promise<Result>((resolve, reject) => {
      let result: Result
      writes.add({ work: () => (result = work()), resolve: () => resolve(result), reject })
    })
  const tx = (statements: readonly Statement[]) =>
    statements.length === 0 ? Promise.resolve([]) : write(() => statements.map((one) => connection.rows(one)))

  // Serialised within the process: a second one would wait for a lock that only the first can release.
  let exclusive: Promise<void> = Promise.resolve()

  return {
    engine: 'sqlite',
    file: path,
    rowsPerInsert: 1,
    all: ((sql, params = []) => read(sql, params, false)) as Db['all'],
    one: ((sql, params = []) => read(sql, params, true)) as Db['one'],
    byId: ((lookup, id) => read(lookup.one, [id], true)) as Db['byId'],
    run: (async (sql, params = []) => (await tx([{ sql, params }]))[0]!) as Db['run'],
    tx,
    unsynced: tx,
    decide: ((...steps) => write(() => carryOut(connection, steps))) as Db['decide'],
    stage: (statements) => new Promise((resolve, reject) => stages.add({ statements, resolve, reject })),
    async analyze() {},
    exclusively(work) {
      const turn = exclusive
        .then(() => {
          connection.startNewLog()
          return runExclusively(path, work)
        })
        .catch((error) => {
          throw translate(error)
        })
      exclusive = turn.catch(() => {})
      return turn
    },
    async close() {
      await Promise.all([reads.close(), writes.close(), stages.close()])
      connection.database.close()
    },
  }
}

function makeAndConnect(path: string): Connection {
  try {
    makeUnlessThere(path)
    return connect(path)
  } catch (error) {
    throw whyNotOpened(path, error)
  }
}

/** The file contains addresses of people, so it is for its owner alone. SQLite gives its other files mode and owner of this one. */
function makeUnlessThere(path: string): void {
  makeFolder(dirname(path))
  try {
    makeFile(path)
    flush(dirname(path))
  } catch (error) {
    if (errorFields(error).code !== 'EEXIST') throw error
    // SQLite would open a file that it may not write, and fail later.
    closeSync(openSync(path, 'a'))
  }
}

async function runExclusively(path: string, work: Parameters<Db['exclusively']>[0]): Promise<void> {
  const own = connect(path)
  try {
    own.database.exec('pragma busy_timeout = 0')
    await beginExclusively(own)
    await work(
      async (sql) => own.database.exec(sql),
      async (sql, params = []) => own.rows({ sql, params }),
    )
    own.database.exec('commit')
  } finally {
    own.database.close()
  }
}

async function beginExclusively(own: Connection): Promise<void> {
  const deadline = performance.now() + exclusiveTimeoutMs
  for (;;) {
    try {
      return own.database.exec('begin immediate')
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, exclusiveRetryMs))
    }
  }
}

/** Collects the jobs of one turn of the event loop and runs them at its end. */
class Queue<J extends Job<never>> {
  #jobs: J[] = []
  #scheduled = false
  #closed = false
  #busySince: number | null = null
  /** Settles the jobs. Returns false if another process is writing and they must be retried. */
  readonly #work: (jobs: J[]) => boolean
  readonly #now: () => number
  readonly #jobsAtOnce: number

  constructor(work: (jobs: J[]) => boolean, now: () => number, jobsAtOnce = jobsPerCommitMax) {
    this.#work = work
    this.#now = now
    this.#jobsAtOnce = jobsAtOnce
  }

  add(job: J): void {
    if (this.#closed) return void job.reject(outOfReach(new Error('the store was closed')))
    if (this.#jobs.length >= waitingMax) return void job.reject(overloaded())
    this.#jobs.push(job)
    this.#schedule()
  }

  /** Finishes what is queued and accepts nothing more. */
  async close(): Promise<void> {
    this.#closed = true
    while (this.#jobs.length > 0) {
      this.#take()
      if (this.#busySince !== null) await new Promise((resolve) => setTimeout(resolve, busyRetryMs))
    }
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    const take = () => {
      this.#scheduled = false
      if (this.#jobs.length > 0) this.#take()
      if (this.#jobs.length > 0) this.#schedule()
    }
    if (this.#busySince === null) setImmediate(take)
    else setTimeout(take, busyRetryMs)
  }

  #take(): void {
    const jobs = this.#jobs.splice(0, this.#jobsAtOnce)
    if (this.#tried(jobs)) {
      this.#busySince = null
      return
    }
    this.#jobs.unshift(...jobs)
    const now = this.#now()
    this.#busySince ??= now
    if (now - this.#busySince < busyTimeoutMs) return
    this.#busySince = null
    rejectAll(this.#jobs.splice(0), outOfReach(new Error('another process kept the store locked')))
  }

  /** Must not throw: nobody would catch it and the process would end. */
  #tried(jobs: J[]): boolean {
    try {
      return this.#work(jobs)
    } catch (error) {
      rejectAll(jobs, error)
      return true
    }
  }
}

class Connection {
  readonly database: DatabaseSync
  #hasNewLog = false
  readonly #prepared = new BoundedMap<string, StatementSync>(preparedMax)

  constructor(database: DatabaseSync) {
    this.database = database
  }

  rows({ sql, params }: Statement): Row[] {
    checkNumbers(params)
    return this.#prepare(sql).all(...params) as Row[]
  }

  first({ sql, params }: Statement): Row | undefined {
    checkNumbers(params)
    return this.#prepare(sql).get(...params) as Row | undefined
  }

  /**
   * Moves the log of earlier processes into the file, before the first commit. If a sync failed and the process was then
   * killed, the last commits in the log may exist in memory only: a power cut would lose them, and all that follows them
   * in the same log. Does nothing while another process uses the log, since that one knows which commits failed.
   */
  startNewLog(): void {
    if (this.#hasNewLog) return
    this.database.exec('pragma wal_checkpoint(truncate)')
    this.#hasNewLog = true
  }

  command(sql: string): void {
    this.#prepare(sql).all()
  }

  #prepare(sql: string): StatementSync {
    let prepared = this.#prepared.get(sql)
    if (!prepared) {
      // SQLite takes `$1` for a name, and binding by name is slow; `?1` is the first parameter.
      prepared = this.database.prepare(sql.replace(/\$(\d+)/g, '?$1'))
      this.#prepared.set(sql, prepared)
    }
    return prepared
  }
}

function connect(path: string, readOnly = false): Connection {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, readOnly })
  if (readOnly) return new Connection(database)
  // synchronous=FULL: an acknowledged commit survives a power cut, not only a crash. Every commit needs it, staged rows
  // too: a failed sync loses all that was not synced before, and recovery ends at the first gap in the log.
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  // secure_delete: erased data must not survive in free pages or backups.
  database.exec('pragma secure_delete = on')
  return new Connection(database)
}

function readTogether(connection: Connection, jobs: Read[]): boolean {
  // A single statement is its own transaction.
  if (jobs.length > 1) begin(connection, 'begin')
  for (const job of jobs) {
    try {
      job.resolve(job.onlyFirst ? connection.first(job) : connection.rows(job))
    } catch (error) {
      job.reject(translate(error))
    }
  }
  rollBack(connection)
  return true
}

function writeTogether(connection: Connection, jobs: Write[], alone = false): boolean {
  if (!beginWriting(connection)) return false
  let all: Done[]
  try {
    all = jobs.map((job) => (alone ? attemptAlone(connection, job) : { result: job.work() }))
    connection.command('commit')
  } catch (error) {
    const canGoOn = rollBack(connection)
    if (canGoOn && !alone && jobs.length > 1) return writeTogether(connection, jobs, true)
    throw error
  }
  for (const [i, job] of jobs.entries()) {
    const done = all[i]!
    if ('result' in done) job.resolve(done.result)
    else job.reject(done.error)
  }
  return true
}

/** Has its own transaction, because the statements can be iterated only once. */
function stage(connection: Connection, { statements, resolve }: Stage): boolean {
  if (!beginWriting(connection)) return false
  try {
    for (const statement of statements) connection.rows(statement)
    connection.command('commit')
  } catch (error) {
    rollBack(connection)
    throw error
  }
  resolve()
  return true
}

/** Returns false if another process is writing. */
function beginWriting(connection: Connection): boolean {
  try {
    begin(connection, 'begin immediate')
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}

function begin(connection: Connection, command: 'begin' | 'begin immediate'): void {
  // Needed only if an earlier rollback failed.
  rollBack(connection)
  if (command === 'begin immediate') connection.startNewLog()
  connection.command(command)
}

/** Returns false if there was nothing to roll back: SQLite does it itself on an I/O error or a full disk. */
function rollBack(connection: Connection): boolean {
  if (!connection.database.isTransaction) return false
  connection.command('rollback')
  return true
}

function rejectAll(jobs: readonly Job<never>[], error: unknown): void {
  for (const job of jobs) job.reject(translate(error))
}

/** This connection is the only writer, so nothing has to be locked. */
function carryOut(connection: Connection, steps: readonly Step<unknown>[]): unknown {
  let outcome: Outcome<unknown> | undefined
  for (const step of steps) {
    outcome = isTake(step) ? step.judge(connection.rows(step.take)) : decideOn(connection, step)
    for (const statement of outcome.writes ?? []) connection.rows(statement)
    if (outcome.refused) break
  }
  return outcome!.result
}

function decideOn(connection: Connection, { asks, rule }: Decision<unknown>): Outcome<unknown> {
  return rule(
    asks.map(({ make, question }) => {
      if (make) connection.rows(make)
      return connection.rows(question)
    }),
  )
}

function attemptAlone(connection: Connection, job: Write): Done {
  connection.command('savepoint job')
  try {
    return { result: job.work() }
  } catch (error) {
    if (!connection.database.isTransaction) throw error
    connection.command('rollback to job')
    return { error: translate(error) }
  } finally {
    if (connection.database.isTransaction) connection.command('release job')
  }
}

// SQLITE_BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB: the store is at fault, not the statement.
const storeFaults = new Set([5, 6, 8, 10, 11, 13, 14, 26])

function isBusy(error: unknown): boolean {
  return (errorFields(error).errcode ?? 0) % 256 === 5
}

function translate(error: unknown): unknown {
  const code = errorFields(error).errcode
  return code !== undefined && storeFaults.has(code & 0xff) ? outOfReach(error) : error
}
