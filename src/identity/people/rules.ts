import type { Status } from './statuses.ts'
import type { Person } from './store.ts'

export function canSignIn(person: Person, now: number): boolean {
  if (person.status === 'active') return true
  return person.status === 'pending' && person.confirm_before !== null && person.confirm_before > now
}

/** Whoever is active can be suspended, and only they. */
export const canBecome = (status: Status, to: 'active' | 'suspended') =>
  status === (to === 'suspended' ? 'active' : 'suspended')
