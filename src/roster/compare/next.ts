/** The roster as it would be after an import, and the number of changes by kind. */
import type { DataOf } from '../records.ts'
import type { CorrectionRow, StudentFields, StudentVersion } from '../store.ts'
import type { Incoming, NextEnrolment } from './incoming.ts'

export const planKinds = ['student', 'class', 'enrolment', 'user', 'role', 'course', 'term', 'org'] as const
export type PlanKind = (typeof planKinds)[number]

export interface Counts {
  before: number
  after: number
  added: number
  changed: number
  leaving: number
  returning: number
}

/** A record of the next roster. New and changed ones carry their place in the file. */
export interface Next<D> {
  readonly data: D
  readonly digest: string
  readonly from: Incoming<D> | null
}

export interface NextRoster {
  readonly org: ReadonlyMap<string, Next<DataOf['org']>>
  readonly term: ReadonlyMap<string, Next<DataOf['term']>>
  readonly course: ReadonlyMap<string, Next<DataOf['course']>>
  readonly class: ReadonlyMap<string, Next<DataOf['class']>>
  readonly user: ReadonlyMap<string, Next<DataOf['user']>>
  readonly role: ReadonlyMap<string, Next<DataOf['role']>>
  readonly enrolment: ReadonlyMap<string, NextEnrolment>
}

export interface NextStudent {
  readonly personId: string
  readonly fields: StudentFields
  readonly digest: string
  /** The same person as they stand, perhaps under another sourcedId. */
  readonly before: StudentVersion | null
  /** Whether the sourcedId had an account before this import. */
  readonly isKnown: boolean
  /** The sourcedId of the account that this one takes over. */
  readonly matchedFrom: string | null
  readonly correction: AppliedCorrection | null
}

export interface AppliedCorrection {
  readonly row: CorrectionRow
  /** What is left of it: without the fields that the file has come to say itself. Null if that is nothing. */
  readonly left: Corrected | null
  /** What the file says in place of each corrected field. */
  readonly inFile: Corrected
}

/** Null: as the file has it. */
export interface Corrected {
  readonly email: string | null
  readonly firstname: string | null
  readonly lastname: string | null
}
