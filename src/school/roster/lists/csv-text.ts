/**
 * Reads CSV as spreadsheets save it: with commas, semicolons, tabs or bars, in UTF-8, UTF-16 or Windows-1252. (The reader
 * of OneRoster sets is strict, because programs write those.)
 */
import { FatalFinding, fatal } from '../findings.ts'
import { breaksIn, closingQuote } from '../read/read.ts'
import { cellCharactersMax, columnsMax, type Row, tooManyColumns } from './sheets.ts'

const separators = [',', ';', '\t', '|'] as const
const rowsLookedAt = 20

export function* csvRows(file: string, text: string): Generator<Row> {
  const marked = /^sep=(.)\r?\n/i.exec(text)
  const separator = marked ? marked[1]! : separatorOf(file, text)
  for (const row of split(file, text, separator, marked ? marked[0].length : 0))
    if (row.cells.some((cell) => cell.trim() !== '')) yield row
}

/** The one that gives the typical row the most columns. */
function separatorOf(file: string, text: string): string {
  let best = { separator: ',', columns: 1 }
  for (const separator of separators) {
    const counts: number[] = []
    try {
      for (const { cells } of split(file, text, separator, 0)) {
        if (cells.length > 1 || cells[0] !== '') counts.push(cells.length)
        if (counts.length === rowsLookedAt) break
      }
    } catch (error) {
      if (!(error instanceof FatalFinding)) throw error
    }
    const columns = counts.sort((a, b) => a - b)[counts.length >> 1] ?? 1
    if (columns > best.columns) best = { separator, columns }
  }
  return best.separator
}

function* split(file: string, text: string, separator: string, from: number): Generator<Row> {
  let line = from > 0 ? 2 : 1
  let cells: string[] = []
  // The end-of-file mark of old programs.
  const length = text.endsWith('\x1a') ? text.length - 1 : text.length
  const cellEnd = new RegExp(`[\\r\\n${separator === '\t' ? '\\t' : `\\${separator}`}]`, 'g')
  let breaks = 0
  for (let at = from; at < length; ) {
    let cell = ''
    const isQuoted = text[at] === '"'
    if (isQuoted) {
      const end = closingQuote(text, at)
      if (end < 0) throw unclosed(file, line + breaks)
      cell = text.slice(at + 1, end).replaceAll('""', '"')
      breaks += breaksIn(cell)
      at = end + 1
    }
    cellEnd.lastIndex = at
    const end = Math.min(cellEnd.exec(text)?.index ?? length, length)
    cell += text.slice(at, end)
    if (cell.length > cellCharactersMax) throw (isQuoted ? unclosed : tooLong)(file, line)
    if (cells.length < columnsMax) cells.push(cell)
    else if (cell.trim() !== '') throw tooManyColumns(file, line)
    at = end + 1
    if (text[end] === separator && end < length) {
      if (at < length) continue
      if (cells.length < columnsMax) cells.push('')
    }
    if (text[end] === '\r' && text[at] === '\n') at++
    yield { line, cells }
    line += 1 + breaks
    breaks = 0
    cells = []
  }
}

function unclosed(file: string, line: number): FatalFinding {
  const message =
    'A double quote opens a cell here and is never closed. Remove it, or save the list again from the spreadsheet.'
  return fatal('bad-quotes', file, message, line)
}

function tooLong(file: string, line: number): FatalFinding {
  const most = cellCharactersMax.toLocaleString('en')
  const message = `A cell has more than ${most} characters. Shorten it, or check how the cells are separated.`
  return fatal('too-long', file, message, line)
}
