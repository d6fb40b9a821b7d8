/**
 * Checks a comparison: errors in the resulting roster, and changes that somebody should confirm first. Errors that
 * follow from unreadable rows are counted, not listed.
 */
import { FatalFinding } from '../findings.ts'
import type { Case, Faults } from './case.ts'
import { checkNumbers } from './numbers.ts'
import { checkPeople } from './people.ts'
import { checkReferences } from './references.ts'

export { Faults } from './case.ts'
export type { Hold } from './hold.ts'
export { deltaDoubt, findHolds, lossHolds } from './holds.ts'
export { bouncedFindings } from './people.ts'

/** Collects findings and the bad rows. */
export function findFaults(roster: Case, found: Faults): void {
  try {
    checkReferences(roster, found)
    checkPeople(roster, found)
    checkNumbers(roster, found)
  } catch (error) {
    if (!(error instanceof FatalFinding)) throw error
    found.log.end(error)
  }
}
