/**
 * A student's calendar feed: an address that a calendar program reads without signing in. Whoever has the address can
 * read it, so the student makes it and takes it back, it shows classes and nothing else, the store has a hash of its
 * token, it works while the student is active and no longer, and it ends when the student's address changes: whoever
 * made it may have been reached by the old one.
 */
import { createHash } from 'node:crypto'
import type { Db } from '../db/db.ts'
import { AppError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { isToken, newToken } from '../lib/random.ts'
import type { Member } from '../people/people.ts'
import { dropFeed, feedOf, ownerOfFeed, putFeed } from './store.ts'
import type { Students } from './student.ts'

export interface CalendarFeedsDeps {
  readonly db: Db
  readonly clock: Clock
  readonly students: Students
}

export class CalendarFeeds {
  readonly #deps: CalendarFeedsDeps

  constructor(deps: CalendarFeedsDeps) {
    this.#deps = deps
  }

  /** A new one; the one before stops working. Its token is known now and never again. */
  async make({ id, roster }: Member): Promise<{ token: string; createdAt: number }> {
    const token = newToken()
    const createdAt = this.#deps.clock.now()
    const feed = { personId: id, roster: roster!, tokenHash: hash(token), createdAt }
    const [made] = await putFeed(this.#deps.db, feed)
    if (!made) throw new AppError('session-ended')
    return { token, createdAt }
  }

  /** Since when there is one. */
  async madeAt(personId: string): Promise<number | undefined> {
    return (await feedOf(this.#deps.db, personId))?.created_at
  }

  async revoke(personId: string): Promise<void> {
    await dropFeed(this.#deps.db, personId)
  }

  /** What the address gives. */
  async read(token: string): Promise<string> {
    const { db, students } = this.#deps
    const owner = isToken(token) ? await ownerOfFeed(db, hash(token)) : undefined
    const calendar = owner && (await students.calendar(owner.person_id))
    if (!calendar) throw new AppError('not-found')
    return calendar
  }
}

/** Of 256 random bits, so that a plain hash cannot be turned round. */
function hash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
