/**
 * Veterinarians: they register, confirm with their first code, edit their profile and may close their account.
 *
 * A registration is only appended, without looking up the address, so every address gets the same work and the same
 * reply. `settle` applies it shortly after in the background; a lookup of the account applies it first.
 */

import { AppError } from '../../errors.ts'
import { applicationsOf, eraseConsents } from '../../identity/clients/clients.ts'
import {
  forgetNetworks,
  type Limits,
  networkPolicies,
  servicePolicies,
} from '../../identity/limits/limits.ts'
import { erasePasskeys, movePasskeys, passkeysOf } from '../../identity/passkeys/passkeys.ts'
import {
  type Action,
  type Facts,
  factsOf,
  type Person,
  type PersonInSession,
  personById,
  type RoleRules,
  readAccount,
} from '../../identity/people/people.ts'
import {
  endSessions,
  historyOf,
  isAlive,
  type LiveSession,
  lockSession,
} from '../../identity/session/session.ts'
import { forgetDeliveries } from '../../messages/delivery/delivery.ts'
import { eventHappened, noteOn } from '../../messages/events/events.ts'
import { forgetMail, tellOf } from '../../messages/mail/outbox.ts'
import type { Context } from '../../platform/context.ts'
import { inTurn, type Statement } from '../../platform/db/db.ts'
import { type Decision, decision } from '../../platform/db/decision.ts'
import { type Address, inboxOf } from '../../platform/lib/address.ts'
import type { Caller } from '../../platform/lib/bucket.ts'
import type { By } from '../../platform/lib/by.ts'
import { day, timestamp } from '../../platform/lib/clock.ts'
import type { Language } from '../../platform/lib/languages.ts'
import { isId, newId } from '../../platform/lib/random.ts'
import { fingerprint } from '../../platform/lib/secret.ts'
import { keepTeaching, type Students, unlinkTeachers, type When } from '../student/student.ts'
import {
  canClose,
  canMove,
  canSetHidden,
  canSetVerified,
  effectOf,
  givingWay,
  isUnchanged,
  type Names,
  renamed,
} from './rules.ts'
import * as store from './store.ts'

const confirmWithinMs = 7 * day
const settleBatch = 200

interface Deps extends Pick<Context, 'db' | 'clock' | 'secrets'> {
  readonly limits: Limits
  readonly students: Pick<Students, 'taughtBy'>
}

type Veterinarian = Person<'veterinarian'>

export class Veterinarians implements RoleRules {
  readonly role = 'veterinarian'
  readonly firstSignIn = 'veterinarian.activated'
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async register(
    address: Address,
    names: Pick<Person, 'firstname' | 'lastname'>,
    caller: Caller,
  ): Promise<{ confirmBefore: number }> {
    const { clock, limits } = this.#deps
    const now = clock.now()
    const registration: store.Registration = {
      id: newId(),
      email: address.email,
      email_key: address.key,
      ...names,
      created_at: now,
      confirm_before: now + confirmWithinMs,
      request_id: caller.requestId,
      network_fingerprint: caller.network.fingerprint,
    }
    const policies = { policy: networkPolicies.register, service: servicePolicies.register }
    const append = decision({}, () => ({ writes: [store.appendRegistration(registration)], result: null }))
    await limits.admit(policies, caller, now, append)
    return { confirmBefore: registration.confirm_before }
  }

  async findAccount(addressKey: string): Promise<Veterinarian | undefined> {
    const { db, clock } = this.#deps
    let { person, registered } = await store.accountAt(db, addressKey)
    if (registered) {
      await inTurn(db, (await store.registrationsOf(db, addressKey)).map(applying))
      person = (await store.accountAt(db, addressKey)).person
    }
    const lapsed = person?.status === 'pending' && person.confirm_before! <= clock.now()
    return lapsed ? undefined : person
  }

  async settle(): Promise<void> {
    const { db } = this.#deps
    for (const registration of await store.oldestRegistrations(db, settleBatch))
      await db.decide(applying(registration))
  }

  sweep(now: number): Statement[] {
    return store.lapse(now)
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
    const { db, clock } = this.#deps
    const now = clock.now()
    const eventId = newId()
    const changed = await db.decide(
      decision({ account: store.lockAccount(person.id) }, ({ account }) => {
        const change = renamed(account, names)
        if (!account || !change) return { result: null }
        const { losesVerification, ...chosen } = change
        const writes = [
          ...store.setNames(person.id, chosen, { by, now, eventId }),
          ...(losesVerification ? store.verificationLost(person.id, 'name', { by, now, eventId }) : []),
          ...leaveStrictClients(person.id, now, by),
        ]
        const verified_at = losesVerification ? null : account.verified_at
        const confirmed_at = account.confirmed_at ?? now
        return { writes, result: { ...chosen, updated_at: now, confirmed_at, verified_at } }
      }),
    )
    if (!changed) throw new AppError('session-ended')
    return { ...person, ...changed }
  }

  /** Cannot be undone. */
  async close({ id, email_key }: Veterinarian, by: By, note: string | null = null): Promise<void> {
    const { db, clock } = this.#deps
    const now = clock.now()
    const asks = { registrations: store.lockRegistrationsAt(email_key), account: store.lockAccount(id) }
    await db.decide(
      decision(asks, ({ account, registrations }) => {
        if (!canClose(account)) return { result: null }
        const writes = [
          ...registrations.map(store.dropRegistration),
          ...store.erase(id, now),
          unlinkTeachers(id),
          eventHappened('veterinarian.closed', by, { id: `closed.${id}`, at: now, personId: id }),
          ...noteOn(`closed.${id}`, id, note),
          ...endSessions({ personId: id }, 'account', now, by),
          erasePasskeys(id),
          eraseConsents(id),
          ...this.#forget(account),
        ]
        return { writes, result: null }
      }),
    )
  }

  /** What the service keeps by the address of an account, of which it has only fingerprints. */
  #forget({ id, email_key }: Veterinarian): Statement[] {
    const { secrets } = this.#deps
    const inboxes = secrets.all.map((keys) => fingerprint(keys, 'address', inboxOf(email_key)))
    return [
      ...inboxes.map(forgetNetworks),
      ...forgetMail(secrets, email_key),
      ...forgetDeliveries(secrets, id, email_key),
    ]
  }

  /** False if the account has changed since it was read. */
  setVerified(person: Veterinarian, verified: boolean, { by, now, note }: Action): Promise<boolean> {
    const { id } = person
    const eventId = newId()
    return this.#deps.db.decide(
      decision({ account: store.lockAccount(id) }, ({ account }) => {
        if (!canSetVerified(account, person, verified)) return { result: false }
        const writes = [
          ...store.setVerified(id, verified, { by, now, eventId }),
          ...noteOn(eventId, id, note),
          ...leaveStrictClients(id, now, by),
        ]
        return { writes, result: true }
      }),
    )
  }

  /** For somebody who lost a mailbox. Ends every session; both addresses are notified. */
  async changeAddress(person: Veterinarian, address: Address, action: Action): Promise<void> {
    const { db, secrets } = this.#deps
    const { id, email } = person
    const { by, now, note } = action
    const eventId = newId()
    const told = { role: this.role, now } as const
    const toFormer = tellOf(secrets, { ...told, kind: 'address-left', email })
    const toNew = tellOf(secrets, { ...told, kind: 'address-taken', email: address.email })
    const moved = await db.decide(
      decision(asksToMove(id, address), ({ registrations, holders, account }) => {
        const pending = givingWay(holders, id)
        if (!account || !pending || !canMove(account)) return { result: false }
        const writes = [
          ...registrations.map(store.dropRegistration),
          ...store.moveTo(account, address, pending, { by, now, eventId }),
          keepTeaching(person, now),
          // The mailbox may be somebody else's now, and so may what was added through it.
          erasePasskeys(id),
          ...endSessions({ personId: id }, 'account', now, by),
          ...noteOn(eventId, id, note),
          ...toFormer,
          ...toNew,
        ]
        return { writes, result: true }
      }),
    )
    if (!moved) throw new AppError('conflict', 'This address belongs to another veterinarian.')
  }

  /**
   * Moves the account to an address that its owner has proved. Every other session ends, and the old address is
   * notified. The result is null if it is no longer possible: somebody else has the address now, or this session or account
   * has ended.
   */
  move(
    caller: LiveSession<'veterinarian'>,
    address: Address,
    { by, language }: { by: By; language: Language },
  ): Decision<Veterinarian | null> {
    const { clock, secrets } = this.#deps
    const { id, email, email_key: from, session_id } = caller
    const now = clock.now()
    const eventId = newId()
    const told = { kind: 'address-moved', email, role: this.role, language, now } as const
    const notice = tellOf(secrets, told)
    return decision(
      { ...asksToMove(id, address), session: lockSession(session_id) },
      ({ registrations, holders, account, session }) => {
        const pending = givingWay(holders, id)
        if (!pending || !isUnchanged(account, caller) || !isAlive(session, now)) return { result: null }
        const writes = [
          ...registrations.map(store.dropRegistration),
          ...store.moveTo(account, address, pending, { by, now, eventId }),
          keepTeaching(caller, now),
          movePasskeys({ personId: id, from, to: address.key }),
          ...endSessions({ personId: id, except: session_id }, 'account', now, by),
          ...notice,
        ]
        const { email, key: email_key } = address
        return { writes, result: { ...caller, email, email_key, updated_at: now, verified_at: null } }
      },
    )
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
    return !(await store.isHidden(this.#deps.db, id))
  }

  async showPublicPage({ id }: Veterinarian, shown: boolean, by: By): Promise<void> {
    const { db, clock } = this.#deps
    const change = { by, now: clock.now(), eventId: newId() }
    await db.decide(
      decision({ account: store.lockAccount(id) }, ({ account }) => ({
        writes: canSetHidden(account, !shown) ? store.setHidden(id, !shown, change) : [],
        result: null,
      })),
    )
  }

  /** Only of active veterinarians who show it. */
  async publicProfile(userId: string): Promise<store.PublicProfile> {
    const profile = isId(userId) ? await store.publicProfile(this.#deps.db, userId) : undefined
    if (!profile) throw new AppError('not-found')
    return profile
  }
}

const asksToMove = (personId: string, { key }: Address) => ({
  registrations: store.lockRegistrationsAt(key),
  holders: store.lockHolders(personId, key),
  account: readAccount('veterinarian', personId),
})

/** Somebody else may have applied it, or may be applying another one of this address. */
function applying(registration: store.Registration): Decision<null> {
  const { id, email_key, created_at } = registration
  return decision(
    { left: store.lockRegistration(id), holder: store.lockHolder(email_key) },
    ({ left, holder }) => {
      if (!left) return { result: null }
      const effect = effectOf(registration, holder)
      const writes = [
        ...(effect === 'replaces' ? store.removePending(holder!.id, created_at) : []),
        ...(effect === 'opens' || effect === 'replaces' ? store.openPending(registration) : []),
        ...(effect === 'renews' ? [store.renewPending(holder!.id, registration)] : []),
        store.dropRegistration(left),
      ]
      return { writes, result: null }
    },
  )
}

/** Ends the sessions of somebody who is not verified at applications where they may no longer sign in. */
function leaveStrictClients(personId: string, now: number, by: By): Statement[] {
  return endSessions({ personId, atStrictClients: true }, 'account', now, by)
}
