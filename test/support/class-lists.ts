/** Makes sets from class lists for tests, and tells what came out. */
import { writeFileSync } from 'node:fs'
import type { Bounds } from '../../src/school/roster/bounds.ts'
import {
  type DayOrder,
  type Field,
  type MadeSet,
  makeSet,
  TermDays,
} from '../../src/school/roster/lists/lists.ts'
import type { ClassData, Finding, RosterRecord, UserData } from '../../src/school/roster/records.ts'
import { type Files, freshPath, readAll, writeFolder } from './roster-files.ts'

interface Options {
  readonly map?: Partial<Record<Field, string>>
  readonly terms?: readonly string[]
  readonly dayOrder?: DayOrder
  readonly bounds?: Partial<Bounds>
}

export interface Made extends MadeSet {
  /** The path of the zip, if it was written. */
  readonly out: string
}

export async function setFrom(paths: readonly string[], options: Options = {}): Promise<Made> {
  const out = freshPath('set.zip')
  const terms = new TermDays()
  for (const term of options.terms ?? []) if (!terms.add(term)) throw new Error(`not a term: ${term}`)
  const made = await makeSet(
    paths.map((path) => ({ path })),
    out,
    {
      mapping: new Map(Object.entries(options.map ?? {})) as ReadonlyMap<Field, string>,
      terms,
      dayOrder: options.dayOrder ?? null,
      schoolName: 'School of Veterinary Medicine',
      ...(options.bounds && { bounds: options.bounds }),
    },
  )
  return { ...made, out }
}

export function listFile(name: string, content: string | Buffer): string {
  const path = freshPath(name)
  writeFileSync(path, content)
  return path
}

export const setFromText = (text: string | Buffer, options: Options = {}) =>
  setFrom([listFile('list.csv', text)], options)

export const setFromFolder = (files: Files, options: Options = {}) => setFrom([writeFolder(files)], options)

/** What the reader of OneRoster makes of the set. */
export async function readSet({ out, findings }: Made) {
  const read = await readAll(out).catch((error) => {
    throw new Error(`no set: ${linesOf(findings).join(' | ')}`, { cause: error })
  })
  const of = (kind: RosterRecord['kind']) => read.records.filter((record) => record.kind === kind)
  const users = new Map(of('user').map(({ sourcedId, data }) => [sourcedId, data as UserData]))
  const classes = new Map(of('class').map(({ sourcedId, data }) => [sourcedId, data as ClassData]))
  return { ...read, of, users, classes }
}

/** `error missing-value list.csv:3 E-mail` and so on. */
export const linesOf = (findings: readonly Finding[]) =>
  findings.map(
    ({ severity, code, file, line, column }) =>
      `${severity} ${code} ${file}${line === null ? '' : `:${line}`}${column === null ? '' : ` ${column}`}`,
  )
