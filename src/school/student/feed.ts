/**
 * A student's calendar feeds: URLs that calendar programs read without signing in. Anybody with such a URL can read it,
 * so the student makes and revokes each, it shows only classes, and the store keeps only a hash of its token. A feed
 * works while the student is active and ends when the student's address changes, because it may have been made by
 * whoever had the old address.
 */
import { createHash } from 'node:crypto'
import { AppError, invalidField } from '../../errors.ts'
import { parseName } from '../../identity/people/names.ts'
import { type PersonInSession, personLock } from '../../identity/people/people.ts'
import type { Context } from '../../platform/context.ts'
import { decision, type Outcome } from '../../platform/db/decision.ts'
import { hour } from '../../platform/lib/clock.ts'
import { isId, isToken, newId, newToken } from '../../platform/lib/random.ts'
import { feedsMax, placeForFeed } from './rules.ts'
import { addFeed, dropFeed, feedByToken, feedsOf, feedWasRead, readAddress, readFeeds } from './store.ts'
import { feedView, type Students } from './student.ts'

const plainName = 'Calendar'
const readNotedEveryMs = hour

interface Deps extends Pick<Context, 'db' | 'clock'> {
  readonly students: Students
}

export class CalendarFeeds {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** The token cannot be shown again. */
  async make(
    { id: personId, roster }: PersonInSession,
    givenName = plainName,
  ): Promise<{ feedId: string; name: string; token: string; createdAt: number }> {
    const { db, clock } = this.#deps
    const name = feedName(givenName)
    const [feedId, token, createdAt] = [newId(), newToken(), clock.now()]
    const feed = { id: feedId, personId, name, tokenHash: hash(token), createdAt }
    const asks = {
      // Feeds that are made at the same time count one another.
      person: personLock(personId),
      student: readAddress(personId, roster!),
      feeds: readFeeds(personId),
    }
    const place = await db.decide(
      decision(asks, ({ student, feeds }): Outcome<ReturnType<typeof placeForFeed>> => {
        const place = placeForFeed(student, feeds)
        return { writes: typeof place === 'string' ? [] : [addFeed(feed, place.addressKey)], result: place }
      }),
    )
    if (place === 'gone') throw new AppError('session-ended')
    if (place === 'full')
      throw new AppError('conflict', `There are already ${feedsMax} calendar feeds; delete one first.`)
    return { feedId, name, token, createdAt }
  }

  async list(personId: string) {
    return (await feedsOf(this.#deps.db, personId)).map(feedView)
  }

  async revoke(personId: string, feedId: string): Promise<void> {
    const isGone = isId(feedId) && (await dropFeed(this.#deps.db, personId, feedId))
    if (!isGone) throw new AppError('not-found')
  }

  async read(token: string): Promise<string> {
    const { db, clock, students } = this.#deps
    const feed = isToken(token) ? await feedByToken(db, hash(token)) : undefined
    const calendar = feed && (await students.calendar(feed.person_id))
    if (!calendar) throw new AppError('not-found')
    const now = clock.now()
    if (now - (feed.last_read_at ?? 0) >= readNotedEveryMs) await feedWasRead(db, feed.id, now)
    return calendar
  }
}

function feedName(text: string): string {
  const parsed = parseName(text)
  if (typeof parsed === 'string') throw invalidField({ pointer: '#/name', detail: parsed })
  return parsed.name
}

/** The token has 256 random bits, so a plain hash is enough. */
function hash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
