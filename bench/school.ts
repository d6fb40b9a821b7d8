/**
 * A veterinary school of any size as OneRoster CSV, the same bytes for the same options. Nothing is kept: every row is
 * made from its number and written at once, so memory does not grow with the school.
 *
 *   node bench/school.ts --students 20000 --classes 1500 --enrolments 200000 --seed 1 --out school.zip
 *     [--version 1.1] [--today 2026-03-02] [--domain students.example.edu] [--classes-per-student-max 40]
 *     [--leave 3%] [--rename 2%] [--change-address 1%] [--delta]
 *
 * --out names a zip, or a folder where it does not end in .zip. Without --today the school lies around the present day.
 */
import { createWriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { ZipFile } from 'yazl'
import { type FileName, headerLine, manifest, type Row, rowLine } from '../demo/oneroster.ts'
import * as members from './school/members.ts'
import { type Plan, planOf, type SchoolOptions } from './school/plan.ts'
import { classRows, courseRows, orgRows } from './school/teaching.ts'

export type { SchoolOptions } from './school/plan.ts'

export interface SchoolFile {
  readonly name: string
  /** In pieces of some tens of kilobytes; each call begins anew. */
  text(): Iterable<string>
}

const pieceLength = 64 * 1024
const systemName = 'Chiron school generator'

function* inPieces(lines: Iterable<string>): Generator<string> {
  let piece = ''
  for (const line of lines) {
    piece += line
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

function* linesOf<F extends FileName>(file: F, plan: Plan, rows: Iterable<Row<F>>): Generator<string> {
  yield headerLine(file, plan.version)
  for (const row of rows) yield rowLine(file, plan.version, row)
}

function fileOf<F extends FileName>(file: F, plan: Plan, rows: () => Iterable<Row<F>>): SchoolFile {
  return { name: `${file}.csv`, text: () => inPieces(linesOf(file, plan, rows())) }
}

function bulk(plan: Plan): SchoolFile[] {
  const files = [
    fileOf('orgs', plan, () => orgRows),
    fileOf('academicSessions', plan, () => plan.calendar.rows),
    fileOf('courses', plan, () => courseRows(plan)),
    fileOf('classes', plan, () => classRows(plan)),
    fileOf('users', plan, () => members.userRows(plan)),
    fileOf('enrollments', plan, () => members.enrolmentRows(plan)),
  ]
  if (plan.version === '1.1') return files
  return [
    ...files,
    fileOf('roles', plan, () => members.roleRows(plan)),
    fileOf('userProfiles', plan, () => members.profileRows(plan)),
  ]
}

/** For each student with this among its changes: its rows, marked with what became of them and when. */
function* changed<F extends FileName>(
  plan: Plan,
  rowsOf: (i: number) => Iterable<Row<F>>,
  leaversOnly: boolean,
) {
  const dateLastModified = `${plan.today}T00:00:00.000Z`
  for (let i = 0; i < plan.students; i++) {
    const change = plan.change(i)
    if (change === null || (leaversOnly && change !== 'leaves')) continue
    const status = change === 'leaves' ? 'tobedeleted' : 'active'
    for (const row of rowsOf(i)) yield { ...row, status, dateLastModified } as Row<F>
  }
}

/** A file without rows would say that there is nothing, so it is left out. */
function delta(plan: Plan): SchoolFile[] {
  if (plan.changes === 0)
    throw new Error('a delta needs something that changes: leave, rename or changeAddress')
  const users = fileOf('users', plan, () =>
    changed<'users'>(plan, (i) => [members.studentRow(plan, i)], false),
  )
  if (plan.leaving === 0) return [users]
  const roles = fileOf('roles', plan, () => changed<'roles'>(plan, (i) => [members.studentRole(i)], true))
  const enrolments = fileOf('enrollments', plan, () =>
    changed<'enrollments'>(plan, (i) => members.enrolmentsOf(plan, i), true),
  )
  return plan.version === '1.1' ? [users, enrolments] : [users, roles, enrolments]
}

/** The files of the school, the manifest first. */
export function generateSchool(options: SchoolOptions): SchoolFile[] {
  const plan = planOf(options)
  const files = options.delta ? delta(plan) : bulk(plan)
  const present = files.map(({ name }) => name.slice(0, -'.csv'.length) as FileName)
  const text = manifest(plan.version, options.delta ? 'delta' : 'bulk', present, systemName)
  return [{ name: 'manifest.csv', text: () => [text] }, ...files]
}

export async function writeSchoolFolder(path: string, options: SchoolOptions): Promise<void> {
  const files = generateSchool(options)
  await mkdir(path, { recursive: true })
  for (const { name, text } of files)
    await pipeline(Readable.from(text()), createWriteStream(join(path, name)))
}

/** Times in the zip are those of `today`, so that the bytes depend on the options alone. */
export async function writeSchoolZip(path: string, options: SchoolOptions): Promise<void> {
  const zip = new ZipFile()
  const mtime = new Date(`${options.today}T00:00:00Z`)
  // The time as DOS has it is local, and differs by the zone of the machine: UTC's parts, taken as local.
  for (const { name, text } of generateSchool(options))
    zip.addReadStreamLazy(
      name,
      { mtime: atLocalMidnight(mtime), mode: 0o100644, forceDosTimestamp: true },
      (give) => give(null, Readable.from(text(), { objectMode: false })),
    )
  zip.end()
  await pipeline(zip.outputStream, createWriteStream(path))
}

function atLocalMidnight(date: Date): Date {
  return new Date(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate())
}

function share(text: string | undefined): number {
  const [, number, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text ?? '0') ?? []
  if (number === undefined) throw new Error(`${text} is not a share such as 3%`)
  return percent === '%' ? Number(number) / 100 : Number(number)
}

const numberOr = (text: string | undefined) => (text === undefined ? undefined : Number(text))

function optionsOf(args: string[]): SchoolOptions & { readonly out: string } {
  const string = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    options: {
      ...{ students: string, classes: string, enrolments: string, seed: string, out: string, domain: string },
      ...{ version: string, today: string, leave: string, rename: string, 'change-address': string },
      ...{ 'classes-per-student-max': string, delta: { type: 'boolean' } },
    },
  })
  if (values.out === undefined || values.students === undefined)
    throw new Error('--students and --out are needed')
  const { version = '1.2' } = values
  if (version !== '1.1' && version !== '1.2') throw new Error(`--version is 1.1 or 1.2, not ${version}`)
  return {
    students: Number(values.students),
    classes: numberOr(values.classes),
    enrolments: numberOr(values.enrolments),
    seed: numberOr(values.seed),
    version,
    today: values.today ?? new Date().toISOString().slice(0, 10),
    domain: values.domain,
    classesPerStudentMax: numberOr(values['classes-per-student-max']),
    leave: share(values.leave),
    rename: share(values.rename),
    changeAddress: share(values['change-address']),
    delta: values.delta,
    out: values.out,
  }
}

if (import.meta.main) {
  const started = performance.now()
  const { out, ...options } = optionsOf(process.argv.slice(2))
  await (out.endsWith('.zip') ? writeSchoolZip(out, options) : writeSchoolFolder(out, options))
  const seconds = (performance.now() - started) / 1000
  const peak = process.resourceUsage().maxRSS / 1024
  const size = out.endsWith('.zip') ? `${(await stat(out)).size} bytes, ` : ''
  process.stdout.write(`${out}: ${size}${seconds.toFixed(1)} s, ${Math.round(peak)} MiB at most\n`)
}
