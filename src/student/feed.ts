/**
 * A student's calendar feed: a URL that a calendar program reads without signing in. Anybody with the URL can read it,
 * so the student creates and revokes it, it shows only classes, and the store keeps only a hash of its token. It works
 * while the student is active and ends when the student's address changes, because the feed may have been created by
 * whoever had the old address.
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

  /** Replaces any earlier feed. The token cannot be shown again. */
  async make({ id, roster }: Member): Promise<{ token: string; createdAt: number }> {
    const token = newToken()
    const createdAt = this.#deps.clock.now()
    const feed = { personId: id, roster: roster!, tokenHash: hash(token), createdAt }
    const [made] = await putFeed(this.#deps.db, feed)
    if (!made) throw new AppError('session-ended')
    return { token, createdAt }
  }

  async madeAt(personId: string): Promise<number | undefined> {
    return (await feedOf(this.#deps.db, personId))?.created_at
  }

  async revoke(personId: string): Promise<void> {
    await dropFeed(this.#deps.db, personId)
  }

  async read(token: string): Promise<string> {
    const { db, students } = this.#deps
    const owner = isToken(token) ? await ownerOfFeed(db, hash(token)) : undefined
    const calendar = owner && (await students.calendar(owner.person_id))
    if (!calendar) throw new AppError('not-found')
    return calendar
  }
}

/** The token has 256 random bits, so a plain hash is enough. */
function hash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
