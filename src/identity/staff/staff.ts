/**
 * Members of staff: people of the school who run it. They are added from the command line or by an admin, sign in like
 * everybody, and may do what their rights allow. Their work for others is in `operate/support` and `school/roster`.
 */

import { AppError, invalidField } from '../../errors.ts'
import type { Db, Statement } from '../../platform/db/db.ts'
import { decision, type Outcome } from '../../platform/db/decision.ts'
import type { Address } from '../../platform/lib/address.ts'
import type { By } from '../../platform/lib/by.ts'
import { type Clock, timestamp } from '../../platform/lib/clock.ts'
import { isId, newId } from '../../platform/lib/random.ts'
import { type Right, rights } from '../../roles.ts'
import { eraseConsents } from '../clients/clients.ts'
import { erasePasskeys } from '../passkeys/passkeys.ts'
import { type Facts, factsOf, type RoleRules } from '../people/people.ts'
import { eraseLinks } from '../school-account/school-account.ts'
import { endSessions } from '../session/session.ts'
import { memberAmong } from './rules.ts'
import * as store from './store.ts'

export interface StaffFields {
  readonly firstname: string
  readonly lastname: string
  readonly may: readonly Right[]
}

export class Staff implements RoleRules {
  readonly role = 'staff'
  readonly firstSignIn = null
  readonly #db: Db
  readonly #clock: Clock

  constructor({ db, clock }: { db: Db; clock: Clock }) {
    this.#db = db
    this.#clock = clock
  }

  findAccount(addressKey: string): Promise<store.StaffRow | undefined> {
    return store.staffByAddress(this.#db, addressKey)
  }

  isPresent(): boolean {
    return true
  }

  /** Sign-in and refresh read the account without its rights. */
  async profileOf(person: { id: string }) {
    const member = await store.staffById(this.#db, person.id)
    if (!member) throw new AppError('session-ended')
    return profileOf(member)
  }

  async factsOf({ id }: { id: string }): Promise<Facts> {
    const member = await store.staffById(this.#db, id)
    if (!member) throw new AppError('session-ended')
    return factsOf(member)
  }

  async list() {
    return (await store.allStaff(this.#db)).map(memberOf)
  }

  async find(addressOrId: string): Promise<store.StaffRow> {
    const member = isId(addressOrId)
      ? await store.staffById(this.#db, addressOrId)
      : await store.staffByAddress(this.#db, addressOrId.toLowerCase())
    if (!member) throw noMember()
    return member
  }

  async add(address: Address, fields: StaffFields, by: By) {
    const may = rightsOf(fields.may)
    const { firstname, lastname } = fields
    const { email, key: email_key } = address
    const member = { id: newId(), email, email_key, firstname, lastname, may, created_at: this.#clock.now() }
    const isAdded = await this.#db.decide(
      decision({ holder: store.lockStaffAt(email_key) }, ({ holder }) =>
        holder ? { result: false } : { writes: store.addStaff(member, by), result: true },
      ),
    )
    if (!isAdded) throw new AppError('conflict', 'A member of staff already has this address.')
    return memberOf(member)
  }

  async change(id: string, { may, ...names }: Partial<StaffFields>, by: By) {
    const given = { ...names, ...(may && { may: rightsOf(may) }) }
    const change = { now: this.#clock.now(), eventId: newId() }
    const member = await this.#decide(id, given.may, (before) =>
      store.changeStaff({ ...before, ...given }, change, by),
    )
    return memberOf({ ...member, ...given })
  }

  async remove(id: string, by: By): Promise<void> {
    const now = this.#clock.now()
    await this.#decide(id, null, (member) => [
      ...store.removeStaff(member.id, now, by),
      ...endSessions({ personId: member.id }, 'account', now, by),
      erasePasskeys(member.id),
      eraseConsents(member.id),
      eraseLinks(member.id),
    ])
  }

  /** Changes a member if they may have these rights, or none if null, and returns what they were before. */
  async #decide(
    addressOrId: string,
    may: string | null | undefined,
    writesFor: (member: store.StaffRow) => Statement[],
  ): Promise<store.StaffRow> {
    const { id } = await this.find(addressOrId)
    const found = await this.#db.decide(
      decision(
        { staff: store.lockStaff() },
        ({ staff }): Outcome<ReturnType<typeof memberAmong<store.StaffRow>>> => {
          const member = memberAmong(staff, id, may)
          return typeof member === 'string'
            ? { result: member }
            : { writes: writesFor(member), result: member }
        },
      ),
    )
    if (found === 'gone') throw noMember()
    if (found === 'last-admin')
      throw new AppError('conflict', 'This is the last admin; make somebody else an admin first.')
    return found
  }
}

const mayOf = (member: Pick<store.StaffRow, 'may'>) =>
  rights.filter((right) => member.may.split(',').includes(right))

export function profileOf(member: Pick<store.StaffRow, 'id' | 'firstname' | 'lastname' | 'email' | 'may'>) {
  const { id: userId, firstname, lastname, email } = member
  return { userId, firstname, lastname, email, may: mayOf(member) }
}

function memberOf(member: store.NewStaff) {
  return { ...profileOf(member), createdAt: timestamp(member.created_at) }
}

/** In a fixed order, without repetitions. */
function rightsOf(may: readonly string[]): string {
  const unknown = may.find((right) => !rights.some((known) => known === right))
  if (unknown !== undefined)
    throw invalidField({ pointer: '#/may', detail: `"${unknown}" is not one of ${rights.join(', ')}` })
  if (may.length === 0)
    throw invalidField({ pointer: '#/may', detail: `must include at least one of ${rights.join(', ')}` })
  return rights.filter((right) => may.includes(right)).join(',')
}

function noMember(): AppError {
  return new AppError('not-found', 'No member of staff has this address or id.')
}
