/** The raw rows of a CSV file or of a sheet in a workbook. */

import type { Encoding } from '../encoding.ts'

export interface Row {
  /** As an editor or Excel counts. */
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

/** For findings and people. */
export function placeOf({ file, sheet }: Pick<Sheet, 'file' | 'sheet'>): string {
  return sheet === null ? file : `${file}, sheet ${sheet}`
}
