/** Writes examples: a class list as CSV and as an Excel workbook, and the set that they make. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from '../../../errors.ts'
import { Meter } from '../bounds.ts'
import { FindingLog } from '../findings.ts'
import { readClassLists } from './class-list.ts'
import { TermDays } from './day-text.ts'
import { csvLine, filesOf, SetContent, writeZip } from './set.ts'
import { findTable } from './tables.ts'

const headers = [
  ...['Student number', 'First name', 'Last name', 'E-mail', 'Year', 'Class', 'Teacher', 'Teacher e-mail'],
  ...['Term', 'Start date', 'End date', 'Room', 'Meets'],
]

/** Returns the paths, in order. Nothing is overwritten. */
export async function writeTemplate(folder: string, today: string, schoolName: string): Promise<string[]> {
  const table = [headers, ...exampleRows(today)]
  const set = join(folder, 'oneroster')
  await mkdir(set, { recursive: true })
  // Excel recognises UTF-8 only by the byte order mark.
  const csv = `\ufeff${table.map(csvLine).join('\r\n')}\r\n`
  const paths = [join(folder, 'class-list.csv'), join(folder, 'class-list.xlsx')]
  await write(paths[0]!, csv)
  await write(paths[1]!, '')
  await writeZip(paths[1]!, workbookOf(table))
  for (const [name, lines] of filesOf(await contentOf(table, schoolName))) {
    const path = join(set, name)
    await write(path, `${[...lines].join('\n')}\n`)
    paths.push(path)
  }
  return paths
}

async function write(path: string, text: string): Promise<void> {
  await writeFile(path, text, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST')
      throw new UsageError(`${path} is there already: name another folder, or delete it first`)
    throw error
  })
}

function exampleRows(today: string): string[][] {
  const year = Number(today.slice(0, 4))
  const isAutumn = today.slice(5) >= '07-01'
  const [term, start, end] = isAutumn
    ? [`Autumn ${year}`, `${year}-09-01`, `${year + 1}-01-31`]
    : [`Spring ${year}`, `${year}-02-01`, `${year}-07-15`]
  const classes = {
    anatomy: ['Anatomy', 'Ana López', 'ana.lopez@school.example', term, start, end, 'Hall 1'],
    equine: ['Equine practice', 'Tom Gray', 'tom.gray@school.example', term, start, end, 'Stables'],
  }
  const meets = { anatomy: 'Mon 09:00-10:30; Wed 14:00-15:00', equine: 'Fri 08:30-12:00' }
  const row = (student: string[], name: 'anatomy' | 'equine') => [...student, ...classes[name], meets[name]]
  const ada = ['00100', 'Ada', 'Byron', 'ada.byron@school.example', '1']
  const jose = ['00101', 'José', 'Núñez', 'jose.nunez@school.example', '1']
  const marie = ['00102', 'Marie', 'Dupont', 'marie.dupont@school.example', '2']
  return [row(ada, 'anatomy'), row(ada, 'equine'), row(jose, 'anatomy'), row(marie, 'equine')]
}

async function contentOf(table: readonly string[][], schoolName: string): Promise<SetContent> {
  const content = new SetContent()
  const rows = table.map((cells, i) => ({ line: i + 1, cells }))
  const sheet = { file: 'class-list.csv', sheet: null, encoding: null, rows }
  const meter = new Meter()
  const found = await findTable([sheet], new Map(), meter)
  const options = { terms: new TermDays(), dayOrder: null, schoolName }
  if ('columns' in found) readClassLists([found], { options, content, log: new FindingLog(), meter })
  return content
}

const office = 'http://schemas.openxmlformats.org'
const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
const columnWidth = 20

/** The minimum of a workbook. All cells are text, so that numbers keep their zeros. */
function* workbookOf(table: readonly (readonly string[])[]): Generator<[string, string[]]> {
  const main = `${office}/spreadsheetml/2006/main`
  const relations = `${office}/officeDocument/2006/relationships`
  const type = (part: string, kind: string) =>
    `<Override PartName="/xl/${part}" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${kind}+xml"/>`
  const relation = (id: string, kind: string, target: string) =>
    `<Relationship Id="${id}" Type="${relations}/${kind}" Target="${target}"/>`
  const relationships = (...all: string[]) =>
    `<Relationships xmlns="${office}/package/2006/relationships">${all.join('')}</Relationships>`
  const types = [type('workbook.xml', 'sheet.main'), type('worksheets/sheet1.xml', 'worksheet')]
  types.push(type('styles.xml', 'styles'))
  const ofRels = 'ContentType="application/vnd.openxmlformats-package.relationships+xml"'
  const parts = {
    '[Content_Types].xml': `<Types xmlns="${office}/package/2006/content-types"><Default Extension="rels" ${ofRels}/>${types.join('')}</Types>`,
    '_rels/.rels': relationships(relation('rId1', 'officeDocument', 'xl/workbook.xml')),
    'xl/_rels/workbook.xml.rels': relationships(
      relation('rId1', 'worksheet', 'worksheets/sheet1.xml'),
      relation('rId2', 'styles', 'styles.xml'),
    ),
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${relations}"><sheets><sheet name="Class list" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    // Number format 49 is text.
    'xl/styles.xml': `<styleSheet xmlns="${main}"><fonts count="1"><font/></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf/><xf numFmtId="49" applyNumberFormat="1"/></cellXfs></styleSheet>`,
  }
  for (const [name, text] of Object.entries(parts)) yield [name, [xml, text]]
  const columns = `<cols><col min="1" max="${headers.length}" width="${columnWidth}" style="1" customWidth="1"/></cols>`
  const rows = table.map((cells, i) => `<row r="${i + 1}">${cells.map(cellOf).join('')}</row>`)
  const sheet = `<worksheet xmlns="${main}">${columns}<sheetData>`
  yield ['xl/worksheets/sheet1.xml', [xml, sheet, ...rows, '</sheetData></worksheet>']]
}

const cellOf = (text: string) => `<c s="1" t="inlineStr"><is><t>${escaped(text)}</t></is></c>`
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
