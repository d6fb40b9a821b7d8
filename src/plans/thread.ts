/**
 * Runs jobs in a thread, one at a time in each process: reading and comparing a large roster keeps a processor busy for
 * a while, and needs memory.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { AppError, type ErrorCode, UsageError } from '../errors.ts'
import { type Clock, day, second } from '../lib/clock.ts'
import { RosterError, type RosterFailure } from '../roster/roster.ts'
import type { Job, ResultOf } from './jobs.ts'

const folderPrefix = 'chiron-upload-'
const stopPatienceMs = 5 * second

/** What a thread needs in order to open the store by itself. */
export interface ThreadSettings {
  readonly databaseUrl: string
  readonly timeZone: string
  readonly secret: string
  readonly secretPrevious: string | null
}

export interface Errand extends ThreadSettings {
  readonly job: Job
  readonly folder: string
  /** The thread's clock starts here. */
  readonly now: number
}

/** What a thread tells. */
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

export class Thread {
  readonly #settings: ThreadSettings
  readonly #clock: Clock
  #turn: Promise<unknown> = Promise.resolve()
  #worker: Worker | null = null
  #stopping = false

  constructor(settings: ThreadSettings, clock: Clock) {
    this.#settings = settings
    this.#clock = clock
  }

  /** Removes what processes that were killed have left. */
  clean(): Promise<void> {
    return removeLeftovers()
  }

  /** Waits until the jobs before it are done. */
  run<J extends Job>(
    job: J,
    onProgress: (done: number, total: number | null) => void = () => {},
  ): Promise<ResultOf[J['kind']]> {
    const mine = this.#turn.then(() => this.#start(job, onProgress))
    this.#turn = mine.catch(() => {})
    return mine as Promise<ResultOf[J['kind']]>
  }

  /** Gives up what is under way; nothing of it is seen. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#worker?.postMessage('stop')
    const force = setTimeout(() => this.#worker?.terminate(), stopPatienceMs)
    await this.#turn
    clearTimeout(force)
  }

  async #start(job: Job, onProgress: (done: number, total: number | null) => void): Promise<unknown> {
    if (this.#stopping) throw shuttingDown()
    await this.clean()
    const folder = await mkdtemp(join(tmpdir(), `${folderPrefix}${process.pid}-`))
    try {
      return await this.#work({ ...this.#settings, job, folder, now: this.#clock.now() }, onProgress)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  #work(errand: Errand, onProgress: (done: number, total: number | null) => void): Promise<unknown> {
    const worker = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: errand,
      // Its garbage is collected often, as in main.js.
      resourceLimits: { maxYoungGenerationSizeMb: 6 },
    })
    this.#worker = worker
    let outcome: Note | undefined
    let crash: unknown
    worker.on('message', (note: Note) => {
      if (note.progress) onProgress(note.progress.done, note.progress.total)
      else outcome = note
    })
    worker.on('error', (error) => {
      crash = error
    })
    return new Promise((resolve, reject) => {
      worker.on('exit', () => {
        this.#worker = null
        if (outcome && !outcome.error) resolve(outcome.result)
        else if (this.#stopping) reject(shuttingDown())
        else reject(outcome ? errorOf(outcome) : (crash ?? new Error('the thread ended before its work')))
      })
    })
  }
}

/** Errors lose their class between threads. */
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

/** Of processes that were killed, and of others that had the same number. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(new RegExp(`^${folderPrefix}(\\d+)-`).exec(name)?.[1] ?? 0)
    if (pid === 0) continue
    const folder = join(tmpdir(), name)
    const made = await stat(folder).catch(() => null)
    const isOld = made !== null && Date.now() - made.mtimeMs > day
    if (isOld || !isRunning(pid)) await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
