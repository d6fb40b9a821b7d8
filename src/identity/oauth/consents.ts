/** The clients that somebody has allowed to sign them in, and how they take that back. */
import { AppError } from '../../errors.ts'
import type { Db } from '../../platform/db/db.ts'
import { decision } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Clock } from '../../platform/lib/clock.ts'
import { newId } from '../../platform/lib/random.ts'
import { applicationsOf } from '../clients/clients.ts'
import { personLock } from '../people/people.ts'
import { endSessions } from '../session/session.ts'
import { forgetCodes, readConsent, withdrawConsent } from './authorize-store.ts'

export class Consents {
  readonly #deps: { readonly db: Db; readonly clock: Clock }

  constructor(deps: { db: Db; clock: Clock }) {
    this.#deps = deps
  }

  list(personId: string) {
    return applicationsOf(this.#deps.db, personId)
  }

  /** Ends the person's sessions at that client, too. */
  async withdraw(personId: string, clientId: string, by: By): Promise<void> {
    const { db, clock } = this.#deps
    const withdrawal = { personId, clientId, eventId: newId(), now: clock.now() }
    const asks = { person: personLock(personId), consent: readConsent(personId, clientId) }
    const withdrawn = await db.decide(
      decision(asks, ({ consent }) => {
        if (!consent) return { result: false }
        const ended = endSessions({ personId, clientId }, 'revoked', withdrawal.now, by)
        return {
          writes: [forgetCodes(withdrawal), ...ended, ...withdrawConsent(withdrawal, by)],
          result: true,
        }
      }),
    )
    if (!withdrawn) throw new AppError('not-found', 'You have not allowed this application.')
  }
}
