/** The clients that somebody has allowed to sign them in, and how they take that back. */
import { AppError } from '../../errors.ts'
import { happened } from '../../messages/events/events.ts'
import { both, type Condition, type Db } from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Clock } from '../../platform/lib/clock.ts'
import { newId } from '../../platform/lib/random.ts'
import { applicationsOf } from '../clients/clients.ts'
import { endSessions } from '../session/session.ts'
import { withdrawConsent } from './authorize-store.ts'

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
    const now = clock.now()
    const eventId = newId()
    const when = both(atClient(clientId), happened(eventId))
    const [, withdrawn] = await db.tx([
      ...withdrawConsent({ personId, clientId, eventId, now }, by),
      ...endSessions({ personId, when }, 'revoked', now, by),
    ])
    if (withdrawn!.length === 0) throw new AppError('not-found', 'You have not allowed this application.')
  }
}

const atClient = (clientId: string): Condition => ({ sql: (n) => `client_id = $${n}`, params: [clientId] })
