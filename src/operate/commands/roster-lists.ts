/** `chiron roster from-list` and `chiron roster template`: for schools that have a spreadsheet, not a OneRoster export. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { UsageError } from '../../errors.ts'
import { systemClock } from '../../platform/lib/clock.ts'
import { counted } from '../../platform/lib/counted.ts'
import {
  dayOrders,
  type Field,
  fieldNamed,
  fieldNames,
  fields,
  type MadeSet,
  type Mapping,
  makeSet,
  type ShownTable,
  TermDays,
  writeTemplate,
} from '../../school/roster/lists/lists.ts'
import { exitCodes } from '../../school/roster/roster.ts'
import { type CommonOptions, configFor, say, table, visible } from './command.ts'
import { findingLines } from './roster-text.ts'

interface ListOptions extends CommonOptions {
  readonly out: string
  readonly map?: readonly string[]
  readonly mapFile?: string
  readonly term?: readonly string[]
  readonly dates?: string
  readonly verbose?: boolean
}

export async function rosterFromList(files: readonly string[], options: ListOptions): Promise<void> {
  const { out } = options
  if (files.some((file) => resolve(file) === resolve(out)))
    throw new UsageError('--out names a file that is read: name another one')
  const made = await makeSet(
    files.map((path) => ({ path })),
    out,
    {
      mapping: mappingFrom(options),
      terms: termsFrom(options.term),
      dayOrder: dayOrderFrom(options.dates),
      schoolName: configFor(options).school.name ?? 'School',
    },
  ).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'EACCES') throw error
    throw new UsageError(
      `${out} cannot be written: ${error.code === 'ENOENT' ? 'no such folder' : 'permission denied'}`,
    )
  })
  if (options.json) sayAsJson(made, options)
  else say(options, {}, [...listLines(made, options)].join('\n').trimStart())
  if (made.counts === null) process.exitCode = exitCodes.refused
  else keepMapping(made, options)
}

function sayAsJson({ kind, tables, findings, counts }: MadeSet, options: ListOptions): void {
  for (const one of tables) say(options, { type: 'list', ...one }, '')
  for (const finding of findings) say(options, { type: 'finding', ...finding }, '')
  say(options, { type: counts === null ? 'refused' : 'done', kind, out: options.out, ...counts }, '')
}

function* listLines({ kind, tables, findings, counts }: MadeSet, options: ListOptions): Generator<string> {
  for (const one of tables) {
    yield ''
    yield* tableLines(one)
  }
  if (tables.length === 0 && counts !== null) yield `Read as: ${kind}.`
  yield* findingLines(findings, options.verbose === true)
  if (counts === null) return
  const { students, teachers, classes, enrolments } = counts
  yield ''
  const made = [
    counted(students, 'student', 'students'),
    counted(classes, 'class', 'classes'),
    counted(enrolments, 'enrolment', 'enrolments'),
    counted(teachers, 'teacher', 'teachers'),
  ]
  yield `Made ${visible(options.out)}: ${made.join(', ')}.`
  yield `Next: "chiron roster check ${visible(options.out)}" shows what it would change.`
}

function* tableLines(one: ShownTable): Generator<string> {
  const { file, sheet, encoding, headerLine, rows, mapping, unused } = one
  const where = sheet === null ? file : `${file}, sheet ${sheet}`
  yield `${visible(where)}: ${counted(rows, 'row', 'rows')} below line ${headerLine}${encoding === null ? '' : `, read as ${encoding}`}.`
  const samples =
    mapping[0]?.samples.map((_, i) => `${i === 0 ? 'first' : i === 1 ? 'second' : 'third'} row`) ?? []
  yield table([
    ['--map', 'meaning', 'column', ...samples],
    ...mapping.map(({ field, header, samples: cells }) => [
      field,
      fields[field],
      header,
      ...cells.map(short),
    ]),
  ])
  if (unused.length > 0) yield `Not used: ${unused.map(visible).join(', ')}.`
}

const short = (text: string) => (text.length > 30 ? `${text.slice(0, 29)}…` : text)

/** The file's mapping, overridden by the command line. */
function mappingFrom({ map = [], mapFile }: ListOptions): Mapping {
  const mapping = new Map<Field, string>()
  if (mapFile !== undefined && existsSync(mapFile))
    for (const [name, header] of Object.entries(keptMapping(mapFile))) mapping.set(fieldFrom(name), header)
  for (const text of map) {
    const [, name, header] = /^([^=]+)=(.+)$/s.exec(text) ?? []
    if (name === undefined || header === undefined)
      throw new UsageError(`--map takes a field and a header, such as number=Matricola; not ${visible(text)}`)
    mapping.set(fieldFrom(name), header)
  }
  return mapping
}

function keptMapping(path: string): Record<string, string> {
  try {
    const kept: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (
      typeof kept === 'object' &&
      kept !== null &&
      Object.values(kept).every((one) => typeof one === 'string')
    )
      return kept as Record<string, string>
  } catch {}
  throw new UsageError(
    `${path} is not a mapping such as {"number": "Matricola"}; delete it to have it written again`,
  )
}

function fieldFrom(name: string): Field {
  const field = fieldNamed(name)
  if (field) return field
  throw new UsageError(`--map knows ${fieldNames.join(', ')}; not ${visible(name)}`)
}

/** Keeps the mapping of the first list. */
function keepMapping({ tables }: MadeSet, { mapFile, ...options }: ListOptions): void {
  if (mapFile === undefined || existsSync(mapFile) || !tables[0]) return
  const kept = Object.fromEntries(tables[0].mapping.map(({ field, header }) => [field, header]))
  writeFileSync(mapFile, `${JSON.stringify(kept, null, 2)}\n`)
  const text = `The mapping is kept in ${visible(mapFile)} for next time.`
  say(options, { type: 'mapping', file: mapFile }, text)
}

function termsFrom(texts: readonly string[] = []): TermDays {
  const terms = new TermDays()
  for (const text of texts)
    if (!terms.add(text))
      throw new UsageError(
        `--term takes the first and the last day, such as 2026-09-01..2027-01-31 or "Autumn=2026-09-01..2027-01-31"; not ${visible(text)}`,
      )
  return terms
}

function dayOrderFrom(text: string | undefined) {
  const order = dayOrders.find((each) => each === text)
  if (text !== undefined && !order) throw new UsageError(`--dates takes ${dayOrders.join(' or ')}`)
  return order ?? null
}

export async function rosterTemplate(folder: string, options: CommonOptions): Promise<void> {
  const today = new Date(systemClock.now()).toISOString().slice(0, 10)
  const paths = await writeTemplate(folder, today, configFor(options).school.name ?? 'School')
  const text = [
    ...paths.map((path) => visible(path)),
    '',
    'Fill in either of the class lists with a spreadsheet, then: chiron roster from-list FILE --out set.zip',
    'The folder oneroster is what that makes; programs can write the same.',
  ]
  say(options, { type: 'done', files: paths }, text.join('\n'))
}
