/**
 * Finds the header of a class list, possibly below a title, and with it the columns and rows. Rows are kept in memory,
 * because the order of day and month may be clear only from the last one.
 */

import { folded } from '../../../platform/lib/folded.ts'
import { bare } from '../../../platform/lib/nearest.ts'
import type { Meter } from '../bounds.ts'
import type { Encoding } from '../encoding.ts'
import { aboutFile, type CodedFinding, type FindingCode } from '../findings.ts'
import {
  type Columns,
  type Field,
  fieldNames,
  fields,
  isNumberedClass,
  type Mapping,
  mayCountRows,
  recogniseColumns,
} from '../list-headers.ts'
import { oneSpaced } from './cells.ts'
import { placeOf, type Row, type Sheet } from './sheets.ts'

const rowsBeforeHeaderMax = 15
const fieldsWanted = 2
const samplesMax = 3

export interface Table {
  readonly file: string
  readonly sheet: string | null
  readonly encoding: Encoding
  readonly headerLine: number
  readonly headers: readonly string[]
  readonly columns: Columns
  readonly rows: readonly Row[]
  /** Further sheets with known headers, which are not read. */
  readonly otherSheets: readonly string[]
  /** A row counter that looks like a student number; ignored. */
  readonly counter: number | null
  /** Columns for a class each, which became the one column for classes. */
  readonly joined: readonly number[]
  /** A total below the last row; ignored. */
  readonly footer: Row | null
}

/** The table of the first sheet that has one; otherwise the beginning of every sheet, for the message. */
export async function findTable(
  sheets: Iterable<Sheet> | AsyncIterable<Sheet>,
  mapping: Mapping,
  meter: Meter,
): Promise<Table | { readonly beginnings: readonly Beginning[] }> {
  const beginnings: Beginning[] = []
  const otherSheets: string[] = []
  let table: Omit<Table, 'otherSheets'> | null = null
  for await (const sheet of sheets) {
    if (table) {
      if (await hasHeader(sheet, mapping, meter)) otherSheets.push(sheet.sheet!)
      continue
    }
    const read = await tableIn(sheet, mapping, meter)
    if ('columns' in read) table = read
    else beginnings.push(read)
  }
  return table ? { ...table, otherSheets } : { beginnings }
}

async function hasHeader(sheet: Sheet, mapping: Mapping, meter: Meter): Promise<boolean> {
  let seen = 0
  for await (const { cells } of sheet.rows) {
    meter.row()
    if (seen++ === rowsBeforeHeaderMax) break
    if (found(recogniseColumns(cells, mapping)) >= fieldsWanted) return true
  }
  return false
}

const found = ({ at, unclear }: Columns) => at.size + unclear.size

export interface Beginning {
  readonly place: string
  readonly first: Row | null
}

async function tableIn(
  sheet: Sheet,
  mapping: Mapping,
  meter: Meter,
): Promise<Omit<Table, 'otherSheets'> | Beginning> {
  const before: Row[] = []
  let best: { at: number; columns: Columns } | null = null
  const rows: Row[] = []
  for await (const row of sheet.rows) {
    meter.row()
    if (row.cells.every((cell) => cell.trim() === '')) continue
    if (before.length < rowsBeforeHeaderMax) {
      before.push(row)
      const columns = recogniseColumns(row.cells, mapping)
      const most = best === null ? fieldsWanted - 1 : found(best.columns)
      if (found(columns) > most) best = { at: before.length - 1, columns }
    } else if (best === null) break
    else rows.push(row)
  }
  if (best === null) return { place: placeOf(sheet), first: before[0] ?? null }
  const header = before[best.at]!
  const data = [...before.slice(best.at + 1), ...rows].filter(otherThan(header))
  const footer = data.length > 1 && isTotal(data.at(-1)!, best.columns) ? data.pop()! : null
  const counter = mapping.has('number') ? null : counterIn(header, best.columns, data)
  const at = new Map(best.columns.at)
  if (counter !== null) at.delete('number')
  const headers = header.cells.map(oneSpaced)
  const { file, sheet: name, encoding } = sheet
  const classes = withClasses(headers, { ...best.columns, at }, data, mapping)
  return { file, sheet: name, encoding, headerLine: header.line, ...classes, counter, footer }
}

const total = /^(grand |sub|sous-)?tot(al|aux|ales)\b/

function isTotal({ cells }: Row, { at }: Columns): boolean {
  const email = cells[at.get('email') ?? -1] ?? ''
  return email.trim() === '' && cells.some((cell) => total.test(folded(cell).trim()))
}

const mark = /^[x\u00d7\u2713\u2714\u2611\u2022\u25cf]$/i

/**
 * Some lists have a row for each student and a column for each class: "Class 1", "Class 2" … with the names of classes,
 * or the classes as headers with crosses below. These columns become one, which names all classes of a student.
 */
function withClasses(
  headers: readonly string[],
  columns: Columns,
  rows: readonly Row[],
  mapping: Mapping,
): Pick<Table, 'headers' | 'columns' | 'rows' | 'joined'> {
  const used = [...columns.at.values(), ...[...columns.unclear.values()].flat()]
  const free = [...headers.keys()].filter((at) => headers[at] !== '' && !used.includes(at))
  const numbered = free.filter((at) => isNumberedClass(headers[at]!))
  const onlyMarks = columnsOfMarks(rows)
  const marked = free.filter((at) => onlyMarks.has(at))
  const joined = numbered.length > 1 ? numbered : marked
  const header = joined.map((at) => headers[at]).join(', ')
  const hasClasses = (['class', 'code'] as const).some(
    (field) => columns.at.has(field) || columns.unclear.has(field),
  )
  const isOther = bare(mapping.get('class') ?? header) !== bare(header)
  if (joined.length < 2 || hasClasses || isOther) return { headers, columns, rows, joined: [] }
  const nameIn = (cell: string, at: number) => (mark.test(cell.trim()) ? headers[at]! : cell)
  const withNames = ({ line, cells }: Row): Row => {
    const names = joined.map((at) => nameIn(cells[at] ?? '', at)).join('\n')
    return { line, cells: [...headers.map((_, at) => cells[at] ?? ''), names] }
  }
  const at = new Map(columns.at).set('class', headers.length)
  const missing = columns.missing.filter((field) => field !== 'class')
  return {
    headers: [...headers, header],
    columns: { ...columns, at, missing },
    rows: rows.map(withNames),
    joined,
  }
}

function columnsOfMarks(rows: readonly Row[]): Set<number> {
  const found = new Set<number>()
  const others = new Set<number>()
  for (const { cells } of rows)
    for (const [at, cell] of cells.entries())
      if (!others.has(at) && cell.trim() !== '') (mark.test(cell.trim()) ? found : others).add(at)
  return found.difference(others)
}

const rowsToCount = 3

/** Used as student numbers, these would shift as soon as one student leaves. */
function counterIn(header: Row, { at }: Columns, rows: readonly Row[]): number | null {
  const column = at.get('number')
  if (column === undefined || !mayCountRows(header.cells[column]!) || rows.length < rowsToCount) return null
  return rows.every(({ cells }, i) => Number(cells[column]) === i + 1) ? column : null
}

/** Printed lists repeat their header on every page. */
function otherThan({ cells }: Row): (row: Row) => boolean {
  const filled = cells.flatMap((cell, at) => (cell.trim() === '' ? [] : [[at, cell.trim()] as const]))
  return (row) => filled.some(([at, text]) => (row.cells[at] ?? '').trim() !== text)
}

/** How a table was understood, for the registrar to check. */
export interface ShownTable extends Pick<Table, 'file' | 'sheet' | 'encoding' | 'headerLine'> {
  readonly rows: number
  readonly mapping: readonly {
    readonly field: Field
    readonly header: string
    readonly samples: readonly string[]
  }[]
  /** Headers of columns that are not used. */
  readonly unused: readonly string[]
}

export function shownTable({ headers, columns, rows, ...table }: Table): ShownTable {
  const samples = rows.slice(0, samplesMax)
  const mapping = fieldNames.flatMap((field) => {
    const at = columns.at.get(field)
    if (at === undefined) return []
    return [{ field, header: headers[at]!, samples: samples.map(({ cells }) => shownCell(cells[at])) }]
  })
  const used = new Set([...columns.at.values(), ...table.joined])
  const unused = headers.filter((header, at) => header !== '' && !used.has(at))
  const { file, sheet, encoding, headerLine } = table
  return { file, sheet, encoding, headerLine, rows: rows.length, mapping, unused }
}

const shownCell = (cell = '') =>
  cell
    .split('\n')
    .flatMap((line) => line.trim() || [])
    .join('; ')

export function columnFindings(table: Table, mapping: Mapping): CodedFinding[] {
  const { headers, columns, headerLine } = table
  const findings: CodedFinding[] = []
  const tell = (severity: 'error' | 'warning', code: FindingCode, column: string, message: string) =>
    findings.push({ ...aboutFile(severity, code, placeOf(table), message), line: headerLine, column })
  const listed = headers.filter((header) => header !== '').join(', ')
  for (const field of columns.missing) {
    const message = `There is no column "${mapping.get(field)}" for the ${fields[field]}. The columns are: ${listed}.`
    tell('error', 'missing-column', field, message)
  }
  for (const [field, at] of columns.unclear) {
    const [first, second] = at.map((column) => headers[column]!) as [string, string]
    const message = `Two columns could be the ${fields[field]}: "${first}" (${letterOf(at[0]!)}) and "${second}" (${letterOf(at[1]!)}). Say which, in the console or with --map ${field}="${first}", and rename the other if both have the same name.`
    tell('error', 'ambiguous-column', field, message)
  }
  for (const sheet of table.otherSheets) {
    const message = `The sheet "${sheet}" looks like a class list, too, and was not read. If it belongs to the list, save it as a file of its own and use both files.`
    findings.push(aboutFile('warning', 'unread-sheet', table.file, message))
  }
  if (table.footer !== null) {
    const message = 'The last row is a total, not a student. It was skipped; nothing needs to be done.'
    const about = aboutFile('warning', 'footer-line', placeOf(table), message)
    findings.push({ ...about, line: table.footer.line })
  }
  if (table.counter !== null) {
    const header = headers[table.counter]!
    const message = `The column "${header}" counts the rows, so it was not used as the student number. If it is, say so, in the console or with --map number="${header}".`
    tell('warning', 'ambiguous-column', header, message)
  }
  const used = new Set(columns.at.values())
  const example = headers.find((header, at) => header !== '' && !used.has(at)) ?? 'Header'
  for (const [field, what, ...fitting] of needed) {
    if (fitting.some((each) => columns.at.has(each) || columns.unclear.has(each))) continue
    const message = `No column is recognised as ${what}. If it is one of these, say so, in the console or with --map ${field}="${example}": ${listed}.`
    if (!columns.missing.includes(field)) tell('error', 'missing-column', field, message)
  }
  return findings
}

const needed: readonly (readonly [field: Field, what: string, ...fitting: Field[]])[] = [
  ['name', 'the name of the student', 'name', 'firstName', 'lastName'],
  ['email', 'the e-mail address of the student', 'email'],
]

/** A, B … Z, AA: as a spreadsheet names its columns. */
function letterOf(column: number): string {
  const last = String.fromCharCode(65 + (column % 26))
  return column < 26 ? `column ${last}` : `column ${String.fromCharCode(64 + Math.floor(column / 26))}${last}`
}
