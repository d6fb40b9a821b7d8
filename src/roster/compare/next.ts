/** The roster as it would be after an import, and the number of changes by kind. */

import type { DataOf } from '../records.ts'
import type { StudentFields } from './documents.ts'
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
}
