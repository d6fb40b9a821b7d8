/**
 * `npm run mutation -- --minutes N`: puts one small fault after another into the code that decides who gets in, and
 * runs the tests. A fault that no test notices has survived. Which faults are tried in the time is drawn by lot
 * (`--seed`); the score and the survivors go to docs/mutation.md. `--only sign-in` takes the files whose path has it.
 * `--continue` goes on where the last run ended, and tries its survivors again: a new test may notice them.
 */
import { spawn } from 'node:child_process'
import { hash, randomInt } from 'node:crypto'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Mutant, mutantsOf } from './mutate.ts'
import { explained } from './survivors.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const targets = [
  'src/identity/sign-in/*.ts',
  'src/identity/session/*.ts',
  'src/messages/mail/outbox.ts',
  'src/messages/mail/store.ts',
  'src/messages/queue/*.ts',
  'src/identity/limits/*.ts',
  'src/platform/db/limits.ts',
  'src/platform/http/limits.ts',
  'src/platform/http/refusals.ts',
]
const resultsFile = join(root, 'test/output/mutation.json')
/** Tests wait more than they work. */
const slots = 3 * availableParallelism()
/** A test file that takes so much longer than without a fault hangs: the fault is noticed. */
const patience = 5
const patienceMs = 10_000
/** So many test files are asked one by one; whoever survives them meets all others in one process, which is quicker. */
const oneByOne = 6

interface Tried {
  readonly file: string
  readonly mutant: Mutant
  readonly line: number
  readonly from: string
  readonly to: string
  /** The test file that noticed, or one of several. */
  readonly killedBy: string | null
}

interface LastRun {
  /** A hash of the source files: in others, the faults would be other ones. */
  readonly sources: string
  readonly seed: number
  readonly minutes: number
  readonly tried: readonly Tried[]
}

/** Which parts of which source files a test file runs. */
interface Reach {
  readonly test: string
  readonly ms: number
  /** How many faults in which source file it noticed. */
  readonly noticed: Map<string, number>
  reaches(file: string, offset: number): boolean
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string' },
    continue: { type: 'boolean', default: false },
  },
})
const say = (line: string) => process.stdout.write(`${line}\n`)

const folder = mkdtempSync(join(tmpdir(), 'chiron-mutation-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
let until = Number.POSITIVE_INFINITY
// Ends with what was tried so far.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    until = 0
  })

const files = targets
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .filter((file) => values.only === undefined || file.includes(values.only))
const all = files.flatMap((file) =>
  mutantsOf(readFileSync(join(root, file), 'utf8')).map((mutant) => ({ file, mutant })),
)
const sources = hash('sha256', files.map((file) => readFileSync(join(root, file))).join('\0'))
const before = values.continue ? lastRun() : null
const minutes = Number(values.minutes ?? 60)
const minutesInAll = minutes + (before?.minutes ?? 0)
const seed = before?.seed ?? Number(values.seed ?? randomInt(2 ** 31))
say(`seed ${seed}; ${all.length} possible faults in ${files.length} files`)

process.env.CHIRON_TEST_FAST = 'at length'
// It reads what is set above.
const { globalSetup, globalTeardown } = await import('../support/setup.ts')
await globalSetup()
const copies = Array.from({ length: slots }, (_, slot) => copyOfTree(join(folder, String(slot))))
const reach = await reachOfTests()
until = Math.min(until, Date.now() + minutes * 60_000)
const tried: Tried[] = before?.tried.filter(({ killedBy }) => killedBy !== null) ?? []
const noticedBefore = new Set(tried.map(keyOf))
const survivedBefore = new Set(before?.tried.map(keyOf))
const left = shuffled(all, seed).filter((one) => !noticedBefore.has(keyOf(one)))
// The last ones are tried first.
const waiting = left.sort(
  (a, b) => Number(survivedBefore.has(keyOf(a))) - Number(survivedBefore.has(keyOf(b))),
)
await Promise.all(copies.map(tryWaiting))
await globalTeardown()
writeFileSync(join(root, 'docs/mutation.md'), page())
mkdirSync(join(root, 'test/output'), { recursive: true })
writeFileSync(resultsFile, JSON.stringify({ sources, seed, minutes: minutesInAll, tried } satisfies LastRun))
say(`score ${score(tried.length)} %`)

function lastRun(): LastRun {
  const last: LastRun = JSON.parse(readFileSync(resultsFile, 'utf8'))
  if (last.sources !== sources) throw new Error('the code has changed since the last run; start over')
  return last
}

function keyOf({ file, mutant }: Pick<Tried, 'file' | 'mutant'>): string {
  return `${file} ${mutant.start} ${mutant.end} ${mutant.text}`
}

function copyOfTree(to: string): string {
  mkdirSync(to)
  for (const name of readdirSync(root))
    if (name === 'node_modules') symlinkSync(join(root, name), join(to, name))
    else if (name !== '.git') cpSync(join(root, name), join(to, name), { recursive: true })
  return to
}

/** Runs every test file once, unchanged, and asks V8 what it ran. */
async function reachOfTests(): Promise<Reach[]> {
  const tests = globSync('test/*.test.ts', { cwd: root })
  const found: Reach[] = []
  await Promise.all(
    copies.map(async (copy) => {
      for (let test = tests.pop(); test !== undefined; test = tests.pop()) {
        const coverage = join(folder, `coverage-${basename(test)}`)
        const began = Date.now()
        const passed = await passes(copy, [test], 10 * 60_000, { NODE_V8_COVERAGE: coverage })
        const ms = Date.now() - began
        if (!passed) say(`${test} fails by itself and is left out`)
        else found.push({ test, ms, noticed: new Map(), reaches: reachesBy(coverage) })
        rmSync(coverage, { recursive: true, force: true })
      }
    }),
  )
  return found.toSorted((a, b) => a.ms - b.ms)
}

interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

function reachesBy(coverage: string): Reach['reaches'] {
  const processes: Map<string, Range[]>[] = []
  for (const name of globSync('*.json', { cwd: coverage })) {
    const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8')) as {
      result: { url: string; functions: { ranges: Range[] }[] }[]
    }
    const ranges = new Map<string, Range[]>()
    for (const { url, functions } of result) {
      const file = files.find((one) => url.endsWith(`/${one}`))
      if (file !== undefined)
        ranges.set(
          file,
          functions.flatMap((one) => one.ranges),
        )
    }
    processes.push(ranges)
  }
  return (file, offset) =>
    processes.some((ranges) => (innermost(ranges.get(file) ?? [], offset)?.count ?? 0) > 0)
}

function innermost(ranges: readonly Range[], offset: number): Range | undefined {
  let found: Range | undefined
  for (const range of ranges)
    if (range.startOffset <= offset && offset < range.endOffset)
      if (found === undefined || range.endOffset - range.startOffset <= found.endOffset - found.startOffset)
        found = range
  return found
}

async function tryWaiting(copy: string): Promise<void> {
  for (let one = waiting.pop(); one !== undefined && Date.now() < until; one = waiting.pop()) {
    const { file, mutant } = one
    const source = readFileSync(join(root, file), 'utf8')
    writeFileSync(join(copy, file), source.slice(0, mutant.start) + mutant.text + source.slice(mutant.end))
    const killedBy = await killer(copy, file, mutant)
    writeFileSync(join(copy, file), source)
    const outcome: Tried = {
      file,
      mutant,
      line: source.slice(0, mutant.start).split('\n').length,
      from: source.slice(mutant.start, mutant.end),
      to: mutant.text,
      killedBy,
    }
    tried.push(outcome)
    say(killedBy === null ? `SURVIVED ${describe(outcome)}` : `noticed  ${describe(outcome)} by ${killedBy}`)
  }
}

/** Asks the quick tests first that noticed most in this file, or whose name says that they are about it. */
async function killer(copy: string, file: string, mutant: Mutant): Promise<string | null> {
  const words = file.split(/[/.]/).slice(1, -1)
  const isAbout = (test: string) => words.some((word) => basename(test).startsWith(word))
  const promise = ({ test, noticed, ms }: Reach) =>
    ((noticed.get(file) ?? 0) + (isAbout(test) ? 1 : 0.1)) / ms
  const order = reach
    .filter(({ reaches }) => reaches(file, mutant.start))
    .toSorted((a, b) => promise(b) - promise(a))
  for (const { test, ms, noticed } of order.slice(0, oneByOne)) {
    if (await passes(copy, [test], patience * ms + patienceMs)) continue
    noticed.set(file, (noticed.get(file) ?? 0) + 1)
    return test
  }
  const others = order.slice(oneByOne)
  if (others.length === 0) return null
  const ms = others.reduce((sum, one) => sum + one.ms, 0)
  const tests = others.map(({ test }) => test)
  // The slow tests too, but only if the quick ones have noticed nothing.
  for (const which of ['yes', 'at length'])
    if (!(await passes(copy, tests, ms + patienceMs, { CHIRON_TEST_FAST: which })))
      return `one of ${tests.length} others`
  return null
}

/** Ends with the first test that fails. */
function passes(
  copy: string,
  tests: readonly string[],
  timeoutMs: number,
  env: Record<string, string> = {},
): Promise<boolean> {
  return new Promise((resolve) => {
    const options = ['--test-force-exit', '--test-reporter=tap']
    if (tests.length > 1) options.push('--test', '--test-isolation=none')
    const child = spawn(process.execPath, [...options, ...tests], {
      cwd: copy,
      env: { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled'), ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    const end = () => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // Already gone.
      }
    }
    const timer = setTimeout(end, timeoutMs)
    createInterface(child.stdout).on('line', (line) => {
      if (/^\s*not ok/.test(line)) end()
    })
    child.on('exit', (code) => {
      clearTimeout(timer)
      resolve(code === 0)
    })
  })
}

function shuffled<T>(list: readonly T[], from: number): T[] {
  const result = [...list]
  let state = from
  for (let i = result.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const j = state % (i + 1)
    ;[result[i], result[j]] = [result[j]!, result[i]!]
  }
  return result
}

function describe({ file, line, from, to }: Tried): string {
  const short = (text: string) => text.replace(/\s+/g, ' ').slice(0, 70)
  return `${file}:${line} \`${short(from)}\` → \`${short(to)}\``
}

function noticed(): Tried[] {
  return tried.filter(({ killedBy }) => killedBy !== null)
}

/** How many of a hundred were noticed. */
function score(of: number): string {
  return ((100 * noticed().length) / of).toFixed(1)
}

function page(): string {
  const survivors = tried.filter(({ killedBy }) => killedBy === null)
  const harmful = tried.length - survivors.filter((one) => reasonOf(one) !== null).length
  const rows = survivors.map(
    (one) => `| ${describe(one).replaceAll('|', '\\|')} | ${reasonOf(one) ?? 'not explained yet'} |`,
  )
  return `# Mutation testing

Written by \`npm run mutation -- --minutes ${minutesInAll} --seed ${seed}\` on ${new Date().toISOString().slice(0, 10)}. It puts small faults,
one at a time, into sign-in, sessions, the outbox and the limits, and runs the tests that reach each, on SQLite and without a
browser. A fault that no test detects has survived.

- possible faults: ${all.length.toLocaleString('en')}
- tried, chosen at random: ${tried.length.toLocaleString('en')}
- detected: ${noticed().length.toLocaleString('en')} (${score(tried.length)} %)
- survived: ${survivors.length.toLocaleString('en')}, of which ${(tried.length - harmful).toLocaleString('en')} are harmless, as explained below; of all others ${score(harmful)} % were detected

| survivor | why |
| --- | --- |
${rows.sort().join('\n')}

${whyNotStryker()}`
}

/** Written by hand; kept from the page as it is. */
function whyNotStryker(): string {
  const page = readFileSync(join(root, 'docs/mutation.md'), 'utf8')
  return page.slice(page.indexOf('## Why not Stryker'))
}

function reasonOf({ file, line, to }: Tried): string | null {
  const text = readFileSync(join(root, file), 'utf8').split('\n')[line - 1]!
  const is = (one: (typeof explained)[number]) =>
    one.file === file && text.includes(one.line) && (one.to === undefined || one.to === to)
  return explained.find(is)?.why ?? null
}
