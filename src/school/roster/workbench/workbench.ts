/**
 * The table on which an import is worked out: a private file of SQLite, with the rows of the set as they were read and the
 * current roster beside them. The comparison and the checks are questions to it (tables.ts says what stands where).
 */
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import type { Db } from '../../../platform/db/db.ts'
import { WorkFile } from '../../../platform/db/work-file.ts'
import { Meter } from '../bounds.ts'
import { Incoming } from './incoming.ts'
import { type Delta, partOfRoster } from './part.ts'
import { copyRows, hideRows, noRows, noStanding, rowsIn, type Standing, showRows } from './standing.ts'
import { comparisonIndexes, schema } from './tables.ts'

export type { Incoming } from './incoming.ts'
export type { Delta } from './part.ts'
export { type RecordKind, type Standing, standingIn } from './standing.ts'
export { clearComparison, columnsOf, keptIndexes, studentColumns, studentIndexes } from './tables.ts'

export interface WorkbenchOptions {
  readonly meter?: Meter
  readonly onProgress?: (rows: number) => void
}

export class Workbench {
  readonly file: WorkFile
  readonly incoming: Incoming

  /** Beside an SQLite store, otherwise among the temporary files. */
  constructor(db: Pick<Db, 'file'>, { meter = new Meter(), onProgress }: WorkbenchOptions = {}) {
    this.file = new WorkFile({
      folder: db.file === null ? tmpdir() : dirname(db.file),
      octetsMax: meter.bounds.workOctetsMax,
      onStep: () => meter.step(),
      tooLarge: () => meter.tooMuchWork(),
    })
    this.file.exec(schema)
    this.file.exec(comparisonIndexes)
    this.incoming = new Incoming(this.file, onProgress)
  }

  /** Works beside the whole of a roster, or beside the part of it that a small delta can touch. */
  async beside<T>(
    db: Db,
    whole: Standing,
    delta: Delta | null,
    work: (standing: Standing) => Promise<T>,
  ): Promise<T> {
    const part = delta && (await partOfRoster(db, whole, this, delta))
    if (part !== null) {
      await copyRows(this.file, part.rows)
      return work({ ...whole, sizes: part.sizes })
    }
    if (db.file === null || whole.content === 0) {
      await copyRows(this.file, whole.content === 0 ? noRows : rowsIn(db, whole.content))
      return work(whole)
    }
    showRows(this.file, db.file, whole.content)
    try {
      return await work(whole)
    } finally {
      hideRows(this.file)
    }
  }

  /** Works beside no roster. */
  async alone<T>(work: (standing: Standing) => Promise<T>): Promise<T> {
    await copyRows(this.file, noRows)
    return work(noStanding({ content: 0, generation: 0 }))
  }
}
