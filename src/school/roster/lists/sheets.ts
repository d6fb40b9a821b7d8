/** The raw rows of a CSV file or of a sheet in a workbook. */

import type { Encoding } from '../encoding.ts'
import { type FatalFinding, fatal } from '../findings.ts'

/** As in Excel. */
export const cellCharactersMax = 32_767
/** With text in them. Spreadsheets have more. */
export const columnsMax = 1_024

export function tooManyColumns(file: string, line: number): FatalFinding {
  const message = `This row has text in more than ${columnsMax.toLocaleString('en')} columns, more than any list has. Keep only the columns about students and classes.`
  return fatal('too-many-columns', file, message, line)
}

export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

export interface Sheet {
  readonly file: string
  /** null: the file has no sheets. */
  readonly sheet: string | null
  readonly encoding: Encoding
  readonly rows: Iterable<Row> | AsyncIterable<Row>
}

export function placeOf({ file, sheet }: Pick<Sheet, 'file' | 'sheet'>): string {
  return sheet === null ? file : `${file}, sheet ${sheet}`
}
