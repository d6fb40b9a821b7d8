import type { Person } from './store.ts'

export function canSignIn(person: Person, now: number): boolean {
  if (person.status === 'active') return true
  return person.status === 'pending' && person.confirm_before !== null && person.confirm_before > now
}
