/** CSV that people open in a spreadsheet. Pure; the console uses it, too. */

/** Without it, Excel does not read UTF-8. */
export const byteOrderMark = '\uFEFF'

/** One line. A text that a spreadsheet would run as a formula gets an apostrophe in front. */
export function spreadsheetLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`
}

function cellOf(value: string | number | null): string {
  const text = String(value ?? '')
  const safe =
    typeof value === 'string' && /^[\s]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}
