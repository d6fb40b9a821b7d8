/**
 * Members of staff: people of the school who run it. They are added from the command line or by an admin, sign in like
 * everybody, and may do what their rights allow. Their work for others is in `operate/support` and `school/roster`.
 */

import { AppError, invalidField } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/db.ts'
import { decision, type Outcome } from '../../platform/db/decision.ts'
import type { Address } from '../../platform/lib/address.ts'
import type { By } from '../../platform/lib/by.ts'
import { timestamp } from '../../platform/lib/clock.ts'
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
  readonly #deps: Pick<Context, 'db' | 'clock'>

  constructor(deps: Pick<Context, 'db' | 'clock'>) {
    this.#deps = deps
  }

  findAccount(addressKey: string): Promise<store.StaffRow | undefined> {
    return store.staffByAddress(this.#deps.db, addressKey)
  }

  isPresent(): boolean {
    return true
  }

  /** Sign-in and refresh read the account without its rights. */
  async profileOf(person: { id: string }) {
    return profileOf(await this.#member(person))
  }

  async factsOf(person: { id: string }): Promise<Facts> {
    return factsOf(await this.#member(person))
  }

  async #member({ id }: { id: string }): Promise<store.StaffRow> {
    const member = await store.staffById(this.#deps.db, id)
    if (!member) throw new AppError('session-ended')
    return member
  }

  async list() {
    return (await store.allStaff(this.#deps.db)).map(memberOf)
  }

  async find(addressOrId: string): Promise<store.StaffRow> {
    const member = isId(addressOrId)
      ? await store.staffById(this.#deps.db, addressOrId)
      : await store.staffByAddress(this.#deps.db, addressOrId.toLowerCase())
    if (!member) throw noMember()
    return member
  }

  async add(address: Address, fields: StaffFields, by: By) {
    const may = rightsOf(fields.may)
    const { firstname, lastname } = fields
    const { email, key: email_key } = address
    const member = {
      id: newId(),
      email,
      email_key,
      firstname,
      lastname,
      may,
      created_at: this.#deps.clock.now(),
    }
    const isAdded = await this.#deps.db.decide(
      decision({ holder: store.lockStaffAt(email_key) }, ({ holder }) =>
        holder ? { result: false } : { writes: store.addStaff(member, by), result: true },
      ),
    )
    if (!isAdded) throw new AppError('conflict', 'A member of staff already has this address.')
    return memberOf(member)
  }

  async change(id: string, { may, ...names }: Partial<StaffFields>, by: By) {
    const given = { ...names, ...(may && { may: rightsOf(may) }) }
    const change = { now: this.#deps.clock.now(), eventId: newId() }
    const member = await this.#decide(id, given.may, (before) =>
      store.changeStaff({ ...before, ...given }, change, by),
    )
    return memberOf({ ...member, ...given })
  }

  async remove(id: string, by: By): Promise<void> {
    const now = this.#deps.clock.now()
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
    const found = await this.#deps.db.decide(
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

const memberOf = (member: store.NewStaff) => ({
  ...profileOf(member),
  createdAt: timestamp(member.created_at),
})

/** In a fixed order, without repetitions. */
function rightsOf(may: readonly string[]): string {
  const wrong = (detail: string) =>
    invalidField({ pointer: '#/may', detail: `${detail} ${rights.join(', ')}` })
  const unknown = may.find((right) => !rights.some((known) => known === right))
  if (unknown !== undefined) throw wrong(`"${unknown}" is not one of`)
  if (may.length === 0) throw wrong('must include at least one of')
  return rights.filter((right) => may.includes(right)).join(',')
}

const noMember = () => new AppError('not-found', 'No member of staff has this address or id.')
