/**
 * A student's card: a signed token, shown as a picture to scan, that proves for a few minutes who is a student here.
 * Whoever scans it opens a page of the service that checks it. The card has a type and an audience of its own, so it
 * is never accepted as an access token; and the page reads the current roster, so a card shows nothing outdated.
 */

import { type PersonInSession, personById } from '../../identity/people/people.ts'
import { readToken, type SigningKeys, signToken } from '../../identity/session/session.ts'
import type { Db } from '../../platform/db/db.ts'
import { type Clock, minute } from '../../platform/lib/clock.ts'
import type { Students } from './student.ts'

const cardTtlMs = 5 * minute

export interface CardFacts {
  readonly name: string
  readonly number: string | null
  readonly school: string | null
  readonly year: number | null
}

/** The result shown on the page behind a card. Facts are shown only while the card is valid. */
export type Verdict =
  | { readonly state: 'active' | 'inactive'; readonly facts: CardFacts; readonly validUntil: number }
  | { readonly state: 'expired' | 'none' }

export interface CardsDeps {
  readonly db: Db
  readonly clock: Clock
  readonly students: Students
  readonly keys: SigningKeys
  readonly publicUrl: string
}

export class Cards {
  readonly #deps: CardsDeps

  constructor(deps: CardsDeps) {
    this.#deps = deps
  }

  async make(student: PersonInSession): Promise<{ card: string; url: string; expiresAt: number }> {
    const { clock, students, keys, publicUrl } = this.#deps
    const profile = await students.profileOf(student)
    const facts: CardFacts = {
      name: `${profile.firstname} ${profile.lastname}`,
      number: profile.studentNumber,
      school: profile.school?.name ?? null,
      year: profile.year,
    }
    // Tokens count in seconds.
    const now = Math.floor(clock.now() / 1000) * 1000
    const times = { now, ttlMs: cardTtlMs }
    const card = signToken(await keys.signer(), this.#kind, { sub: student.id, ...facts }, times)
    return { card, url: `${publicUrl}/c/${card}`, expiresAt: now + cardTtlMs }
  }

  async check(card: string): Promise<Verdict> {
    const { db, clock, keys } = this.#deps
    const read = await readToken(card, this.#kind, clock.now(), (kid) => keys.verifier(kid))
    if (!read) return { state: 'none' }
    if (read.expired) return { state: 'expired' }
    const { sub, exp, name, number, school, year } = read.claims as typeof read.claims & CardFacts
    const person = await personById(db, sub)
    return {
      state: person?.status === 'active' ? 'active' : 'inactive',
      facts: { name, number, school, year },
      validUntil: exp * 1000,
    }
  }

  get #kind() {
    const { publicUrl } = this.#deps
    return { type: 'chiron-card+jwt', issuer: publicUrl, audience: `${publicUrl}/c` }
  }
}
