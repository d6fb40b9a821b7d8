import { Ids } from '../compact.ts'
import type { BadRow, Comparison, Incomings } from '../compare/compare.ts'
import type { FindingLog } from '../findings.ts'
import type { Kind, RosterFile } from '../records.ts'

/** The input of all checks. */
export interface Case extends Comparison {
  readonly file: RosterFile
  readonly incoming: Incomings
  /** In the school's time zone. */
  readonly today: string
}

export class Faults {
  readonly log: FindingLog
  readonly #bad = new Map<Kind, Ids>()

  constructor(log: FindingLog) {
    this.log = log
  }

  /** Marks this row as bad. */
  blame(kind: Kind, sourcedId: string): void {
    let ids = this.#bad.get(kind)
    if (!ids) {
      ids = new Ids()
      this.#bad.set(kind, ids)
    }
    ids.add(sourcedId)
  }

  get badRows(): number {
    return this.#bad.values().reduce((sum, ids) => sum + ids.size, 0)
  }

  *bad(): Generator<BadRow> {
    for (const [kind, ids] of this.#bad)
      for (let number = 0; number < ids.size; number++) yield { kind, sourcedId: ids.at(number) }
  }
}
