/** The clients that somebody has allowed to sign them in, and how they take that back. */
import { AppError } from '../../errors.ts'
import { happened } from '../../messages/events/events.ts'
import { both, type Condition, type Db } from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import { type Clock, timestamp } from '../../platform/lib/clock.ts'
import { newId } from '../../platform/lib/random.ts'
import { endSessions } from '../session/session.ts'
import { consentsOf, withdrawConsent } from './authorize-store.ts'

export class Consents {
  readonly #deps: { readonly db: Db; readonly clock: Clock }

  constructor(deps: { db: Db; clock: Clock }) {
    this.#deps = deps
  }

  async list(personId: string) {
    return (await consentsOf(this.#deps.db, personId)).map(({ client_id, name, scope, given_at }) => ({
      clientId: client_id,
      name,
      scopes: scope.split(' '),
      givenAt: timestamp(given_at),
    }))
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
    if (withdrawn!.length === 0) throw new AppError('not-found', 'There is no such consent.')
  }
}

const atClient = (clientId: string): Condition => ({ sql: (n) => `client_id = $${n}`, params: [clientId] })
