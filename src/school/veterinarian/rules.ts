/** What becomes of a registration, and what veterinarians and staff may change. */
import type { Person } from '../../identity/people/people.ts'
import type { Account, AddressHolder, Holder, Registration } from './store.ts'

/**
 * A registration opens a pending account, in place of one past its deadline, or gives its names and deadline to one that is
 * pending. Otherwise it has no effect: somebody has confirmed the address, or a newer registration came first.
 */
export function effectOf(
  { created_at }: Pick<Registration, 'created_at'>,
  holder: Holder | undefined,
): 'opens' | 'replaces' | 'renews' | 'none' {
  if (!holder) return 'opens'
  if (holder.status !== 'pending') return 'none'
  if (holder.confirm_before !== null && holder.confirm_before <= created_at) return 'replaces'
  return holder.updated_at <= created_at ? 'renews' : 'none'
}

export interface Names {
  readonly firstname?: string | undefined
  readonly lastname?: string | undefined
}

/** The new names, and whether they are others than those that staff verified; null if the account is not active. */
export function renamed(account: Account | undefined, names: Names) {
  if (account?.status !== 'active') return null
  const { firstname = account.firstname, lastname = account.lastname } = names
  const isOther = firstname !== account.firstname || lastname !== account.lastname
  return { firstname, lastname, losesVerification: isOther && account.verified_at !== null }
}

/** Staff verify the person whom they have seen, and may also dismiss a verification that was lost. */
export function canSetVerified(
  account: Account | undefined,
  seen: Pick<Person, 'firstname' | 'lastname' | 'email_key'>,
  verified: boolean,
): account is Account {
  if (!account || !canMove(account)) return false
  const { verified_at, unverified_at } = account
  const isAsked = verified ? verified_at === null : verified_at !== null || unverified_at !== null
  return (
    isAsked &&
    account.firstname === seen.firstname &&
    account.lastname === seen.lastname &&
    account.email_key === seen.email_key
  )
}

export const canSetHidden = (account: Account | undefined, hidden: boolean) =>
  account?.status === 'active' && (account.hidden_at !== null) !== hidden

export const canClose = (account: Account | undefined): account is Account =>
  account !== undefined && account.status !== 'closed'

/** The unconfirmed accounts that give way to a move; null if somebody has confirmed the address. */
export function givingWay(holders: readonly AddressHolder[], personId: string): AddressHolder[] | null {
  const others = holders.filter(({ id }) => id !== personId)
  return others.every(({ status }) => status === 'pending') ? others : null
}

/** Whether the account still is as the request found it. */
export const isUnchanged = (
  account: Person | undefined,
  before: Pick<Person, 'email_key'>,
): account is Person =>
  account !== undefined && account.status === 'active' && account.email_key === before.email_key

export const canMove = ({ status }: Person) => status === 'active' || status === 'suspended'
