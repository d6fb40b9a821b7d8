/**
 * A student's card: a random id, shown as a QR code, that proves for a few minutes who is a student here. Whoever scans
 * it opens a page of the service that looks it up. The id says nothing about the student and opens nothing else. The
 * store keeps only its hash.
 */

import { createHash } from 'node:crypto'
import { type PersonInSession, personById } from '../../identity/people/people.ts'
import type { Context } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/db.ts'
import { day, minute } from '../../platform/lib/clock.ts'
import { isId, newId } from '../../platform/lib/random.ts'
import { addCard, type CardRow, cardByHash, pruneCards } from './store.ts'

const cardTtlMs = 5 * minute
/** An expired card is remembered for a while, so that it is not taken for a forgery. */
const rememberedMs = day

/** The result shown on the page behind a card. Facts are shown only while the card is valid. */
export type Verdict =
  | { readonly state: 'active' | 'inactive'; readonly facts: CardRow; readonly validUntil: number }
  | { readonly state: 'expired' | 'none' }

type Deps = Pick<Context, 'db' | 'clock' | 'publicUrl'>

export class Cards {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async make({ id, roster }: PersonInSession): Promise<{ card: string; url: string; expiresAt: number }> {
    const { db, clock, publicUrl } = this.#deps
    const card = newId()
    const expiresAt = clock.now() + cardTtlMs
    await db.tx(addCard({ cardHash: hash(card), personId: id, roster: roster!, expiresAt }))
    return { card, url: `${publicUrl}/c/${card}`, expiresAt }
  }

  async check(card: string): Promise<Verdict> {
    const { db, clock } = this.#deps
    const row = isId(card) ? await cardByHash(db, hash(card)) : undefined
    if (!row) return { state: 'none' }
    if (row.expires_at <= clock.now()) return { state: 'expired' }
    const person = await personById(db, row.person_id)
    return {
      state: person?.status === 'active' ? 'active' : 'inactive',
      facts: row,
      validUntil: row.expires_at,
    }
  }

  sweep(now: number): Statement[] {
    return [pruneCards(now - rememberedMs)]
  }
}

/** A card has 128 random bits, so a plain hash is enough. */
const hash = (card: string) => createHash('sha256').update(card).digest('base64url')
