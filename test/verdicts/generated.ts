/** Schools that live through some exports: good ones and damaged ones, corrections by hand, imports and undos. */
import { type School, schoolFiles } from '../support/roster-school.ts'
import { bulkOf, damaged, deltaOf, type Form, zipped } from './exports.ts'
import { Random } from './random.ts'
import {
  allowAll,
  check,
  checkAsText,
  correct,
  corrections,
  everyWay,
  history,
  importOf,
  inFolder,
  type Scenario,
  type SetFiles,
  type Step,
  undo,
} from './scenario.ts'
import { lived, randomSchool } from './schools.ts'

const count = 320
const settings: readonly Record<string, string>[] = [
  { CHIRON_ROSTER_BAD_ROWS: '3' },
  { CHIRON_ROSTER_BAD_ROWS: '20%' },
  { CHIRON_ROSTER_HOLDS: 'leavers:50,changes:5,addresses:40' },
  { CHIRON_ROSTER_HOLDS: 'terms:5,classes:5,enrolments:5,teachers:5,numbers:1,identities:10' },
]

export function generated(): Promise<Scenario[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => scenarioOf(i + 1)))
}

async function scenarioOf(seed: number): Promise<Scenario> {
  const random = new Random(seed)
  const schools = [randomSchool(random)]
  for (let n = 0; n < 2; n++) schools.push(laterOf(schools, random))
  const version = random.one(['1.2', '1.2', '1.1'] as const)
  const sets: Record<string, string | Buffer> = inFolder('set-1', bulkOf(schools[0]!, { version }))
  const paths = ['set-1']
  for (const [n, school] of schools.slice(1).entries()) {
    const form: Form = { version: random.is(0.9) ? version : '1.2', ...partly(random) }
    const isDelta = random.is(0.4)
    const clean = isDelta ? deltaOf([schools[n]!, school], form, random) : bulkOf(school, form)
    const files = damaged(clean, random, random.one([0, 0, 0, 1, 1, 2, 4]))
    const [path, packed] = await pack(files, `set-${n + 2}`, random)
    Object.assign(sets, packed)
    paths.push(path)
  }
  return { name: `generated: ${seed}`, files: sets, steps: stepsOf(paths, random) }
}

/** With what may be absent from a set, absent. */
function partly(random: Random): Pick<Form, 'files'> {
  return random.is(0.7) ? {} : { files: schoolFiles.filter(() => random.is(0.8)) }
}

/** A school again as it was, as both systems have it during a change, or a later one. */
function laterOf(schools: readonly School[], random: Random): School {
  const last = schools.at(-1)!
  if (schools.length > 1 && random.is(0.15)) return schools[0]!
  if (schools.length > 1 && random.is(0.15)) {
    const both = structuredClone(last)
    for (const [name, rows] of Object.entries(schools[0]!) as [keyof School, School[keyof School]][])
      for (const [id, cells] of rows) if (!both[name].has(id)) both[name].set(id, cells)
    return both
  }
  return lived(last, random, random.one([0, 1, 1, 1, 2, 3, 5]))
}

async function pack(
  files: SetFiles,
  name: string,
  random: Random,
): Promise<[path: string, packed: SetFiles]> {
  if (random.is(0.75) || Object.keys(files).length === 0)
    return [name, inFolder(name, Object.keys(files).length > 0 ? files : { '.keep': '' })]
  const zip = await zipped(files, random.one(['', '', 'export/']))
  if (random.is(0.1)) zip[random.below(zip.length)]! ^= 1 << random.below(8)
  return [`${name}.zip`, { [`${name}.zip`]: zip }]
}

function stepsOf([first, second, third]: readonly string[], random: Random): Step[] {
  const ways = () => [[], ...random.shuffled(everyWay.slice(1)).slice(0, 3), mixed(random)]
  const judged = (path: string): Step[] => [
    ...ways().map((options) => check(path, ...options)),
    checkAsText(path, ...random.one(everyWay)),
    { ...check(path), env: random.one(settings) },
  ]
  return [
    importOf(first!, ...allowAll, '--skip-bad-rows', '50'),
    ...byHand(random),
    ...judged(second!),
    importOf(second!, ...random.one(everyWay)),
    { ...importOf(second!, ...allowAll, ...mixed(random)), days: random.below(3) },
    ...byHand(random),
    ...judged(third!),
    { ...importOf(third!, ...allowAll, ...mixed(random)), days: random.below(40) },
    corrections,
    undo(),
    undo(...allowAll),
    undo('--to', String(random.below(4)), ...allowAll),
    importOf(second!, ...allowAll, '--skip-bad-rows', '1000'),
    check(first!),
    importOf(first!, ...allowAll),
    history,
  ]
}

const mixed = (random: Random): string[] => [
  ...random.one([[], [], ['--bulk'], ['--delta']]),
  ...random.one([[], ['--match', 'number'], ['--match', 'address']]),
  ...random.one([[], ['--skip-bad-rows', '1'], ['--skip-bad-rows', '1000']]),
]

function byHand(random: Random): Step[] {
  const who = () => `stu-${random.from(1, 5)}@school.example`
  return random.shuffled([
    ...(random.is(0.3) ? [correct(who(), '--email', `by-hand-${random.from(1, 3)}@school.example`)] : []),
    ...(random.is(0.2) ? [correct(who(), '--firstname', 'Renamed', '--lastname', 'Renamed')] : []),
    ...(random.is(0.1) ? [correct(who(), '--email', who())] : []),
    ...(random.is(0.1) ? [correct(who(), '--remove')] : []),
  ])
}
