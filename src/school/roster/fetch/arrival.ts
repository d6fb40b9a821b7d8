/** Shared by all sources: time and size limits, and errors. */
import { createWriteStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { UsageError } from '../../../errors.ts'
import { minute, second } from '../../../platform/lib/clock.ts'

/** A set that can be read now. */
export interface Arrival {
  readonly path: string
  /** As people know it. */
  readonly name: string
  /**
   * Distinguishes this set from others at the same source without reading it, like an ETag. Null if the source has
   * none.
   */
  readonly mark: string | null
  /** When it was written, by the source's clock. Null if the source does not say. */
  readonly writtenAt: number | null
  /** Throws if the set has changed since. */
  verify(): Promise<void>
}

/** `known`: the mark of the set that was taken last. Returns null if there is no other. `folder` takes what is downloaded. */
export interface Wanted {
  readonly known: string | null
  readonly folder: string
  readonly limits: Limits
}

export interface Limits {
  /** Without any sign of life. */
  readonly silenceMs: number
  readonly totalMs: number
  readonly bytesMax: number
  /** A file that was written to more recently may not be complete. */
  readonly quietMs: number
  /** How long we wait for somebody to finish writing it. */
  readonly unquietMaxMs: number
  readonly pollMs: number
}

export const usualLimits: Limits = {
  silenceMs: 30 * second,
  totalMs: 15 * minute,
  bytesMax: 256 * 1024 * 1024,
  quietMs: 10 * second,
  unquietMaxMs: 10 * minute,
  pollMs: second,
}

/** The set cannot be fetched; `exitCode` 3 if the download is not a set. */
export class FetchError extends UsageError {}

/** Aborts when a server is silent for too long, or takes too long overall. */
export class Patience {
  readonly #limits: Limits
  readonly #end = new AbortController()
  readonly #ended = Promise.withResolvers<never>()
  readonly #total: NodeJS.Timeout
  readonly #silence: NodeJS.Timeout

  constructor(limits: Limits) {
    this.#limits = limits
    const { totalMs, silenceMs } = limits
    this.#total = this.#after(totalMs, `the download took longer than ${totalMs / minute} minutes`)
    this.#silence = this.#after(silenceMs, `the server did not answer within ${silenceMs / second} seconds`)
    this.#ended.promise.catch(() => {})
    this.signal.addEventListener('abort', () => this.#ended.reject(this.signal.reason))
  }

  get signal(): AbortSignal {
    return this.#end.signal
  }

  /** Waits for one answer; fails when the patience ends, even if the answer never comes. */
  for<T>(answer: Promise<T>): Promise<T> {
    this.#silence.refresh()
    return Promise.race([this.#ended.promise, answer])
  }

  /** Writes a file as it comes. Returns its size. */
  async save(stream: Readable, path: string): Promise<number> {
    const { bytesMax } = this.#limits
    const silence = this.#silence
    let bytes = 0
    async function* counted(chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        silence.refresh()
        bytes += chunk.length
        if (bytes > bytesMax) throw tooLarge(bytesMax)
        yield chunk
      }
    }
    try {
      await pipeline(stream, counted, createWriteStream(path, { mode: 0o600 }), { signal: this.signal })
    } catch (error) {
      throw this.signal.aborted ? this.signal.reason : error
    }
    return bytes
  }

  over(): void {
    clearTimeout(this.#total)
    clearTimeout(this.#silence)
  }

  #after(ms: number, why: string): NodeJS.Timeout {
    return setTimeout(() => this.#end.abort(new FetchError(why)), ms)
  }
}

/** `why` explains errors that are not ours. */
export async function patiently<T>(
  limits: Limits,
  why: (error: unknown) => string,
  work: (patience: Patience) => Promise<T>,
): Promise<T> {
  const patience = new Patience(limits)
  try {
    return await work(patience)
  } catch (error) {
    throw error instanceof FetchError ? error : new FetchError(why(error))
  } finally {
    patience.over()
  }
}

export function tooLarge(bytesMax: number): FetchError {
  return new FetchError(`the file is larger than ${bytesMax / 1024 / 1024} MiB`, 3)
}
