/** Collects the records of a file while it is read. For unchanged enrolments only the line is kept, to save memory. */

import type { EnrolmentData, Finding, Kind, RosterRecord, RosterSink } from '../records.ts'
import { type CurrentEnrolment, type CurrentRoster, SharedTexts } from './current.ts'
import { enrolmentKey } from './documents.ts'

export interface Incoming<D> {
  readonly data: D
  readonly file: string
  readonly line: number
}

export class Incomings implements RosterSink {
  readonly findings: Finding[] = []
  readonly records = new Map<Kind, Map<string, Incoming<object>>>()
  readonly deleted = new Map<Kind, Set<string>>()
  /** sourcedId → line. */
  readonly unchangedEnrolments = new Map<string, number>()
  readonly #current: CurrentRoster
  readonly #onProgress: (rows: number) => void
  readonly #shared = new SharedTexts()

  constructor(current: CurrentRoster, onProgress: (rows: number) => void) {
    this.#current = current
    this.#onProgress = onProgress
  }

  record({ kind, sourcedId, deleted, data, file, line }: RosterRecord): void {
    if (deleted) {
      getOrAdd(this.deleted, kind, () => new Set<string>()).add(sourcedId)
      return
    }
    const known = getOrAdd(this.records, kind, () => new Map<string, Incoming<object>>())
    if (kind !== 'enrolment') return void known.set(sourcedId, { data, file, line })
    const enrolment = data as EnrolmentData
    const standing = this.#current.enrolments.get(sourcedId)
    if (standing && enrolmentKey(standing.data) === enrolmentKey(enrolment))
      this.unchangedEnrolments.set(sourcedId, line)
    else known.set(sourcedId, { data: this.#shared.enrolment(enrolment), file, line })
  }

  finding(finding: Finding): void {
    this.findings.push(finding)
  }

  progress(rows: number): void {
    this.#onProgress(rows)
  }
}

/** Enrolments are kept as they are, without a wrapper object: there are hundreds of thousands. */
export type NextEnrolment = Incoming<EnrolmentData> | CurrentEnrolment

export function isIncoming(enrolment: NextEnrolment): enrolment is Incoming<EnrolmentData> {
  return 'line' in enrolment
}

export function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
