/**
 * Judges a comparison: what is wrong with the roster that it would make, and what somebody should confirm first. Errors
 * that follow from rows that could not be read are counted, not listed. Pure.
 */
import { FatalFinding } from '../findings.ts'
import type { Case, Faults } from './case.ts'
import { checkPeople } from './people.ts'
import { checkReferences } from './references.ts'

export { Faults } from './case.ts'
export { deltaDoubt, findHolds, type Hold } from './holds.ts'
export { bouncedFindings } from './people.ts'

/** Says what is wrong, and which rows are to blame. */
export function findFaults(roster: Case, found: Faults): void {
  try {
    checkReferences(roster, found)
    checkPeople(roster, found)
  } catch (error) {
    if (!(error instanceof FatalFinding)) throw error
    found.log.end(error)
  }
}
