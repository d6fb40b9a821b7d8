/**
 * Makes a OneRoster set from what schools have instead: class lists (CSV or Excel), a Canvas SIS export, or files for
 * Microsoft School Data Sync. From there on it is handled like any other set. The kind of file is recognised by its
 * content, not by its name or media type. A list with errors makes no set.
 *
 * A class list goes through sheets (csv-text.ts, xlsx.ts), the header (tables.ts, list-headers.ts) and its rows
 * (class-list.ts) into set.ts; an export through export-files.ts and canvas.ts or sds.ts.
 */
import { open, readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { UsageError } from '../../../errors.ts'
import { type Bounds, Meter, usualBounds } from '../bounds.ts'
import { decoded } from '../encoding.ts'
import { aboutFile, FatalFinding, FindingLog, fatal } from '../findings.ts'
import type { Mapping } from '../list-headers.ts'
import { type Archive, openArchive } from '../read/read.ts'
import type { Finding } from '../records.ts'
import { isCanvas, readCanvas } from './canvas.ts'
import { oneSpaced } from './cells.ts'
import { type ListOptions, type Reading, readClassLists } from './class-list.ts'
import { csvRows } from './csv-text.ts'
import { ExportFiles, type Files } from './export-files.ts'
import { isSds1, isSds2, readSds1, readSds2 } from './sds.ts'
import { filesOf, SetContent, writeZip } from './set.ts'
import type { Sheet } from './sheets.ts'
import { columnFindings, findTable, type ShownTable, shownTable, type Table } from './tables.ts'
import { sheetsOf } from './xlsx.ts'

export { type Field, fieldNamed, fieldNames, fields, type Mapping } from '../list-headers.ts'
export { type DayOrder, dayOrders, TermDays } from './day-text.ts'
export type { ShownTable } from './tables.ts'
export { writeTemplate } from './template.ts'

export interface ListFile {
  readonly path: string
  /** Shown instead of the file's own name. */
  readonly name?: string
}

export interface MakeSetOptions extends ListOptions {
  readonly mapping: Mapping
  readonly bounds?: Partial<Bounds>
}

export interface MadeSet {
  readonly kind: 'class list' | 'Canvas export' | 'School Data Sync files'
  readonly tables: readonly ShownTable[]
  readonly findings: readonly Finding[]
  /** null: there are errors, and no set was written. */
  readonly counts: ReturnType<SetContent['counts']> | null
}

interface Making extends Reading {
  readonly options: MakeSetOptions
  readonly tables: Table[]
  kind: MadeSet['kind']
}

/** Writes the set to `out`, a zip. */
export async function makeSet(
  files: readonly ListFile[],
  out: string,
  options: MakeSetOptions,
): Promise<MadeSet> {
  const name = files.map(nameOf).join(', ')
  const meter = new Meter({ ...usualBounds, ...options.bounds }, name)
  const [content, log, tables] = [new SetContent(), new FindingLog(), [] as Table[]]
  const making: Making = { options, content, log, meter, tables, kind: 'class list' }
  try {
    await readFiles(files, name, making)
  } catch (error) {
    if (!(error instanceof FatalFinding)) throw error
    log.end(error)
  }
  const findings = log.all(name)
  const isBad = findings.some(({ severity }) => severity === 'error')
  if (!isBad) await writeZip(out, filesOf(content))
  return {
    kind: making.kind,
    tables: tables.map(shownTable),
    findings,
    counts: isBad ? null : content.counts(),
  }
}

/** Whether a zip is a workbook or the export of another system, and not a OneRoster set. */
export async function isListZip(path: string): Promise<boolean> {
  if (!(await startOf(path))?.startsWith('PK')) return false
  const contents = { entriesMax: partsMax, other: () => null, otherStart: () => null }
  const archive = await openArchive(path, usualBounds.octetsMax, contents)
  try {
    if (isWorkbook(archive)) return true
    const { name, names, start } = archive
    const files = new ExportFiles({ name, names, read: start }, { log: new FindingLog(), meter: new Meter() })
    if (files.has('manifest')) return false
    const isSds =
      isSds1(files) || ((await files.hasColumn('roles', 'usersourcedid')) && (await isSds2(files)))
    return isSds || (await isCanvas(files))
  } catch (error) {
    if (error instanceof FatalFinding) return false
    throw error
  } finally {
    archive.close()
  }
}

const nameOf = ({ path, name }: ListFile) => name ?? basename(path)
/** A workbook with many sheets, pictures and comments has a few hundred parts. */
const partsMax = 2000

async function readFiles(files: readonly ListFile[], name: string, making: Making): Promise<void> {
  const { meter, tables, log } = making
  const opened: (Archive | Sheet)[] = []
  try {
    for (const file of files) opened.push(await openFile(file, meter.bounds.octetsMax))
    const archives = opened.filter((one) => 'close' in one)
    const folder = archives.find((one) => !isWorkbook(one))
    if (folder && files.length > 1) throw refused(folder.name, aloneMessage)
    if (folder || archives.length === 0) {
      const found = new ExportFiles(folder ? filesIn(folder) : filesAt(files), making)
      if (await readExport(found, making)) return
      if (folder) throw refused(folder.name, await whyNoExport(found))
    }
    for (const one of opened) await readTable('close' in one ? sheetsOf(one, meter) : [one], making)
    if (log.failsAsAWhole) return
    readClassLists(tables, making)
    if (!log.failsAsAWhole && tables.every(({ rows }) => rows.length === 0))
      log.add(aboutFile('error', 'empty-file', name, noRows))
  } finally {
    for (const one of opened) if ('close' in one) one.close()
  }
}

async function openFile(
  { path, name = basename(path) }: ListFile,
  octetsMax: number,
): Promise<Archive | Sheet> {
  const start = await startOf(path)
  if (start === null || start.startsWith('PK')) {
    const contents = { name, entriesMax: partsMax, other: otherThanList, otherStart: () => null }
    const opened = await openArchive(path, octetsMax, contents)
    const error = opened.findings.find(({ severity }) => severity === 'error')
    if (!error) return opened
    opened.close()
    throw new FatalFinding(error)
  }
  const other = otherThanText(start)
  if (other !== null) throw refused(name, other)
  if ((await stat(path)).size > octetsMax) throw tooLarge(name, octetsMax)
  const { text, encoding } = decoded(await readFile(path))
  return { file: name, sheet: null, encoding, rows: csvRows(name, text) }
}

async function readTable(sheets: Iterable<Sheet> | AsyncIterable<Sheet>, making: Making): Promise<void> {
  const { options, tables, log, meter } = making
  const found = await findTable(sheets, options.mapping, meter)
  if ('columns' in found) {
    tables.push(found)
    for (const finding of columnFindings(found, options.mapping)) log.add(finding)
    return
  }
  for (const { place, first } of found.beginnings) {
    const begins = first === null ? 'It is empty.' : `It begins with: ${shownCells(first.cells)}.`
    const message = `No row near the top has known column names such as "Last name", "E-mail" or "Class". ${begins} Add a row with column names, or say what yours mean, in the console or with --map email="…" --map name="…".`
    log.add({ ...aboutFile('error', 'missing-column', place, message), line: first?.line ?? null })
  }
}

/** False if it is not a known export. */
async function readExport(files: ExportFiles, making: Making): Promise<boolean> {
  const { content, log } = making
  const reading = { ...making, files }
  if (await isCanvas(files)) {
    making.kind = 'Canvas export'
    await readCanvas(reading)
  } else if (isSds1(files) || (await isSds2(files))) {
    making.kind = 'School Data Sync files'
    await (isSds1(files) ? readSds1 : readSds2)(reading)
  } else return false
  if (content.people.size === 0 && !log.failsAsAWhole)
    log.add(aboutFile('error', 'empty-file', files.name, nobody))
  return true
}

async function whyNoExport(files: ExportFiles): Promise<string> {
  if (files.has('users') && (await files.hasColumn('users', 'sourcedid')))
    return 'This is already a OneRoster set. Use it unchanged: upload it in the console, or run chiron roster check.'
  return 'This is neither a Canvas SIS export (users.csv, courses.csv, enrollments.csv …) nor files for Microsoft School Data Sync. Use the class lists themselves, not a folder or zip with them.'
}

const noRows = 'The list has a header and no rows. Fill it in, or choose another file.'
const nobody = 'It contains no students and no teachers. Export everything, and use all files together.'
const aloneMessage =
  'A folder or zip must be the only file. Use either one export, or class lists as CSV or Excel files.'

function filesIn(archive: Archive): Files {
  const { name, names } = archive
  return { name, names, read: (file) => buffer(archive.open(file)) }
}

/** The files of an export may be handed in one by one. */
function filesAt(files: readonly ListFile[]): Files {
  const paths = new Map(files.map((file) => [nameOf(file), file.path]))
  const names = [...paths.keys()]
  return { name: names.join(', '), names, read: (name) => readFile(paths.get(name)!) }
}

const isWorkbook = ({ names }: Archive) => names.includes('xl/workbook.xml')

function otherThanList(names: readonly string[]): string | null {
  const has = (name: string) => names.includes(name)
  if (names.length === 0) return 'It is empty.'
  if (has('xl/workbook.bin')) return 'This is a binary Excel workbook (xlsb). Save it as .xlsx.'
  if (has('mimetype') && has('content.xml'))
    return 'This is a LibreOffice document. Save it as .xlsx or as CSV.'
  if (has('[Content_Types].xml') && !has('xl/workbook.xml'))
    return 'This is a Microsoft Office document, but not an Excel workbook. Save the class list as .xlsx or CSV.'
  if (names.some((name) => name.startsWith('Index/')))
    return 'This is an Apple Numbers document. Export it as Excel or CSV.'
  return null
}

/** The first characters of a file; null for a folder. */
async function startOf(path: string): Promise<string | null> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new UsageError(`${path}: there is no such file.`)
    throw new UsageError(`${path} cannot be read (${error.code}).`)
  })
  try {
    if ((await file.stat()).isDirectory()) return null
    const { buffer: bytes, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0)
    return bytes.toString('latin1', 0, bytesRead)
  } finally {
    await file.close()
  }
}

function otherThanText(start: string): string | null {
  if (start.trim() === '') return 'The file is empty.'
  if (start.startsWith('\xd0\xcf\x11\xe0'))
    return 'This is an old Excel workbook (xls), or one with a password. Save it as .xlsx without a password, or as CSV.'
  if (start.startsWith('%PDF-')) return 'This is a PDF document. Save the list as .xlsx or as CSV instead.'
  if (/^\s*<(!doctype html|html|head|body)/i.test(start.replace(/^\xef\xbb\xbf/, '')))
    return 'This is a web page, most likely the sign-in page of the system, saved instead of the list. Sign in there and export again.'
  if (/^\s*<\?xml/.test(start)) return 'This is XML. Save the list as .xlsx or as CSV instead.'
  const zeros = start.split('\0').length - 1
  // UTF-16 has a zero in every second place.
  if (zeros > 0 && zeros < start.length / 4)
    return 'This is neither an Excel workbook (xlsx) nor a text with columns. Save the list as .xlsx or as CSV.'
  return null
}

const refused = (name: string, message: string) => fatal('not-a-roster', name, message)

function tooLarge(name: string, octetsMax: number): FatalFinding {
  const message = `The list has more than ${octetsMax / 1024 / 1024} MiB. Keep only the students in it.`
  return fatal('unpacks-too-large', name, message)
}

const cellsShownMax = 8
const charactersShownMax = 40

function shownCells(cells: readonly string[]): string {
  const filled = cells.map(oneSpaced).filter(Boolean)
  const texts = filled.slice(0, cellsShownMax).map((cell) => {
    return cell.length > charactersShownMax ? `${cell.slice(0, charactersShownMax)}…` : cell
  })
  return `${texts.join(', ')}${filled.length > cellsShownMax ? ' …' : ''}`
}
