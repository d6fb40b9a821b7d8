/**
 * Refused sign-ins with school accounts. Each gets an event, and a reference that its page shows. The number and address that
 * the provider claimed are kept beside the event for the help desk, as long as delivery records are.
 *
 * Anybody can begin a sign-in and come back with nothing, or with an account of somebody else's organisation, so those
 * refusals share a budget. The people of the school's own provider have a larger one. Beyond them, refusals are only counted.
 */
import { eventHappened } from '../../messages/events/events.ts'
import type { Context } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/db.ts'
import type { Caller } from '../../platform/lib/bucket.ts'
import { bySelf } from '../../platform/lib/by.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import { newId, newReference } from '../../platform/lib/random.ts'
import { type Limits, servicePolicies } from '../limits/limits.ts'
import { type Claimed, Refused } from './claims.ts'
import type { InProgress } from './in-progress.ts'
import { insertRefusal, pruneRefusals, type RefusalRow, refusalsFor } from './refusals-store.ts'

interface Deps extends Pick<Context, 'db' | 'clock'> {
  readonly limits: Limits
  readonly keepMs: number
}

/** Refused although the account is known here. */
export class RefusedPerson extends Refused {
  readonly personId: string

  constructor(reason: Refused['reason'], personId: string) {
    super(reason)
    this.personId = personId
  }
}

/** Microsoft and Google sign anybody in. */
const ofOthers: readonly Refused['reason'][] = ['tenant', 'hosted-domain']

export class Refusals {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Returns the reference; null if it is not recorded. `claimed` is null if the provider has named nobody. */
  async record(
    refused: Refused,
    { providerId, role, linkFor }: InProgress,
    claimed: Claimed | null,
    caller: Caller,
  ): Promise<string | null> {
    const { db, clock, limits } = this.#deps
    const now = clock.now()
    const isStranger = claimed === null || ofOthers.includes(refused.reason)
    const budget = isStranger ? servicePolicies.schoolRefusals : servicePolicies.namedSchoolRefusals
    if (!(await limits.takeOfService(budget, now))) return null
    const personId = refused instanceof RefusedPerson ? refused.personId : linkFor?.personId
    const event_id = newId()
    const reference = [newReference(), newReference(), newReference()].join('-')
    const data = { reason: refused.reason, reference, providerId, role }
    const { number: student_number = '', address: email = '' } = claimed ?? {}
    await db.tx([
      eventHappened('school.refused', bySelf(caller), { id: event_id, at: now, personId, data }),
      insertRefusal({ reference, event_id, at: now, provider_id: providerId, student_number, email }),
    ])
    return reference
  }

  /** The newest first. `words`: a reference, a number or an address. */
  async find(words: string, limit: number) {
    return (await refusalsFor(this.#deps.db, words.trim(), limit)).map(viewOf)
  }

  sweep(now: number): Statement[] {
    return [pruneRefusals(now - this.#deps.keepMs)]
  }
}

function viewOf({ reference, at, data, person_id, provider_name, student_number, email }: RefusalRow) {
  const { reason, role } = JSON.parse(data)
  return {
    reference,
    at: timestamp(at),
    reason,
    role,
    provider: provider_name,
    userId: person_id,
    number: student_number || null,
    address: email || null,
  }
}
