/** What a veterinarian may change. */
import type { Person } from '../../identity/people/people.ts'
import type { AddressHolder } from './store.ts'

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
