/** Collects the records of a file while it is read. For unchanged enrolments only the line is kept, to save memory. */
import type { EnrolmentData, Kind, RosterRecord, RosterSink } from '../records.ts'
import { type CurrentEnrolment, type CurrentRoster, SharedTexts } from './current.ts'
import { enrolmentKey } from './documents.ts'

export interface Incoming<D> {
  readonly data: D
  readonly file: string
  readonly line: number
}

/** Where a row that must be left out belongs. */
export interface BadRow {
  readonly kind: Kind
  readonly sourcedId: string
}

export class Incomings implements RosterSink {
  readonly records = new Map<Kind, Map<string, Incoming<object>>>()
  readonly deleted = new Map<Kind, Set<string>>()
  /** sourcedId → line. */
  readonly unchangedEnrolments = new Map<string, number>()
  /** Rows that are left out: what stands of their sourcedIds stays. */
  badRows = 0
  readonly #bad = new Map<Kind, Set<string>>()
  /** Kinds with bad rows whose sourcedId is not known, or whose file could not be read. */
  readonly #unknown = new Set<Kind>()
  readonly #current: CurrentRoster
  readonly #onProgress: (rows: number) => void
  readonly #shared = new SharedTexts()

  constructor(current: CurrentRoster, onProgress: (rows: number) => void) {
    this.#current = current
    this.#onProgress = onProgress
  }

  record({ kind, sourcedId, data, file, line }: RosterRecord): void {
    if (data === null) {
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

  bad(kind: Kind, sourcedId: string | null): void {
    this.badRows++
    if (sourcedId === null) this.#unknown.add(kind)
    else getOrAdd(this.#bad, kind, () => new Set<string>()).add(sourcedId)
  }

  unread(kind: Kind): void {
    this.#unknown.add(kind)
  }

  isBad(kind: Kind, sourcedId: string): boolean {
    return this.#bad.get(kind)?.has(sourcedId) === true
  }

  /** Whether the record may be in a row that could not be read. */
  mayBeUnread(kind: Kind, sourcedId: string): boolean {
    return this.#unknown.has(kind) || this.isBad(kind, sourcedId)
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
