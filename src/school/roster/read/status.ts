/** Reads status and dateLastModified of each row, and remembers how the rows of a set look. */
import { aboutFile, type CodedFinding } from '../findings.ts'
import type { Form, Mode } from '../records.ts'
import type { Cells } from './cells.ts'
import type { Said } from './manifest.ts'

/** Counts rows; one for each file, and one for the whole set. */
export class RowForms {
  rows = 0
  dated = 0
  bare = 0

  add(hasStatus: boolean, hasDate: boolean): void {
    this.rows++
    if (hasStatus && hasDate) this.dated++
    if (!hasStatus && !hasDate) this.bare++
  }

  get form(): Form {
    if (this.bare === this.rows) return 'bare'
    return this.dated === this.rows ? 'dated' : 'mixed'
  }
}

export class StatusReader {
  readonly set = new RowForms()
  newestRowAt: number | null = null
  #file = new RowForms()
  #firstUndatedLine: number | null = null

  isDeleted(cells: Cells, mode: Mode | null): boolean {
    const hasStatus = cells.raw('status') !== ''
    const hasDate = cells.raw('dateLastModified') !== ''
    this.set.add(hasStatus, hasDate)
    this.#file.add(hasStatus, hasDate)
    if (!hasStatus || !hasDate) this.#firstUndatedLine ??= cells.line
    // A bulk set is read whatever its dates.
    const at = cells.dateTime('dateLastModified', mode === 'delta' ? 'error' : 'warning')
    if (at !== null && (this.newestRowAt === null || at > this.newestRowAt)) this.newestRowAt = at
    return hasStatus && isDeletion(cells)
  }

  /** Call after the last row of a file, for what is odd about its dates. In a bulk set neither column matters. */
  closeFile(file: string, mode: Mode | null, manifest: string, said?: Said): CodedFinding | null {
    const { form, rows } = this.#file
    const line = this.#firstUndatedLine
    this.#file = new RowForms()
    this.#firstUndatedLine = null
    if (mode !== 'delta' || rows === 0 || form === 'dated') return null
    if (form === 'bare') {
      const message = `A row of a delta has a status and a date, but no row of ${file} has either, as in a bulk file.`
      const about = { line: said?.line ?? null, column: 'value', value: said?.mode ?? null }
      return { severity: 'warning', code: 'mode-differs', file: manifest, ...about, message }
    }
    const message = 'In a delta every row has a status and a date. A row without a status was read as active.'
    return { ...aboutFile('warning', 'mixed-mode', file, message), line, column: 'status' }
  }
}

function isDeletion(cells: Cells): boolean {
  const status = cells.enumeration('status', 'status')
  if (status !== 'inactive') return status === 'tobedeleted'
  if (cells.version === '1.1')
    cells.tell('warning', 'inactive-status', 'status', 'Read as tobedeleted, its equivalent in 1.1.')
  else cells.tell('error', 'bad-enumeration', 'status', 'Expected active or tobedeleted.')
  return true
}
