/**
 * Runs jobs in a child process, one at a time in each process of the service. Comparing a large roster keeps a processor
 * busy for a while and leaves much garbage; the child is started like the command, and its memory ends with it.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempDisposable, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AppError, type ErrorCode, UsageError } from '../../../errors.ts'
import { type Clock, day, minute, second } from '../../../platform/lib/clock.ts'
import { isRunning } from '../../../platform/lib/processes.ts'
import { tooMuchMemory, tooMuchTime } from '../bounds.ts'
import { fatal } from '../findings.ts'
import { RosterError, type RosterFailure, type RosterOptions } from '../roster.ts'
import type { Job, ResultOf } from './jobs.ts'

const folderPrefix = 'chiron-upload-'
const stopPatienceMs = 5 * second
const start = fileURLToPath(new URL('./worker.js', import.meta.url))
/** As for the command (bin/chiron); the heap is more than a roster may take (roster/bounds.ts). */
const execArgv = ['--max-semi-space-size=2', '--max-old-space-size=1280']
const errorsKept = 2_000

/** How long a job may keep others waiting. Jobs that change the roster have no limit; their files were planned within it. */
export type JobLimits = Readonly<Partial<Record<Job['kind'], number>>>

/** A plan of 1.2 million rows takes less than a minute (docs/performance.md), and the largest allowed a few. */
const usualLimits: JobLimits = { plan: 15 * minute, 'show-undo': 5 * minute }

/** Everything a job needs to open the store. */
export interface JobSettings extends Required<Pick<RosterOptions, 'timeZone' | 'holdShares' | 'badRows'>> {
  readonly databaseUrl: string
  readonly secret: string
  readonly secretPrevious: string | null
  /** For class lists, which do not name it. */
  readonly schoolName: string
}

export interface Task extends JobSettings {
  readonly job: Job
  readonly folder: string
  /** The child's clock starts here. */
  readonly now: number
}

/** Messages from the child. */
export interface Note {
  readonly progress?: { readonly done: number; readonly total: number | null }
  readonly result?: unknown
  readonly error?: {
    readonly failure?: RosterFailure
    readonly code?: ErrorCode
    readonly isUsage?: boolean
    readonly message: string
    readonly stack?: string | undefined
  }
}

export interface RunOptions {
  onProgress?(done: number, total: number | null): void
  /** Ends the job at once, or takes it out of the queue. Only for jobs that change nothing. */
  readonly signal?: AbortSignal
}

export class JobProcess {
  readonly #settings: JobSettings
  readonly #clock: Clock
  readonly #limitsMs: JobLimits
  #turn: Promise<unknown> = Promise.resolve()
  #child: ChildProcess | null = null
  #stopping = false

  constructor(settings: JobSettings, clock: Clock, limitsMs = usualLimits) {
    this.#settings = settings
    this.#clock = clock
    this.#limitsMs = limitsMs
  }

  /** Waits until the jobs before it are done. */
  run<J extends Job>(job: J, options: RunOptions = {}): Promise<ResultOf[J['kind']]> {
    const mine = this.#turn.then(() => this.#start(job, options))
    this.#turn = mine.catch(() => {})
    return unlessAborted(mine, options.signal) as Promise<ResultOf[J['kind']]>
  }

  /** Aborts running work; nothing of it becomes visible. */
  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#child?.connected) this.#child.send('stop', () => {})
    const force = setTimeout(() => this.#child?.kill('SIGKILL'), stopPatienceMs)
    await this.#turn
    clearTimeout(force)
  }

  async #start(job: Job, options: RunOptions): Promise<unknown> {
    if (this.#stopping) throw shuttingDown()
    options.signal?.throwIfAborted()
    await removeLeftovers()
    await using folder = await mkdtempDisposable(join(tmpdir(), `${folderPrefix}${process.pid}-`))
    return await this.#work({ ...this.#settings, job, folder: folder.path, now: this.#clock.now() }, options)
  }

  async #work(task: Task, { onProgress, signal }: RunOptions): Promise<unknown> {
    const limitMs = this.#limitsMs[task.job.kind]
    const limit = limitMs === undefined ? undefined : AbortSignal.timeout(limitMs)
    const child = fork(start, [], {
      execArgv,
      env: { ...process.env, MALLOC_ARENA_MAX: '1' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      signal: AbortSignal.any([signal, limit].filter((one) => one !== undefined)),
      killSignal: 'SIGKILL',
    })
    this.#child = child
    // By message: arguments and environments can be read by others.
    child.send(task, () => {})
    let outcome: Note | undefined
    let errors = ''
    child.on('message', (note: Note) => {
      if (note.progress) onProgress?.(note.progress.done, note.progress.total)
      else outcome = note
    })
    child.stderr!.on('data', (chunk) => {
      errors = (errors + chunk).slice(-errorsKept)
    })
    const crash = await endOf(child)
    this.#child = null
    if (outcome && !outcome.error) return outcome.result
    if (this.#stopping) throw shuttingDown()
    if (limit?.aborted) throw fatal('too-much-time', 'roster', tooMuchTime)
    throw outcome ? errorOf(outcome) : (crash ?? crashOf(errors))
  }
}

/** The error if it could not be started. */
function endOf(child: ChildProcess): Promise<Error | null> {
  return new Promise((resolve) => {
    // One that is aborted has an error, too, before it ends.
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(error)
    })
    // Its last message may arrive after it has ended, but not after its channel has.
    child.once('exit', () => {
      if (child.connected) child.once('disconnect', () => resolve(null))
      else resolve(null)
    })
  })
}

/** Waiting jobs are rejected at once, too. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

/** The memory that a file takes is counted as it is read, but V8 may reach its limit first. */
function crashOf(errors: string): Error {
  if (/heap limit|out of memory/i.test(errors)) return fatal('too-much-memory', 'roster', tooMuchMemory)
  return new Error(`the child process ended before its work: ${errors.trim()}`)
}

/** Errors lose their class between processes. */
export function noteOf(error: unknown): Note {
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  if (error instanceof RosterError) return { error: { failure: error.failure, message } }
  if (error instanceof AppError) return { error: { code: error.code, message } }
  return { error: { isUsage: error instanceof UsageError, message, stack } }
}

function errorOf({ error }: Note): Error {
  const { failure, code, isUsage, message, stack } = error!
  if (failure) return new RosterError(failure, message)
  if (code) return new AppError(code, message, { retryAfterSeconds: 2 })
  if (isUsage) return new UsageError(message)
  return Object.assign(new Error(message), { stack })
}

function shuttingDown(): AppError {
  return new AppError('unavailable', 'The service is shutting down.', { retryAfterSeconds: 5 })
}

/** Removes the folders of processes that were killed, and of others that had the same number. */
export async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(new RegExp(`^${folderPrefix}(\\d+)-`).exec(name)?.[1] ?? 0)
    if (pid === 0) continue
    const folder = join(tmpdir(), name)
    const made = await stat(folder).catch(() => null)
    const isOld = made !== null && Date.now() - made.mtimeMs > day
    if (isOld || !isRunning(pid)) await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}
