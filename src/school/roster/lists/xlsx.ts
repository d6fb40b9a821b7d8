/**
 * Reads the sheets of an Excel workbook (xlsx), row by row, with each cell as Excel shows it: the last result of a
 * formula, dates as ISO days, numbers with their leading zeros. Everything else in a workbook is ignored.
 */
import type { Meter } from '../bounds.ts'
import { aboutFile, FatalFinding } from '../findings.ts'
import type { Archive } from '../read/read.ts'
import { builtInFormat, formatCharactersMax, shownNumber } from './number-format.ts'
import { cellCharactersMax, columnsMax, type Row, type Sheet, tooManyColumns } from './sheets.ts'
import { type Attributes, localName, parseXml, XmlError, type XmlTaker } from './xml.ts'

/** Excel has fewer. */
const cellFormatsMax = 65_536
const sheetsMax = 256
/** The text of a cell whose formula has no cached result, as in workbooks written by programs. */
export const uncalculated = '#FORMULA'

interface Workbook {
  readonly archive: Archive
  readonly meter: Meter
  readonly strings: readonly string[]
  /** By style number of a cell. */
  readonly formats: readonly string[]
  readonly is1904: boolean
}

/** The visible sheets, in order. */
export async function* sheetsOf(archive: Archive, meter: Meter): AsyncGenerator<Sheet> {
  const parts = { archive, meter }
  const targets = await readTargets(parts)
  const { sheets, is1904 } = await readWorkbook(parts, targets)
  const strings = await readStrings(parts)
  const formats = await readFormats(parts)
  const workbook = { ...parts, strings, formats, is1904 }
  for (const { name, path } of sheets)
    if (archive.names.includes(path))
      yield { file: archive.name, sheet: name, encoding: null, rows: rowsOf(workbook, path) }
}

type Parts = Pick<Workbook, 'archive' | 'meter'>

async function* read(
  { archive, meter }: Parts,
  path: string,
  taker: Partial<XmlTaker>,
): AsyncGenerator<void> {
  if (!archive.names.includes(path)) return
  try {
    yield* parseXml(archive.open(path), {
      open(name, attributes) {
        meter.step()
        taker.open?.(name, attributes)
      },
      text(text) {
        meter.step()
        taker.text?.(text)
      },
      close: (name) => taker.close?.(name),
    })
  } catch (error) {
    if (!(error instanceof XmlError)) throw error
    const message = `The workbook is damaged (${path}: ${error.message}). Open it in Excel, save it again as .xlsx, and try again.`
    throw new FatalFinding(aboutFile('error', 'damaged-file', archive.name, message), error)
  }
}

async function readWhole(parts: Parts, path: string, taker: Partial<XmlTaker>): Promise<void> {
  for await (const _ of read(parts, path, taker));
}

/** The path of each part that the workbook names, by id. */
async function readTargets(parts: Parts): Promise<Map<string, string>> {
  const targets = new Map<string, string>()
  await readWhole(parts, 'xl/_rels/workbook.xml.rels', {
    open(name, { Id: id, Target: target }) {
      if (name !== 'Relationship' || id === undefined || target === undefined) return
      targets.set(id, target.startsWith('/') ? target.slice(1) : `xl/${target}`)
    },
  })
  return targets
}

async function readWorkbook(parts: Parts, targets: ReadonlyMap<string, string>) {
  const sheets: { name: string; path: string }[] = []
  let is1904 = false
  await readWhole(parts, 'xl/workbook.xml', {
    open(name, attributes) {
      if (name === 'workbookPr') is1904 = isTrue(attributes.date1904)
      if (name !== 'sheet' || (attributes.state ?? 'visible') !== 'visible') return
      const [, id = ''] = Object.entries(attributes).find(([key]) => localName(key) === 'id') ?? []
      const path = targets.get(id)
      if (path === undefined) return
      if (sheets.length === sheetsMax) throw new XmlError(`it has more than ${sheetsMax} sheets`)
      sheets.push({ name: attributes.name ?? '', path })
    },
  })
  return { sheets, is1904 }
}

const isTrue = (text: string | undefined) => text === '1' || text === 'true'

async function readStrings(parts: Parts): Promise<string[]> {
  const strings: string[] = []
  const text = textIn('t')
  await readWhole(parts, 'xl/sharedStrings.xml', {
    ...text,
    close(name) {
      text.close(name)
      if (name === 'si') strings.push(withoutEscapes(text.end()))
    },
  })
  return strings
}

function bounded(text: string, charactersMax = cellCharactersMax): string {
  if (text.length <= charactersMax) return text
  throw new XmlError(`a cell has more than ${cellCharactersMax.toLocaleString('en')} characters`)
}

/** An escape takes seven characters. */
const writtenMax = 7 * cellCharactersMax

/** Joins the texts in this tag, such as the runs of rich text, without phonetic guides. */
function textIn(tag: string) {
  let joined = ''
  let isText = false
  let isAid = false
  const step = (name: string, isOpen: boolean) => {
    if (name === tag) isText = isOpen
    else if (name === 'rPh') isAid = isOpen
  }
  return {
    open: (name: string) => step(name, true),
    close: (name: string) => step(name, false),
    text(text: string) {
      if (isText && !isAid) joined = bounded(joined + text, writtenMax)
    },
    /** What was joined since the last call. */
    end() {
      const text = joined
      joined = ''
      return text
    },
  }
}

/** Characters that XML cannot hold are written _x000D_. */
function withoutEscapes(text: string): string {
  const code = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))
  return bounded(text.includes('_x') ? text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, code) : text)
}

async function readFormats(parts: Parts): Promise<string[]> {
  const own = new Map<number, string>()
  const formats: string[] = []
  let isCells = false
  await readWhole(parts, 'xl/styles.xml', {
    open(name, attributes) {
      if (name === 'cellXfs') isCells = true
      const id = Number(attributes.numFmtId ?? 0)
      if (name === 'numFmt') own.set(id, formatOf(attributes))
      if (name === 'xf' && isCells) formats.push(own.get(id) ?? builtInFormat(id))
      if (Math.max(own.size, formats.length) > cellFormatsMax)
        throw new XmlError(`it has more than ${cellFormatsMax.toLocaleString('en')} formats`)
    },
    close(name) {
      if (name === 'cellXfs') isCells = false
    },
  })
  return formats
}

function formatOf({ formatCode: format = 'General' }: Attributes): string {
  if (format.length <= formatCharactersMax) return format
  throw new XmlError(`a number format has more than ${formatCharactersMax} characters`)
}

async function* rowsOf(workbook: Workbook, path: string): AsyncGenerator<Row> {
  const rows: Row[] = []
  const taker = rowTaker(workbook, (row) => rows.push(row))
  for await (const _ of read(workbook, path, taker)) yield* rows.splice(0)
}

function rowTaker(workbook: Workbook, take: (row: Row) => void): XmlTaker {
  let line = 0
  let cells: string[] = []
  let cell: Cell | null = null
  const [inlineText, plainText] = [textIn('t'), textIn('v')]
  /** The column of a cell without a reference. */
  let nextColumn = 0
  const endCell = ({ column, ...rest }: Cell) => {
    const text = shown(rest, workbook)
    if (text.trim() === '') return
    if (column >= columnsMax) throw tooManyColumns(workbook.archive.name, line)
    workbook.meter.cell(text)
    while (cells.length < column) cells.push('')
    cells[column] = text
  }
  return {
    open(name, { r, s, t = 'n' }) {
      if (name === 'row') {
        line = numberFrom(r) ?? line + 1
        cells = []
        nextColumn = 0
      } else if (name === 'c') {
        const column = columnOf(r) ?? nextColumn
        const value = t === 'inlineStr' ? inlineText : plainText
        cell = { column, type: t, style: Number(s ?? 0), value, hasFormula: false }
        nextColumn = column + 1
      } else if (cell) {
        cell.hasFormula ||= name === 'f'
        cell.value.open(name)
      }
    },
    text: (text) => cell?.value.text(text),
    close(name) {
      if (name === 'c') {
        if (cell) endCell(cell)
        cell = null
      } else if (name !== 'row') cell?.value.close(name)
      else if (cells.length > 0) take({ line, cells })
    },
  }
}

function numberFrom(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,7}$/.test(text) ? Number(text) : null
}

/** 0 for A7, 27 for AB7. */
function columnOf(reference: string | undefined): number | null {
  const [, letters] = /^([A-Z]{1,3})\d+$/.exec(reference ?? '') ?? []
  if (letters === undefined) return null
  let column = 0
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64
  return column - 1
}

interface Cell {
  readonly column: number
  readonly type: string
  readonly style: number
  readonly value: ReturnType<typeof textIn>
  hasFormula: boolean
}

function shown(cell: Omit<Cell, 'column'>, { strings, formats, is1904 }: Workbook): string {
  const { type } = cell
  const value = cell.value.end()
  if (value === '') return cell.hasFormula && type !== 'str' && type !== 'inlineStr' ? uncalculated : ''
  if (type === 's') return strings[Number(value)] ?? ''
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE'
  if (type === 'd') return value.replace(/T00:00(:00(\.0+)?)?Z?$/, '').replace('T', ' ')
  if (type !== 'n') return withoutEscapes(value)
  const number = Number(value)
  return Number.isFinite(number) ? shownNumber(number, formats[cell.style] ?? 'General', is1904) : value
}
