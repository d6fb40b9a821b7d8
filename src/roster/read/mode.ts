/**
 * Tells bulk from delta by the rows of a file: status and dateLastModified are empty in every row of a bulk file, and
 * filled in every row of a delta. The manifest decides only for a file without rows.
 */

import type { FindingLog } from '../findings.ts'
import type { Mode } from '../records.ts'
import type { Cells } from './cells.ts'
import type { Said } from './manifest.ts'

export class ModeWatch {
  readonly #file: string
  readonly #said: Said | undefined
  readonly #manifest: string | undefined
  readonly #log: FindingLog
  #first: { readonly mode: Mode; readonly line: number } | undefined
  #mixed = false

  constructor(file: string, said: Said | undefined, manifest: string | undefined, log: FindingLog) {
    this.#file = file
    this.#said = said
    this.#manifest = manifest
    this.#log = log
  }

  /** Also records the row's status and date. */
  isDeleted(cells: Cells): boolean {
    const status = cells.raw('status')
    const date = cells.raw('dateLastModified')
    if ((status === '') !== (date === ''))
      this.#tellHalf(cells, status === '' ? 'status' : 'dateLastModified')
    else this.#compare(cells, status === '' ? 'bulk' : 'delta')
    cells.dateTime('dateLastModified')
    return status !== '' && isDeletion(cells)
  }

  #compare(cells: Cells, mode: Mode): void {
    this.#first ??= { mode, line: cells.line }
    if (mode === this.#first.mode) return
    const [here, there] = mode === 'delta' ? ['filled', 'empty'] : ['empty', 'filled']
    this.#tellMixed(
      cells,
      'status',
      `status and dateLastModified are ${here} here and ${there} in line ${this.#first.line}.`,
    )
  }

  #tellHalf(cells: Cells, empty: string): void {
    this.#tellMixed(cells, empty, `Only ${empty} is empty here.`)
  }

  /** Reported once, because it would apply to half the rows of a mixed file. */
  #tellMixed(cells: Cells, column: string, what: string): void {
    if (this.#mixed) return
    this.#mixed = true
    const message = `${what} Fill both in every row (a delta), or leave both empty in every row (the whole roster).`
    cells.tell('error', 'mixed-mode', column, message)
  }

  /** Call after the last row. */
  close(): Mode {
    const said = this.#said?.mode
    if (!this.#first) return said === 'delta' ? 'delta' : 'bulk'
    const { mode } = this.#first
    if (said !== undefined && said !== 'absent' && said !== mode && !this.#mixed) this.#tellDiffers(mode)
    return mode
  }

  #tellDiffers(mode: Mode): void {
    const evidence = mode === 'delta' ? 'filled' : 'empty'
    this.#log.add({
      severity: 'warning',
      code: 'mode-differs',
      file: this.#manifest!,
      line: this.#said!.line,
      column: 'value',
      value: this.#said!.mode,
      message: `In ${this.#file} status and dateLastModified are ${evidence} in every row, so it was read as ${mode}.`,
    })
  }
}

function isDeletion(cells: Cells): boolean {
  const status = cells.enumeration('status', 'status')
  if (status !== 'inactive') return status === 'tobedeleted'
  if (cells.version === '1.1')
    cells.tell(
      'warning',
      'inactive-status',
      'status',
      'Read as tobedeleted, which is what 1.1 has in its place.',
    )
  else cells.tell('error', 'bad-enumeration', 'status', 'Expected active or tobedeleted.')
  return true
}
