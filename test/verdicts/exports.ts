/** Schools as files of either version, whole or as what has changed, and what programs and people do to such files. */
import { buffer } from 'node:stream/consumers'
import { parse } from 'csv-parse/sync'
import { ZipFile } from 'yazl'
import { type FileName, headerLine, manifest, rowLine, type Version } from '../../demo/oneroster.ts'
import { type Cells, type School, schoolFiles } from '../support/roster-school.ts'
import type { Random } from './random.ts'
import type { SetFiles } from './scenario.ts'

export interface Form {
  readonly version: Version
  readonly files?: readonly FileName[]
}

const names = (version: Version, files = schoolFiles) =>
  files.filter((file) => version === '1.2' || file !== 'roles')

/** 1.1 has roles in users.csv. */
function cellsOf(school: School, file: FileName, id: string): Cells | undefined {
  const cells = school[file].get(id)
  const { role = 'student', orgSourcedId = 'org-1' } = school.roles.get(`role-${id}`) ?? {}
  return cells && file === 'users' ? { ...cells, role, orgSourcedIds: orgSourcedId } : cells
}

function textOf(file: FileName, version: Version, rows: readonly (readonly [string, Cells])[]): string {
  const lines = rows.map(([sourcedId, cells]) => rowLine(file, version, { sourcedId, ...cells } as never))
  return headerLine(file, version) + lines.join('')
}

export function bulkOf(school: School, { version, files }: Form): Record<string, string> {
  const present = names(version, files)
  const texts = present.map((file) => {
    const ids = [...school[file].keys()]
    return [
      `${file}.csv`,
      textOf(
        file,
        version,
        ids.map((id) => [id, cellsOf(school, file, id)!]),
      ),
    ]
  })
  return { 'manifest.csv': manifest(version, 'bulk', present, 'Tests'), ...Object.fromEntries(texts) }
}

/** What differs, and some of what does not. */
export function deltaOf(
  [before, after]: readonly [School, School],
  { version, files }: Form,
  random: Random,
): Record<string, string> {
  const present = names(version, files)
  const dateLastModified = random.one([
    '2026-11-01T08:00:00Z',
    '2026-11-18T08:00:00Z',
    '2026-11-25T08:00:00.000Z',
  ])
  const texts = present.map((file) => {
    const ids = [...new Set([...before[file].keys(), ...after[file].keys()])]
    const rows = ids.flatMap((id): [string, Cells][] => {
      const [old, cells] = [cellsOf(before, file, id), cellsOf(after, file, id)]
      if (cells === undefined) {
        const left = random.is(0.5) ? old! : {}
        return [[id, { ...left, status: 'tobedeleted', dateLastModified }]]
      }
      if (JSON.stringify(old) === JSON.stringify(cells) && random.is(0.9)) return []
      return [[id, { ...cells, status: 'active', dateLastModified }]]
    })
    return [`${file}.csv`, textOf(file, version, rows)]
  })
  return { 'manifest.csv': manifest(version, 'delta', present, 'Tests'), ...Object.fromEntries(texts) }
}

type Files = Record<string, string | Buffer>
type Damage = (files: Files, random: Random) => void

const quoted = (cell: string) => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
const csv = (rows: readonly (readonly string[])[]) =>
  rows.map((row) => `${row.map(quoted).join(',')}\n`).join('')

function randomFile(files: Files, random: Random, least = 0): { name: string; rows: string[][] } | null {
  const found = Object.entries(files).flatMap(([name, content]) => {
    if (typeof content !== 'string' || name === 'manifest.csv') return []
    try {
      const rows = parse(content, { relax_column_count: true }) as string[][]
      return rows.length > least ? [{ name, rows }] : []
    } catch {
      return []
    }
  })
  return found.length > 0 ? random.one(found) : null
}

/** A row below the header. */
const row = (edit: (rows: string[][], at: number, random: Random) => void): Damage => {
  return (files, random) => {
    const found = randomFile(files, random, 1)
    if (!found) return
    edit(found.rows, random.from(1, found.rows.length - 1), random)
    files[found.name] = csv(found.rows)
  }
}

const cell = (values: readonly ((old: string) => string)[]): Damage =>
  row((rows, at, random) => {
    const filled = rows[at]!.flatMap((text, i) => (text === '' && random.is(0.8) ? [] : [i]))
    if (filled.length === 0) return
    const column = random.one(filled)
    rows[at]![column] = random.one(values)(rows[at]![column]!)
  })

/** A cell of a column, in any file that has it. */
const column = (name: string, values: readonly string[], share: number): Damage => {
  return (files, random) => {
    for (const [file, content] of Object.entries(files)) {
      if (typeof content !== 'string' || !content.split('\n')[0]!.split(',').includes(name)) continue
      try {
        const rows = parse(content, { relax_column_count: true }) as string[][]
        const at = rows[0]!.indexOf(name)
        for (const one of rows.slice(1)) if (random.is(share)) one[at] = random.one(values)
        files[file] = csv(rows)
      } catch {
        // Damaged already.
      }
    }
  }
}

const header = (edit: (names: string[], random: Random) => void): Damage => {
  return (files, random) => {
    const found = randomFile(files, random)
    if (!found) return
    edit(found.rows[0]!, random)
    files[found.name] = csv(found.rows)
  }
}

const text = (edit: (content: string, random: Random) => string | Buffer): Damage => {
  return (files, random) => {
    const found = randomFile(files, random)
    if (found) files[found.name] = edit(String(files[found.name]), random)
  }
}

const inManifest = (from: RegExp, to: string): Damage => {
  return (files) => {
    const content = files['manifest.csv']
    if (typeof content === 'string') files['manifest.csv'] = content.replace(from, to)
  }
}

export const damages: readonly Damage[] = [
  row((rows) => void rows.splice(1, rows.length - 1, ...rows.slice(1).reverse())),
  row((rows, _, random) => void rows.splice(1, rows.length - 1, ...random.shuffled(rows.slice(1)))),
  row((rows, at) => void rows.push([...rows[at]!])),
  row((rows, at) => void rows.splice(at, 0, [...rows[at]!])),
  row((rows, at, random) => {
    const copy = [...rows[at]!]
    copy[random.from(3, copy.length - 1)] = 'other'
    rows.push(copy)
  }),
  row((rows, at) => void rows.splice(at, 1)),
  row((rows) => void rows.splice(1)),
  row((rows, at) => void rows[at]!.pop()),
  row((rows, at) => void rows[at]!.push('')),
  row((rows, at) => void rows[at]!.push('more')),
  row((rows, at) => void rows.splice(at, 1, [''])),
  row((rows) => void rows.push([`Total: ${rows.length}`])),
  row((rows, at) => void rows[at]!.splice(1, 1, 'active')),
  row((rows, at) => void rows[at]!.splice(1, 1, 'tobedeleted')),
  row((rows, at) => void rows[at]!.splice(1, 1, 'inactive')),
  row((rows, at) => void rows[at]!.splice(2, 1, '2026-11-01')),
  row((rows, at) => void rows[at]!.splice(2, 1, 'yesterday')),
  cell([
    () => '',
    () => 'NULL',
    () => '#REF!',
    () => '1.23E+11',
    () => '  ',
    () => 'nowhere',
    () => 'x'.repeat(300),
  ]),
  cell([(old) => ` ${old} `, (old) => `="${old}"`, (old) => `'${old}`, (old) => old.toUpperCase()]),
  cell([
    (old) => `${old}\u0000`,
    (old) => `${old}\n`,
    (old) => `${old}\ufffd`,
    (old) => `Ã©${old}`,
    (old) => `${old}"`,
  ]),
  cell([
    () => '8/27/2018',
    () => '2026-02-30',
    () => 'yes',
    () => 'TRUE',
    () => 'professor',
    () => 'Jos\u00e9',
  ]),
  column('beginDate', ['', '2026-09-01', '9/1/2026', '2026-02-30'], 0.3),
  column('endDate', ['', '2026-12-01', '2026-08-01'], 0.3),
  column('enabledUser', ['TRUE', 'false', 'yes', ''], 0.3),
  column('email', ['x@school.example', '#N/A', 'none', ''], 0.2),
  column('classType', ['Scheduled', 'ext:seminar', 'lecture'], 0.3),
  column('metadata.kind', ['rotation', 'seminar'], 0.4),
  column('role', ['Student', 'guardian', 'aide', 'professor'], 0.2),
  column('familyName', ['', 'O\u2019Neill', 'Gray\u0007'], 0.2),
  column('identifier', ['42', '4E+05', '="00042"', ''], 0.4),
  column('status', ['active', ''], 0.5),
  column('sourcedId', ['stu-1', 'class-1'], 0.1),
  header((names, random) => void names.splice(random.below(names.length), 1, 'unknown')),
  header((names, random) => {
    const at = random.below(names.length)
    names[at] = names[at]!.toUpperCase()
  }),
  header((names, random) => {
    const at = random.below(names.length)
    names[at] = names[at]!.replace(/(.)(.)$/, '$2$1')
  }),
  header((names) => void names.splice(1, 1, names[0]!)),
  text((content) => `\ufeff${content}`),
  text((content) => content.replaceAll('\n', '\r\n')),
  text((content) => content.replaceAll('\n', '\r')),
  text((content) => content.replaceAll(',', ';')),
  text((content) => `sep=,\n${content}`),
  text((content) => `An export\n\n${content}`),
  text((content) => `${content}\n\n(3 rows affected)\n\x1a`),
  text((content, random) => content.slice(0, random.below(content.length))),
  text((content) => Buffer.from(`${content}é`, 'latin1')),
  text((content) => Buffer.from(content, 'utf16le')),
  text((content) => Buffer.from(content.replaceAll('é', 'Ã©').replaceAll('Ada', 'Jos\ufffd'))),
  text((content, random) => content.replace(',', random.one(['"', ',"', '\n', '\t']))),
  (files) => void delete files['manifest.csv'],
  (files) => void delete files['manifest.csv'],
  (files, random) => {
    const name = random.one(Object.keys(files))
    delete files[name]
  },
  (files, random) => {
    const name = random.one(Object.keys(files))
    files[name.toUpperCase()] = files[name]!
    if (random.is(0.7)) delete files[name]
  },
  (files) => void Object.assign(files, { 'notes.txt': 'Dear registrar' }),
  inManifest(/oneroster.version,1\.[12]/, 'oneroster.version,1.2'),
  inManifest(/oneroster.version,1\.[12]/, 'oneroster.version,1.1'),
  inManifest(/oneroster.version,.*\n/, ''),
  inManifest(/version,1\.0/, 'version,2'),
  inManifest(/bulk/g, 'delta'),
  inManifest(/delta/g, 'bulk'),
  inManifest(/(users|classes|enrollments),bulk/, '$1,delta'),
  inManifest(/(orgs|courses),(bulk|delta)/, '$1,absent'),
  inManifest(/users,.*/, 'users,full'),
]

export function damaged(files: SetFiles, random: Random, count: number): SetFiles {
  const copy = { ...files }
  for (const damage of random.shuffled(damages).slice(0, count))
    if (Object.keys(copy).length > 0) damage(copy, random)
  return copy
}

const mtime = new Date(2026, 10, 1)

export async function zipped(files: SetFiles, folder = ''): Promise<Buffer> {
  const zip = new ZipFile()
  for (const [name, content] of Object.entries(files))
    zip.addBuffer(Buffer.from(content), folder + name, { mtime })
  zip.end()
  return await buffer(zip.outputStream)
}
