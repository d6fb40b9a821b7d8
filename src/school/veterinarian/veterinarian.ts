/**
 * Veterinarians: they register, confirm with their first code, edit their profile and may close their account.
 *
 * A registration is only appended, without looking up the address, so every address gets the same work and the same
 * reply. `settle` applies it shortly after in the background; a lookup of the account applies it first.
 */

import { AppError } from '../../errors.ts'
import { applicationsOf, eraseConsents } from '../../identity/clients/clients.ts'
import { bucketPolicies, forgetNetworks, type Limits, serviceBuckets } from '../../identity/limits/limits.ts'
import { erasePasskeys, movePasskeys, passkeysOf } from '../../identity/passkeys/passkeys.ts'
import {
  type Action,
  type Facts,
  factsOf,
  lockPerson,
  type Person,
  type PersonInSession,
  personById,
  type RoleRules,
} from '../../identity/people/people.ts'
import {
  atStrictClients,
  endSessions,
  historyOf,
  isOpen,
  type LiveSession,
  ofUnverified,
} from '../../identity/session/session.ts'
import type { ProvenAddress } from '../../identity/sign-in/sign-in.ts'
import { forgetDeliveries } from '../../messages/delivery/delivery.ts'
import { eventHappened, happened, noteOn } from '../../messages/events/events.ts'
import { forgetMail, type ToldKind, tellOf } from '../../messages/mail/outbox.ts'
import { both, type Db, isTaken, isTrue, type Statement } from '../../platform/db/db.ts'
import { type Address, inboxOf } from '../../platform/lib/address.ts'
import type { Caller } from '../../platform/lib/bucket.ts'
import type { By } from '../../platform/lib/by.ts'
import { type Clock, day, timestamp } from '../../platform/lib/clock.ts'
import type { Language } from '../../platform/lib/languages.ts'
import { isId, newId } from '../../platform/lib/random.ts'
import { fingerprint, type Secrets } from '../../platform/lib/secret.ts'
import { keepTeaching, type Students, unlinkTeachers, type When } from '../student/student.ts'
import {
  accountAt,
  appendRegistration,
  applyRegistration,
  erase,
  isHidden,
  lapse,
  mayMove,
  oldestRegistrations,
  type PublicProfile,
  publicProfile,
  type Registration,
  registrationsOf,
  rename,
  setAddress,
  setHidden,
  setVerified,
} from './store.ts'

const confirmWithinMs = 7 * day
const settleBatch = 200

export interface VeterinarianDeps {
  readonly db: Db
  readonly clock: Clock
  readonly secrets: Secrets
  readonly limits: Limits
  readonly students: Pick<Students, 'taughtBy'>
}

type Veterinarian = Person<'veterinarian'>

export interface Names {
  readonly firstname?: string
  readonly lastname?: string
}

export class Veterinarians implements RoleRules {
  readonly role = 'veterinarian'
  readonly firstSignIn = 'veterinarian.activated'
  readonly #deps: VeterinarianDeps

  constructor(deps: VeterinarianDeps) {
    this.#deps = deps
  }

  async register(
    address: Address,
    names: Required<Names>,
    caller: Caller,
  ): Promise<{ confirmBefore: number }> {
    const { db, clock, limits } = this.#deps
    const now = clock.now()
    const registration: Registration = {
      id: newId(),
      email: address.email,
      email_key: address.key,
      ...names,
      created_at: now,
      confirm_before: now + confirmWithinMs,
      request_id: caller.requestId,
      network_fingerprint: caller.network.fingerprint,
    }
    const [policy, overall] = [bucketPolicies.register, serviceBuckets.register]
    const take = limits.takeBucket(policy, caller.network, registration.id, now, overall)
    const results = await db.tx([...take.statements, appendRegistration(registration, take.granted)])
    await limits.noteBucket(take, caller, results, now)
    return { confirmBefore: registration.confirm_before }
  }

  async findAccount(addressKey: string): Promise<Veterinarian | undefined> {
    const { db, clock } = this.#deps
    let { person, registered } = await accountAt(db, addressKey)
    if (registered) {
      for (const registration of await registrationsOf(db, addressKey))
        await db.tx(applyRegistration(registration))
      person = (await accountAt(db, addressKey)).person
    }
    const lapsed = person?.status === 'pending' && person.confirm_before! <= clock.now()
    return lapsed ? undefined : person
  }

  async settle(): Promise<void> {
    const { db } = this.#deps
    for (const registration of await oldestRegistrations(db, settleBatch))
      await db.tx(applyRegistration(registration))
  }

  sweep(now: number): Statement[] {
    return lapse(now, null)
  }

  isPresent(): boolean {
    return true
  }

  profileOf(person: Veterinarian) {
    return {
      userId: person.id,
      firstname: person.firstname,
      lastname: person.lastname,
      email: person.email,
      status: person.status,
      confirmed: person.confirmed_at !== null,
      verified: person.verified_at !== null,
      createdAt: timestamp(person.created_at),
      updatedAt: timestamp(person.updated_at),
    }
  }

  async factsOf({ id }: PersonInSession): Promise<Facts> {
    const person = await personById(this.#deps.db, id)
    if (!person) throw new AppError('session-ended')
    return factsOf(person)
  }

  /** Setting the names also confirms them, even if they are the same. Different names clear the verification. */
  async rename(person: Veterinarian, names: Names, by: By): Promise<Veterinarian> {
    const { firstname = person.firstname, lastname = person.lastname } = names
    const isSame = firstname === person.firstname && lastname === person.lastname
    if (isSame && person.confirmed_at !== null) return person
    const now = this.#deps.clock.now()
    const eventId = newId()
    const changes = rename(person.id, names, now, eventId, by)
    const results = await this.#deps.db.tx([...changes, ...leaveStrictClients(person.id, now, by)])
    const row = results[changes.length - 2]![0] as
      | Pick<Person, 'firstname' | 'lastname' | 'updated_at' | 'confirmed_at' | 'verified_at'>
      | undefined
    if (!row) throw new AppError('session-ended')
    return { ...person, ...row }
  }

  /** Cannot be undone. */
  async close({ id, email_key }: Veterinarian, by: By, note: string | null = null): Promise<void> {
    const { db, clock, secrets } = this.#deps
    const now = clock.now()
    const inboxes = secrets.all.map((keys) => fingerprint(keys, 'address', inboxOf(email_key)))
    await db.tx([
      ...erase(id, email_key, now),
      unlinkTeachers(id),
      eventHappened('veterinarian.closed', by, { id: `closed.${id}`, at: now, personId: id }),
      ...noteOn(`closed.${id}`, id, note),
      ...endSessions({ personId: id }, 'account', now, by),
      erasePasskeys(id),
      eraseConsents(id),
      ...inboxes.map(forgetNetworks),
      ...forgetMail(secrets, email_key),
      ...forgetDeliveries(secrets, id, email_key),
    ])
  }

  /** False if the account has changed since it was read. */
  async setVerified(person: Veterinarian, verified: boolean, action: Action): Promise<boolean> {
    const eventId = newId()
    const [, , changed] = await this.#deps.db.tx([
      ...setVerified(person, verified, eventId, action),
      ...noteOn(eventId, person.id, action.note),
      ...leaveStrictClients(person.id, action.now, action.by),
    ])
    return changed!.length > 0
  }

  /** For somebody who lost a mailbox. Ends every session; both addresses are notified. */
  async changeAddress(person: Veterinarian, address: Address, action: Action): Promise<void> {
    const { db, secrets } = this.#deps
    const { id, email } = person
    const { by, now } = action
    const eventId = newId()
    const tell = (kind: ToldKind, to: string) =>
      tellOf(secrets, { kind, email: to, role: this.role, now }, happened(eventId))
    const done = db.tx([
      lockPerson(id),
      ...setAddress(person, address, eventId, action),
      keepTeaching(person, now, happened(eventId)),
      // The mailbox may be somebody else's now, and so may what was added through it.
      erasePasskeys(id, happened(eventId)),
      ...endSessions({ personId: id, when: happened(eventId) }, 'account', now, by),
      ...noteOn(eventId, id, action.note),
      ...tell('address-left', email),
      ...tell('address-taken', address.email),
    ])
    if ((await done.then(() => false, lostTheRace)) || !(await isTrue(db, happened(eventId))))
      throw new AppError('conflict', 'This address belongs to another veterinarian.')
  }

  /**
   * Moves the account to an address that its owner has proved. Every other session ends, and the old address is
   * notified. Undefined if it is no longer possible: somebody else has the address now, or this session or account has
   * ended.
   */
  async move(
    caller: LiveSession<'veterinarian'>,
    { address, claim, claimed }: ProvenAddress,
    { by, language }: { by: By; language: Language },
  ): Promise<Veterinarian | undefined> {
    const { db, clock, secrets } = this.#deps
    const { id, email, session_id } = caller
    const now = clock.now()
    const eventId = newId()
    const told = { kind: 'address-moved', email, role: this.role, language, now } as const
    const done = db.tx([
      lockPerson(id),
      ...claim(both(mayMove(caller, address.key), isOpen(session_id))),
      ...setAddress(caller, address, eventId, { by, note: null, now }, claimed),
      keepTeaching(caller, now, happened(eventId)),
      movePasskeys({ personId: id, from: caller.email_key, to: address.key }, happened(eventId)),
      ...endSessions({ personId: id, except: session_id, when: happened(eventId) }, 'account', now, by),
      ...tellOf(secrets, told, happened(eventId)),
    ])
    if (await done.then(() => false, lostTheRace)) return undefined
    if (!(await isTrue(db, happened(eventId)))) return undefined
    return { ...caller, email: address.email, email_key: address.key, updated_at: now, verified_at: null }
  }

  /** The veterinarian's classes according to the roster. */
  classes(person: Veterinarian, when: When) {
    return this.#deps.students.taughtBy(person, when)
  }

  /** Without the students in the classes: it is about the veterinarian, not about them. */
  async export(person: Veterinarian) {
    const { db, clock } = this.#deps
    const [history, classes, passkeys, applications] = await Promise.all([
      historyOf(db, person.id),
      this.classes(person, 'all'),
      passkeysOf(db, person.id),
      applicationsOf(db, person.id),
    ])
    return {
      exportedAt: timestamp(clock.now()),
      profile: this.profileOf(person),
      classes: classes.map(({ students: _, ...entry }) => entry),
      passkeys,
      applications,
      ...history,
    }
  }

  async showsPublicPage({ id }: Veterinarian): Promise<boolean> {
    return !(await isHidden(this.#deps.db, id))
  }

  async showPublicPage({ id }: Veterinarian, shown: boolean, by: By): Promise<void> {
    const { db, clock } = this.#deps
    await db.tx(setHidden(id, !shown, clock.now(), newId(), by))
  }

  /** Only of active veterinarians who show it. */
  async publicProfile(userId: string): Promise<PublicProfile> {
    const profile = isId(userId) ? await publicProfile(this.#deps.db, userId) : undefined
    if (!profile) throw new AppError('not-found')
    return profile
  }
}

/** Ends the sessions of somebody who is not verified at applications where they may no longer sign in. */
function leaveStrictClients(personId: string, now: number, by: By): Statement[] {
  return endSessions({ personId, when: both(ofUnverified, atStrictClients) }, 'account', now, by)
}

/** Whether somebody else got the address at the same moment. */
function lostTheRace(error: unknown): true {
  if (isTaken(error)) return true
  throw error
}
