/**
 * Whether the store takes writes, for health checks: it may answer reads while its disk is full or its server is read-only.
 * Only a write of its own shows that, because a commit without changes succeeds even on a full disk. A result is reused
 * for some seconds, so that checks cost little however often they come.
 */
import { type Clock, second } from '../lib/clock.ts'
import type { Db } from './db.ts'

const trustedMs = 5 * second
const retryPauseMs = second
// More pages than a request writes: on a disk that is almost full, a small write may succeed where requests fail. The
// server of PostgreSQL reserves its disk space in advance.
const repeats = { sqlite: 2_500, postgres: 1 } as const

export class WriteProbe {
  #result: Promise<void> | null = null
  #isFailing = false
  #validUntil = 0
  readonly #db: Db
  readonly #clock: Clock

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Rejects if the store takes no writes. */
  check(): Promise<void> {
    if (this.#result === null || this.#clock.elapsed() >= this.#validUntil) {
      this.#validUntil = Number.POSITIVE_INFINITY
      this.#result = this.#write()
    }
    return this.#result
  }

  /** A request has just failed at the store, so an earlier success means nothing. */
  doubt(): void {
    if (!this.#isFailing) this.#validUntil = 0
  }

  async #write(): Promise<void> {
    try {
      // Another text each time: SQLite does not write pages that stay the same.
      const filler = String(this.#clock.now()).repeat(repeats[this.#db.engine])
      await this.#db.run(
        `insert into write_probe (id, filler) values (1, $1)
         on conflict (id) do update set filler = excluded.filler`,
        [filler],
      )
      this.#isFailing = false
    } catch (error) {
      this.#isFailing = true
      throw error
    } finally {
      this.#validUntil = this.#clock.elapsed() + (this.#isFailing ? retryPauseMs : trustedMs)
    }
  }
}
