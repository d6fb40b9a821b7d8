/** The clients that somebody has allowed to sign them in, and how they take that back. */
import { AppError } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import { decision } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { newId } from '../../platform/lib/random.ts'
import { applicationsOf } from '../clients/clients.ts'
import { personLock } from '../people/people.ts'
import { endSessions } from '../session/session.ts'
import { forgetCodes, readConsent, withdrawConsent } from './authorize-store.ts'

export class Consents {
  readonly #deps: Pick<Context, 'db' | 'clock'>

  constructor(deps: Pick<Context, 'db' | 'clock'>) {
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
        const writes = [forgetCodes(withdrawal), ...ended, ...withdrawConsent(withdrawal, by)]
        return { writes, result: true }
      }),
    )
    if (!withdrawn) throw new AppError('not-found', 'You have not allowed this application.')
  }
}
