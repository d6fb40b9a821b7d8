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
  const text = new TextCollector()
  await readWhole(parts, 'xl/sharedStrings.xml', {
    open: (name) => text.open(name),
    text: (some) => text.text(some),
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

/** Joins the runs of rich text, without phonetic guides. */
class TextCollector implements XmlTaker {
  readonly #tag: string
  #text = ''
  #isText = false
  #isAid = false

  constructor(tag = 't') {
    this.#tag = tag
  }

  open(name: string): void {
    if (name === this.#tag) this.#isText = true
    else if (name === 'rPh') this.#isAid = true
  }

  text(text: string): void {
    if (this.#isText && !this.#isAid) this.#text = bounded(this.#text + text, writtenMax)
  }

  close(name: string): void {
    if (name === this.#tag) this.#isText = false
    else if (name === 'rPh') this.#isAid = false
  }

  end(): string {
    const text = this.#text
    this.#text = ''
    return text
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
  const reader = new RowsReader(workbook)
  for await (const _ of read(workbook, path, reader)) yield* reader.taken()
}

class RowsReader implements XmlTaker {
  readonly #workbook: Workbook
  #rows: Row[] = []
  #line = 0
  #cells: string[] = []
  #cell: Cell | null = null
  /** The column of a cell without a reference. */
  #nextColumn = 0

  constructor(workbook: Workbook) {
    this.#workbook = workbook
  }

  /** The rows since the last call. */
  taken(): Row[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  open(name: string, { r, s, t = 'n' }: Attributes): void {
    if (name === 'row') {
      this.#line = numberFrom(r) ?? this.#line + 1
      this.#cells = []
      this.#nextColumn = 0
    } else if (name === 'c') {
      const column = columnOf(r) ?? this.#nextColumn
      const value = new TextCollector(t === 'inlineStr' ? 't' : 'v')
      this.#cell = { column, type: t, style: Number(s ?? 0), value, hasFormula: false }
      this.#nextColumn = column + 1
    } else if (this.#cell) {
      if (name === 'f') this.#cell.hasFormula = true
      this.#cell.value.open(name)
    }
  }

  text(text: string): void {
    this.#cell?.value.text(text)
  }

  close(name: string): void {
    if (name === 'c') this.#endCell()
    else if (name !== 'row') this.#cell?.value.close(name)
    else if (this.#cells.length > 0) this.#rows.push({ line: this.#line, cells: this.#cells })
  }

  #endCell(): void {
    const cell = this.#cell
    this.#cell = null
    const text = cell ? shown(cell, this.#workbook) : ''
    if (!cell || text.trim() === '') return
    if (cell.column >= columnsMax) throw tooManyColumns(this.#workbook.archive.name, this.#line)
    this.#workbook.meter.cell(text)
    while (this.#cells.length < cell.column) this.#cells.push('')
    this.#cells[cell.column] = text
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
  readonly value: TextCollector
  hasFormula: boolean
}

function shown(cell: Cell, { strings, formats, is1904 }: Workbook): string {
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
