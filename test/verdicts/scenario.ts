/** What is done with one or more sets: files, and the commands that run in their folder on a store of their own. */

export interface Step {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** How many days have passed since the step before. */
  readonly days?: number
}

export interface Scenario {
  readonly name: string
  /** By path; a folder by the paths of its files. */
  readonly files: Readonly<Record<string, string | Buffer>>
  readonly steps: readonly Step[]
}

export type SetFiles = Readonly<Record<string, string | Buffer>>

export const inFolder = (folder: string, files: SetFiles) =>
  Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]))

const all = [
  ...['leavers', 'changes', 'teachers', 'terms', 'classes', 'enrolments'],
  ...['numbers', 'addresses', 'identities', 'mode', 'stale'],
].join(',')
export const allowAll = ['--allow', all]

/** With every change and every finding. */
export const check = (path: string, ...options: string[]): Step => ({
  args: ['roster', 'check', path, '--json', '--verbose', ...options],
})
/** The text for people, with the report for those who made the file. */
export const checkAsText = (path: string, ...options: string[]): Step => ({
  args: ['roster', 'check', path, '--verbose', '--report', 'report.txt', ...options],
})
export const importOf = (path: string, ...options: string[]): Step => ({
  args: ['roster', 'import', path, '--json', '--yes', ...options],
})
export const undo = (...options: string[]): Step => ({
  args: ['roster', 'undo', '--json', '--verbose', '--yes', ...options],
})
export const history: Step = { args: ['roster', 'history', '--json'] }
export const correct = (who: string, ...options: string[]): Step => ({
  args: ['roster', 'correct', who, '--json', ...options],
})
export const corrections: Step = { args: ['roster', 'correct', '--list', '--json'] }
export const fromList = (files: readonly string[], out: string, ...options: string[]): Step => ({
  args: ['roster', 'from-list', ...files, '--out', out, '--json', '--verbose', ...options],
})

/** Every option that says how a set is read. */
export const everyWay: readonly (readonly string[])[] = [
  [],
  ['--bulk'],
  ['--delta'],
  ['--match', 'number'],
  ['--match', 'address'],
  ['--skip-bad-rows', '2'],
  ['--skip-bad-rows', '1000'],
]
