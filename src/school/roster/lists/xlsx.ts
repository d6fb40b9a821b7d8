/**
 * Reads the sheets of an Excel workbook (xlsx), row by row, with each cell as Excel shows it: the last result of a
 * formula, dates as ISO days, numbers with their leading zeros. Everything else in a workbook is ignored.
 */
import type { Meter } from '../bounds.ts'
import { aboutFile, FatalFinding } from '../findings.ts'
import type { Archive } from '../read/read.ts'
import { builtInFormat, formatCharactersMax, shownNumber } from './number-format.ts'
import { cellCharactersMax, columnsMax, type Row, type Sheet, tooManyColumns } from './sheets.ts'
import { type Attributes, XmlError, type XmlToken, xmlTokens } from './xml.ts'

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

/** In batches: one turn of the event loop per token would cost more than the parsing. */
async function* tokensOf({ archive, meter }: Parts, path: string): AsyncGenerator<XmlToken[]> {
  if (!archive.names.includes(path)) return
  for await (const tokens of xmlTokens(await archive.open(path))) {
    for (const _ of tokens) meter.step()
    yield tokens
  }
}

async function each(parts: Parts, path: string, take: (token: XmlToken) => void): Promise<void> {
  try {
    for await (const tokens of tokensOf(parts, path)) for (const token of tokens) take(token)
  } catch (error) {
    throw explained(error, parts, path)
  }
}

function explained(error: unknown, { archive }: Parts, path: string): unknown {
  if (!(error instanceof XmlError)) return error
  const message = `The workbook is damaged (${path}: ${error.message}). Open it in Excel, save it again as .xlsx, and try again.`
  return new FatalFinding(aboutFile('error', 'damaged-file', archive.name, message), error)
}

/** The path of each part that the workbook names, by id. */
async function readTargets(parts: Parts): Promise<Map<string, string>> {
  const targets = new Map<string, string>()
  await each(parts, 'xl/_rels/workbook.xml.rels', (token) => {
    if (token.kind !== 'open' || token.name !== 'Relationship') return
    const [id, target] = [token.attributes.get('Id'), token.attributes.get('Target')]
    if (id !== undefined && target !== undefined)
      targets.set(id, target.startsWith('/') ? target.slice(1) : `xl/${target}`)
  })
  return targets
}

async function readWorkbook(parts: Parts, targets: ReadonlyMap<string, string>) {
  const sheets: { name: string; path: string }[] = []
  let is1904 = false
  await each(parts, 'xl/workbook.xml', (token) => {
    if (token.kind !== 'open') return
    const { name, attributes } = token
    if (name === 'workbookPr') is1904 = isTrue(attributes.get('date1904'))
    if (name !== 'sheet' || (attributes.get('state') ?? 'visible') !== 'visible') return
    const path = targets.get(attributes.get('id') ?? '')
    if (path === undefined) return
    if (sheets.length === sheetsMax) throw new XmlError(`it has more than ${sheetsMax} sheets`)
    sheets.push({ name: attributes.get('name') ?? '', path })
  })
  return { sheets, is1904 }
}

const isTrue = (text: string | undefined) => text === '1' || text === 'true'

async function readStrings(parts: Parts): Promise<string[]> {
  const strings: string[] = []
  const text = new TextCollector()
  await each(parts, 'xl/sharedStrings.xml', (token) => {
    text.take(token)
    if (token.kind === 'close' && token.name === 'si') strings.push(text.end())
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
class TextCollector {
  #text = ''
  #isText = false
  #isAid = false

  take(token: XmlToken): void {
    if (token.kind === 'text') {
      if (this.#isText && !this.#isAid) this.#text = bounded(this.#text + token.text, writtenMax)
    } else if (token.name === 't') this.#isText = token.kind === 'open'
    else if (token.name === 'rPh') this.#isAid = token.kind === 'open'
  }

  end(): string {
    const text = bounded(withoutEscapes(this.#text))
    this.#text = ''
    return text
  }
}

/** Characters that XML cannot hold are written _x000D_. */
function withoutEscapes(text: string): string {
  if (!text.includes('_x')) return text
  return text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}

async function readFormats(parts: Parts): Promise<string[]> {
  const own = new Map<number, string>()
  const formats: string[] = []
  let isCells = false
  await each(parts, 'xl/styles.xml', (token) => {
    if (token.kind === 'text') return
    if (token.name === 'cellXfs') isCells = token.kind === 'open'
    if (token.kind !== 'open') return
    const id = Number(token.attributes.get('numFmtId') ?? 0)
    if (token.name === 'numFmt') own.set(id, formatOf(token.attributes))
    if (token.name === 'xf' && isCells) formats.push(own.get(id) ?? builtInFormat(id))
    if (Math.max(own.size, formats.length) > cellFormatsMax)
      throw new XmlError(`it has more than ${cellFormatsMax.toLocaleString('en')} formats`)
  })
  return formats
}

function formatOf(attributes: Attributes): string {
  const format = attributes.get('formatCode') ?? 'General'
  if (format.length <= formatCharactersMax) return format
  throw new XmlError(`a number format has more than ${formatCharactersMax} characters`)
}

async function* rowsOf(workbook: Workbook, path: string): AsyncGenerator<Row> {
  const reader = new RowsReader(workbook)
  try {
    for await (const tokens of tokensOf(workbook, path))
      for (const token of tokens) {
        const row = reader.take(token)
        if (row) yield row
      }
  } catch (error) {
    throw explained(error, workbook, path)
  }
}

class RowsReader {
  readonly #workbook: Workbook
  #line = 0
  #cells: string[] = []
  #cell: Cell | null = null
  /** The column of a cell without a reference. */
  #nextColumn = 0

  constructor(workbook: Workbook) {
    this.#workbook = workbook
  }

  /** The row that ends here, unless it is empty. */
  take(token: XmlToken): Row | null {
    this.#cell?.take(token)
    if (token.kind === 'open' && token.name === 'row') {
      this.#line = numberFrom(token.attributes.get('r')) ?? this.#line + 1
      this.#cells = []
      this.#nextColumn = 0
    } else if (token.kind === 'open' && token.name === 'c') {
      this.#cell = new Cell(token.attributes, columnOf(token.attributes.get('r')) ?? this.#nextColumn)
      this.#nextColumn = this.#cell.column + 1
    } else if (token.kind === 'close' && token.name === 'c') this.#endCell()
    else if (token.kind === 'close' && token.name === 'row' && this.#cells.length > 0)
      return { line: this.#line, cells: this.#cells }
    return null
  }

  #endCell(): void {
    const cell = this.#cell
    this.#cell = null
    const text = cell?.shown(this.#workbook) ?? ''
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

class Cell {
  readonly column: number
  readonly #type: string
  readonly #style: number
  readonly #inline = new TextCollector()
  #value = ''
  #isValue = false
  #isFormula = false

  constructor(attributes: Attributes, column: number) {
    this.column = column
    this.#type = attributes.get('t') ?? 'n'
    this.#style = Number(attributes.get('s') ?? 0)
  }

  take(token: XmlToken): void {
    if (token.kind === 'text') {
      if (this.#isValue) this.#value = bounded(this.#value + token.text, writtenMax)
    } else if (token.name === 'v') this.#isValue = token.kind === 'open'
    else if (token.name === 'f') this.#isFormula = true
    this.#inline.take(token)
  }

  shown({ strings, formats, is1904 }: Workbook): string {
    if (this.#type === 'inlineStr') return this.#inline.end()
    const value = this.#value
    if (value === '') return this.#isFormula && this.#type !== 'str' ? uncalculated : ''
    switch (this.#type) {
      case 's':
        return strings[Number(value)] ?? ''
      case 'b':
        return value === '1' ? 'TRUE' : 'FALSE'
      case 'd':
        return value.replace(/T00:00(:00(\.0+)?)?Z?$/, '').replace('T', ' ')
      case 'n': {
        const number = Number(value)
        return Number.isFinite(number)
          ? shownNumber(number, formats[this.#style] ?? 'General', is1904)
          : value
      }
      default:
        return bounded(withoutEscapes(value))
    }
  }
}
