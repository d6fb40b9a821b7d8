/**
 * Members of staff: people of the school who run it. They are added from the command line or by an admin, sign in like
 * everybody, and may do what their rights allow. Their work for others is in `operate/support` and `school/roster`.
 */

import { AppError, invalidField } from '../../errors.ts'
import { happened } from '../../messages/events/events.ts'
import type { Db } from '../../platform/db/db.ts'
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
import {
  addStaff,
  allStaff,
  changeStaff,
  removeStaff,
  type StaffRow,
  staffByAddress,
  staffById,
} from './store.ts'

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

  findAccount(addressKey: string): Promise<StaffRow | undefined> {
    return staffByAddress(this.#db, addressKey)
  }

  isPresent(): boolean {
    return true
  }

  /** Sign-in and refresh read the account without its rights. */
  async profileOf(person: { id: string }) {
    const member = await staffById(this.#db, person.id)
    if (!member) throw new AppError('session-ended')
    return profileOf(member)
  }

  async factsOf({ id }: { id: string }): Promise<Facts> {
    const member = await staffById(this.#db, id)
    if (!member) throw new AppError('session-ended')
    return factsOf(member)
  }

  async list() {
    return (await allStaff(this.#db)).map(memberOf)
  }

  async find(addressOrId: string): Promise<StaffRow> {
    const member = isId(addressOrId)
      ? await staffById(this.#db, addressOrId)
      : await staffByAddress(this.#db, addressOrId.toLowerCase())
    if (!member) throw new AppError('not-found', 'No member of staff has this address or id.')
    return member
  }

  async add(address: Address, fields: StaffFields, by: By) {
    const may = rightsOf(fields.may)
    const member = {
      id: newId(),
      email: address.email,
      email_key: address.key,
      firstname: fields.firstname,
      lastname: fields.lastname,
      may,
      now: this.#clock.now(),
    }
    const [added] = await this.#db.tx(addStaff(member, by))
    if (added!.length === 0) throw new AppError('conflict', 'A member of staff already has this address.')
    return memberOf(await this.find(member.id))
  }

  async change(id: string, fields: Partial<StaffFields>, by: By) {
    const member = await this.find(id)
    const { firstname = member.firstname, lastname = member.lastname } = fields
    const may = fields.may ? rightsOf(fields.may) : member.may
    const now = this.#clock.now()
    const change = { id: member.id, firstname, lastname, may, now, eventId: newId() }
    const [, changed] = await this.#db.tx(changeStaff(change, by))
    if (changed!.length === 0) throw lastAdmin()
    return memberOf(await this.find(id))
  }

  async remove(id: string, by: By): Promise<void> {
    const member = await this.find(id)
    const now = this.#clock.now()
    const [, removed] = await this.#db.tx([
      ...removeStaff(member.id, now, by),
      ...endSessions({ personId: member.id, when: happened(`removed.${member.id}`) }, 'account', now, by),
      erasePasskeys(member.id, happened(`removed.${member.id}`)),
      eraseConsents(member.id, happened(`removed.${member.id}`)),
      eraseLinks(member.id, happened(`removed.${member.id}`)),
    ])
    if (removed!.length === 0) throw lastAdmin()
  }
}

const mayOf = (member: StaffRow) => rights.filter((right) => member.may.split(',').includes(right))

export function profileOf(member: StaffRow) {
  const { id: userId, firstname, lastname, email } = member
  return { userId, firstname, lastname, email, may: mayOf(member) }
}

function memberOf(member: StaffRow) {
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

function lastAdmin(): AppError {
  return new AppError('conflict', 'This is the last admin; make somebody else an admin first.')
}
