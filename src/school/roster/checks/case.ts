import type { Comparison } from '../compare/compare.ts'
import type { FindingLog } from '../findings.ts'
import type { Kind, RosterFile } from '../records.ts'
import type { Workbench } from '../workbench/workbench.ts'

/** The input of all checks. */
export interface Case extends Comparison {
  readonly file: RosterFile
  /** In the school's time zone. */
  readonly today: string
}

/** What is wrong with the resulting roster, and which rows are to blame. */
export class Faults {
  readonly log: FindingLog
  readonly #bench: Workbench
  badRows = 0

  constructor(bench: Workbench, log: FindingLog) {
    this.#bench = bench
    this.log = log
    bench.file.exec('delete from blamed')
  }

  /** Marks this row as bad. */
  blame(kind: Kind, sourcedId: string): void {
    this.badRows += this.#bench.file.run('insert or ignore into blamed values (?, ?)', kind, sourcedId)
  }

  bad(): { readonly kind: Kind; readonly sourcedId: string }[] {
    return this.#bench.file.all('select kind, id as sourcedId from blamed')
  }
}
