/**
 * Judges a comparison: what is wrong with the roster that it would make, and what somebody should confirm first. Errors
 * that follow from rows that could not be read are counted, not listed. Pure.
 */
import type { FindingLog } from '../findings.ts'
import { type Case, Faults } from './case.ts'
import { checkPeople } from './people.ts'
import { checkReferences } from './references.ts'

export { deltaDoubt, findHolds, type Hold, type HoldCode, holdCodes } from './holds.ts'
export { bouncedFindings } from './people.ts'

/** Adds to the log what is wrong, and tells which rows are to blame. */
export function findFaults(roster: Case, log: FindingLog): Faults {
  const found = new Faults(log)
  checkReferences(roster, found)
  checkPeople(roster, found)
  return found
}
