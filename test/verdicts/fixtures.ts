/** The sets of the tests, and those in folders that are named, each judged in every way. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import { demoSchool } from '../../demo/school.ts'
import { findingCases, heldCases } from '../support/roster-cases.ts'
import type { Case } from '../support/roster-edits.ts'
import { clean11, clean12 } from '../support/roster-files.ts'
import { lenientCases } from '../support/roster-lenient.ts'
import { bulkFiles, edited, enrol, newSchool, numbers, type School } from '../support/roster-school.ts'
import { strictCases } from '../support/roster-strict.ts'
import {
  allowAll,
  check,
  checkAsText,
  everyWay,
  fromList,
  history,
  importOf,
  inFolder,
  type Scenario,
  type SetFiles,
  undo,
} from './scenario.ts'

export function fixtures(): Scenario[] {
  const demo = Object.fromEntries(demoSchool('2026-11-15'))
  return [
    ...[...lenientCases, ...strictCases].map((one) => readingCase(one)),
    ...heldCases.map(([sentence, size, edit, , first = () => {}]) => {
      const school = edited(newSchool(...size), first)
      return twoSets(`held: ${sentence}`, bulkFiles(school), bulkFiles(edited(school, edit)))
    }),
    ...findingCases.map(([sentence, edit]) => {
      const school = newSchool(4, 2)
      return twoSets(`found: ${sentence}`, bulkFiles(school), bulkFiles(edited(school, edit)))
    }),
    twoSets('versions: from 1.1 to 1.2', clean11, clean12),
    twoSets('versions: from 1.2 to 1.1', clean12, clean11),
    twoSets('demo: the first set and a term later', demo, Object.fromEntries(demoSchool('2027-02-15'))),
    twoSets('classes: 500 of a student, then 501', bulkFiles(busy(500)), bulkFiles(busy(501))),
  ]
}

const readingCase = ([sentence, files]: Case): Scenario => ({
  name: `read: ${sentence}`,
  files: { ...inFolder('base', clean12), ...inFolder('next', withOne(files)) },
  steps: [
    check('next'),
    checkAsText('next'),
    importOf('base', ...allowAll),
    ...everyWay.map((options) => check('next', ...options)),
    importOf('next', ...allowAll, '--skip-bad-rows', '2'),
    undo(...allowAll),
  ],
})

/** A folder without files does not exist. */
const withOne = (files: SetFiles) => (Object.keys(files).length > 0 ? files : { '.keep': '' })

const twoSets = (name: string, base: SetFiles, next: SetFiles): Scenario => ({
  name,
  files: { ...inFolder('base', base), ...inFolder('next', next) },
  steps: [
    check('base'),
    importOf('base', ...allowAll),
    ...everyWay.map((options) => check('next', ...options)),
    checkAsText('next'),
    importOf('next'),
    importOf('next', ...allowAll),
    undo(),
    undo('--to', '0', ...allowAll),
    undo('--to', '1', ...allowAll),
    importOf('next', ...allowAll, '--skip-bad-rows', '1000'),
    importOf('base', ...allowAll),
    history,
  ],
})

function busy(classes: number): School {
  const school = newSchool(1, classes)
  for (const n of numbers(classes)) enrol(school, 'stu-1', `class-${n}`)
  return school
}

const bytesMax = 4 * 2 ** 20
const setsOfOne = 25
const ofTheStandard = /^(manifest|orgs|academicSessions|courses|classes|users|roles|enrollments)\.csv$/i

/** Sets, zips and lists below a folder, judged and imported one after the other in the order of their names. */
export function setsIn(folder: string): Scenario[] {
  const found = [...setsBelow(folder)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  const groups = Map.groupBy(found, (path) => relative(folder, path).split(sep)[0]!)
  return [...groups].flatMap(([group, paths]) =>
    Array.from({ length: Math.ceil(paths.length / setsOfOne) }, (_, n) =>
      inTurn(
        `given: ${basename(folder)}, ${group} ${n + 1}`,
        folder,
        paths.slice(n * setsOfOne, (n + 1) * setsOfOne),
      ),
    ),
  )
}

function inTurn(name: string, folder: string, paths: readonly string[]): Scenario {
  const files: Record<string, Buffer> = {}
  const steps = paths.flatMap((path) => {
    const at = relative(folder, path)
    for (const one of filesOf(path)) files[join(at, relative(path, one))] = readFileSync(one)
    const isFile = statSync(path).isFile()
    const made = `${at}.made.zip`
    const judged = (set: string) => [
      ...[[], ['--delta'], ['--match', 'address']].map((options) => check(set, ...options)),
      checkAsText(set, '--skip-bad-rows', '100'),
      importOf(set, ...allowAll, '--skip-bad-rows', '100'),
    ]
    if (isFile && !path.endsWith('.zip')) return [fromList([at], made), ...judged(made)]
    const isSet = filesOf(path).some((one) => basename(one).toLowerCase() === 'manifest.csv')
    return [...judged(at), ...(isSet ? [] : [fromList([at], made), ...judged(made)])]
  })
  return { name, files, steps: [...steps, undo(...allowAll), history] }
}

/** A folder with files of the standard is a set, and any other zip, CSV file or workbook is one, too. */
function* setsBelow(path: string): Generator<string> {
  const entries = readdirSync(path, { withFileTypes: true })
  const tables = entries.filter((one) => one.isFile() && /\.csv$/i.test(one.name))
  if (tables.length > 1 || tables.some(({ name }) => ofTheStandard.test(name))) {
    if (sizeOf(path) < bytesMax) yield path
    return
  }
  for (const one of entries) {
    const inside = join(path, one.name)
    if (one.isDirectory()) yield* setsBelow(inside)
    else if (/\.(zip|csv|xlsx)$/i.test(one.name) && statSync(inside).size < bytesMax) yield inside
  }
}

function filesOf(path: string): string[] {
  if (statSync(path).isFile()) return [path]
  const entries = readdirSync(path, { withFileTypes: true, recursive: true })
  return entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
}

const sizeOf = (path: string) => filesOf(path).reduce((sum, one) => sum + statSync(one).size, 0)
