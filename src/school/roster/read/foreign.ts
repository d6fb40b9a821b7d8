/** Recognises files that are not a OneRoster set, and says what to do instead. */

import { basename, resolve } from 'node:path'
import { bare } from '../../../platform/lib/nearest.ts'
import { decoded } from '../encoding.ts'
import { recogniseColumns } from '../list-headers.ts'
import type { Contents } from './archive.ts'
import { dataFiles } from './columns.ts'

const ask = 'Export the roster as OneRoster CSV and use the exported zip unchanged.'
const unpack = 'Unpack it and use the folder, or pack the CSV files as a zip.'

const beginnings: readonly (readonly [bytes: string, what: string])[] = [
  ['7z\xbc\xaf\x27\x1c', `This is a 7z archive. ${unpack}`],
  ['Rar!\x1a\x07', `This is a rar archive. ${unpack}`],
  ['\x1f\x8b', `This is a gzip archive. ${unpack}`],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', `This is an old Excel workbook (xls). ${ask}`],
  ['%PDF-', `This is a PDF document. ${ask}`],
]

/** `path`: as the user knows it, for the command that makes a set. */
export function rosterContents(path: string): Contents {
  return {
    name: basename(resolve(path)),
    entriesMax: 64,
    other: (names) => otherThanRoster(names, path),
    otherStart: (start) => otherThanZip(start, path),
  }
}

function makeSet(path: string): string {
  const quoted = /^[\w./\\:@~+-]+$/.test(path) ? path : `"${path}"`
  return `chiron roster from-list ${quoted} --out set.zip`
}

const useList = (path: string) =>
  `upload it in the console as it is, or make a roster of it: ${makeSet(path)}`

const unpackList = (file: string) =>
  `Unpack it, and use ${file} itself: upload that in the console, or make a roster of it: ${makeSet(file)}`

/** The names in the first line that has any, without case and punctuation. */
export function headerOf(start: Buffer): string[] {
  return cellsOf(start).map(bare)
}

function cellsOf(start: Buffer): string[] {
  const lines = decoded(start)
    .text.replace(/^\ufeff+/, '')
    .split(/\r\n|\n|\r/)
  const first = lines.find((line) => line.trim() !== '' && !/^"?sep=/i.test(line)) ?? ''
  return first.split(/[,;\t|]/).map((cell) => cell.replaceAll('"', '').trim())
}

/** null: it begins like a zip, so it may be one. */
function otherThanZip(start: Buffer, path: string): string | null {
  if (start.length === 0) return `The file is empty. ${ask}`
  const bytes = start.toString('latin1')
  if (bytes.startsWith('PK')) return null
  const known = beginnings.find(([beginning]) => bytes.startsWith(beginning))
  if (known) return known[1]
  const text = decoded(start)
    .text.replace(/^\ufeff/, '')
    .trimStart()
  if (/^<(!doctype html|html|head|body)/i.test(text))
    return `This is a web page, most likely the sign-in page of the system, saved instead of the export. Sign in there and export again.`
  if (/^[{[]/.test(text)) return `This is JSON. Chiron reads OneRoster as CSV. ${ask}`
  if (text.startsWith('<')) return `This is XML. ${ask}`
  const cells = cellsOf(start)
  if (text.includes('\0') || cells.length < 2)
    return `This is not a zip file. Use the exported zip unchanged, or the folder with the CSV files.`
  return otherThanSet(cells, path)
}

function otherThanSet(cells: readonly string[], path: string): string {
  const header = cells.map(bare)
  if (header.includes('sourcedid') || header.includes('propertyname'))
    return 'This is a single CSV file of a OneRoster set. Use the zip or the folder that contains all of them.'
  if (isOfCanvas(header))
    return 'This is one file of an export for Canvas. Put all its files in a folder, and make a roster of it: chiron roster from-list FOLDER --out set.zip'
  if (isClassList(cells)) return `This is a class list: ${useList(path)}`
  return `This is a single CSV file, and a roster is a set of several (users.csv, classes.csv, enrollments.csv …): use the zip or the folder that contains them all. If it is a class list, ${useList(path)}`
}

const isOfCanvas = (header: readonly string[]) =>
  !header.includes('sourcedid') && (header.includes('userid') || header.includes('canvasuserid'))

function isClassList(cells: readonly string[]): boolean {
  const { at, unclear } = recogniseColumns(cells, new Map())
  const has = (...fields: Parameters<typeof at.has>[0][]) =>
    fields.some((field) => at.has(field) || unclear.has(field))
  return has('name', 'lastName', 'firstName') && has('number', 'email', 'class')
}

/** By the first lines of these files, without `.csv` and in lower case; null if nothing speaks against a OneRoster set. */
export function otherByHeaders(
  starts: ReadonlyMap<string, Buffer>,
  names: readonly string[],
  path: string,
): string | null {
  const headers = new Map([...starts].map(([name, start]) => [name, headerOf(start)]))
  const [users, roles, enrollments] = ['users', 'roles', 'enrollments'].map((name) => headers.get(name))
  if (users && isOfCanvas(users)) return exportFor('Canvas', path)
  const isOfSds = users?.includes('sourcedid') && lacksId(roles) && lacksId(enrollments)
  if (isOfSds) return exportFor('Microsoft School Data Sync', path)
  if ([...headers.values()].some((header) => header.includes('sourcedid'))) return null
  const lists = names.filter((name) => {
    const start = starts.get(name.slice(0, -4).toLowerCase())
    return start !== undefined && isClassList(cellsOf(start))
  })
  const [list, another] = lists
  if (list === undefined) return null
  const folder = archiveName.test(path) ? null : path.replace(/[\\/]$/, '')
  if (another !== undefined)
    return `It has ${lists.length} class lists in it (${list}, ${another}${lists.length > 2 ? ' …' : ''}), and no roster. ${folder === null ? 'Unpack it, and make' : 'Make'} one roster of all of them: chiron roster from-list FILE FILE … --out set.zip`
  if (folder === null) return `The zip has a class list in it, ${list}, and no roster. ${unpackList(list)}`
  return `${list} is not a file of OneRoster but a class list: ${useList(`${folder}/${list}`)}`
}

const lacksId = (header: readonly string[] | undefined) =>
  header !== undefined && !header.includes('sourcedid')

function exportFor(system: string, path: string): string {
  return `This is an export for ${system}. Make a roster of it: ${makeSet(path)}`
}

const ownNames = new Set(['manifest.csv', ...dataFiles.map(({ name }) => `${name.toLowerCase()}.csv`)])
const archiveName = /\.(zip|7z|rar|gz)$/i

/** By the files in a zip or folder; null if unknown. */
function otherThanRoster(names: readonly string[], path: string): string | null {
  if (names.length === 0) return `It is empty. ${ask}`
  const all = new Set(names.map((name) => name.toLowerCase()))
  if (all.has('[content_types].xml')) {
    const isWorkbook = names.some((name) => name.startsWith('xl/'))
    return isWorkbook
      ? `This is an Excel workbook. ${ask} If it is a class list, ${useList(path)}`
      : `This is a Microsoft Office document. ${ask}`
  }
  if (all.has('mimetype') && all.has('content.xml')) return `This is a LibreOffice document. ${ask}`
  const folders = setsIn(names)
  if (folders.length > 1 && !folders.includes(''))
    return `It contains ${folders.length} sets, in the folders ${folders.join(', ')}. Keep only one of them, and use that.`
  const folder = folders[0] ?? ''
  const known = new Set(
    [...all].map((name) => name.slice(name.startsWith(folder.toLowerCase()) ? folder.length : 0)),
  )
  const has = (...wanted: string[]) => wanted.every((name) => known.has(name))
  // OneRoster has neither of the last two.
  if (has('users.csv', 'enrollments.csv') && (has('sections.csv') || has('terms.csv')))
    return exportFor('Canvas', path)
  if (has('users.csv')) return null
  if (has('students.csv', 'sections.csv'))
    return `This is an export for Clever. Chiron reads OneRoster. ${ask}`
  if (has('students.csv', 'rosters.csv'))
    return `This is an export for Apple School Manager. Chiron reads OneRoster. ${ask}`
  if (has('student.csv', 'section.csv')) return exportFor('Microsoft School Data Sync', path)
  return folders.length > 0 ? null : otherInside(names, path)
}

/** The folders that have files of OneRoster; '' is the top. */
function setsIn(names: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const name of names) {
    const folder = name.slice(0, name.lastIndexOf('/') + 1)
    if (ownNames.has(name.slice(folder.length).toLowerCase()))
      counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  // A file of its own is not a set, if there is one.
  const sets = [...counts].filter(([, count]) => count > 1)
  return (sets.length > 0 ? sets : [...counts]).map(([folder]) => folder)
}

function otherInside(names: readonly string[], path: string): string | null {
  const archives = names.filter((name) => archiveName.test(name))
  if (archives.length === 1)
    return archiveName.test(path)
      ? `There are no CSV files in it, only another archive. Unpack it once, and use ${archives[0]}.`
      : `There are no CSV files in it, only an archive. Use ${path.replace(/[\\/]$/, '')}/${archives[0]} instead.`
  if (archives.length > 1)
    return `There are no CSV files in it, only ${archives.length} archives: ${archives.slice(0, 3).join(', ')}${archives.length > 3 ? ' …' : ''}. Use one of them instead.`
  const lists = names.filter((name) => /\.(xlsx|csv)$/i.test(name))
  return lists.length === 1 && /\.xlsx$/i.test(lists[0]!)
    ? `There are no CSV files in it, only an Excel workbook. ${unpackList(lists[0]!)}`
    : null
}
