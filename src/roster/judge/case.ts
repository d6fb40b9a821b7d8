import type { BadRow, Comparison, Incomings } from '../compare/compare.ts'
import type { FindingLog } from '../findings.ts'
import type { Kind, RosterFile } from '../records.ts'

/** What is judged. */
export interface Case extends Comparison {
  readonly file: RosterFile
  readonly incoming: Incomings
  /** In the school's time zone. */
  readonly today: string
}

export class Faults {
  readonly log: FindingLog
  readonly #bad = new Map<string, BadRow>()

  constructor(log: FindingLog) {
    this.log = log
  }

  /** This row would have to be left out. */
  blame(kind: Kind, sourcedId: string): void {
    this.#bad.set(`${kind} ${sourcedId}`, { kind, sourcedId })
  }

  get bad(): BadRow[] {
    return [...this.#bad.values()]
  }
}
