/**
 * `npm test`: types, format and lint, dead code and the portal's build, all at once, then every test unless one of those
 * failed. `--fast`: the quick tests alone, on SQLite and without a browser; of files that are named, also the slow tests.
 * `--pictures`: screens of the portal and the console are kept in test/output.
 */
import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Failure, Told } from './part.ts'

type Step = readonly [name: string, command: string, ...args: string[]]

const steps: readonly Step[] = [
  ['types', 'tsc', '-p', '.'],
  ['types of the portal', 'tsc', '-p', 'web'],
  ['format and lint', 'biome', 'check', '--error-on-warnings', '.'],
  ['dead code', 'knip'],
  ['the portal', 'node', 'web/make.ts', '--if-changed'],
]
const installing: Step = ['programs of the machine', 'node', 'test/support/install.ts']
// What all processes import is compiled once.
const compiled = fileURLToPath(new URL('../node_modules/.cache/chiron-test', import.meta.url))
const part = fileURLToPath(new URL('part.ts', import.meta.url))
// Tests wait as often as they work. More at once take longer in all.
const partsAtOnce = availableParallelism() * 2
/**
 * Loading and warming up the service takes longer than many files do, and so does Chromium: files share processes. The
 * kinds that take longest begin, in small parts, so that none of them is left at the end.
 */
const kinds: readonly { mentions: RegExp; filesMax: number }[] = [
  { mentions: /\bstartReader\b/, filesMax: 1 },
  { mentions: /\binBrowser\b/, filesMax: 5 },
  { mentions: /\batLength\b/, filesMax: 3 },
  { mentions: /./, filesMax: 6 },
]
const slowestShown = 10
const errorLinesMax = 30
const shared = '/dev/shm'
const sharedBytesMin = 4 * 1024 ** 3

const { values, positionals: named } = parseArgs({
  allowPositionals: true,
  options: { fast: { type: 'boolean' }, pictures: { type: 'boolean' } },
})
const { fast = false, pictures = false } = values

process.env.NODE_COMPILE_CACHE ??= compiled
process.env.TMPDIR ??= inMemory() ?? tmpdir()
if (pictures) process.env.CHIRON_TEST_PICTURES = 'yes'
const files = named.length > 0 ? named : globSync('test/**/*.test.ts').sort()
if (fast) process.env.CHIRON_TEST_FAST = named.length > 0 ? 'at length' : 'yes'
else {
  delete process.env.CHIRON_TEST_FAST
  const before = named.length > 0 ? steps : [...steps, installing]
  const checked = await Promise.all(before.map((step) => check(...step)))
  if (!checked.every(({ fine }) => fine)) process.exit(1)
}
// It reads what is set above.
const { globalSetup, globalTeardown } = await import('./support/setup.ts')
await globalSetup()
await test(fast ? dealt(files, partsAtOnce) : partsByKind(files))
await globalTeardown()

/** Stores of tests are written and flushed all the time; a disk would make them wait. */
function inMemory(): string | undefined {
  if (!existsSync(shared)) return undefined
  const { bavail, bsize } = statfsSync(shared)
  return bavail * bsize > sharedBytesMin ? shared : undefined
}

/** Shows its lines together when it ends, and gives what it tells of itself. */
function check(name: string, command: string, ...args: string[]): Promise<{ fine: boolean; told?: Told }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  const lines: Buffer[] = []
  let told: Told | undefined
  for (const stream of [child.stdout, child.stderr]) stream!.on('data', (chunk) => lines.push(chunk))
  child.on('message', (message: Told) => {
    told = message
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      process.stdout.write(`\n== ${name}\n${Buffer.concat(lines)}`)
      resolve({ fine: code === 0, ...(told && { told }) })
    })
  })
}

function partsByKind(files: readonly string[]): string[][] {
  const kindOf = (file: string) => {
    const text = readFileSync(file, 'utf8')
    return kinds.find(({ mentions }) => mentions.test(text))
  }
  const ofKind = Map.groupBy(files, kindOf)
  return kinds.flatMap((kind) => {
    const own = ofKind.get(kind) ?? []
    return dealt(own, Math.ceil(own.length / kind.filesMax))
  })
}

function dealt(files: readonly string[], count: number): string[][] {
  const parts = Array.from({ length: count }, (_, i) => files.filter((_, at) => at % count === i))
  return parts.filter((part) => part.length > 0)
}

/** Every part is a process. */
async function test(parts: readonly string[][]): Promise<void> {
  const waiting = [...parts]
  const took: [file: string, ms: number][] = []
  const failed: Failure[] = []
  const all: Record<string, number> = {}
  const worker = async () => {
    for (let own = waiting.shift(); own; own = waiting.shift()) {
      const { told } = await check(`tests of ${own.join(', ')}`, 'node', part, ...own)
      took.push(...Object.entries(told?.took ?? {}))
      for (const [name, count] of Object.entries(told?.counts ?? {})) all[name] = (all[name] ?? 0) + count
      // One that tells nothing was ended: something of its files kept running, or ended the process.
      failed.push(...(told?.failed ?? own.map((file) => ({ file }))))
    }
  }
  await Promise.all(Array.from({ length: partsAtOnce }, worker))
  process.stdout.write(`\n== all tests\n${summary(all)}${slowest(took)}`)
  process.stdout.write(failed.length > 0 ? failures(failed) : '\nAll tests passed.\n')
  if (failed.length > 0) process.exitCode = 1
}

/** The words of Node's runner. */
function summary(counts: Readonly<Record<string, number>>): string {
  const { tests = 0, suites = 0, passed = 0, cancelled = 0, skipped = 0, todo = 0 } = counts
  const fail = tests - passed - cancelled - skipped - todo
  const shown = {
    tests,
    suites,
    pass: passed,
    fail,
    cancelled,
    skipped,
    todo,
    duration_ms: performance.now(),
  }
  return Object.entries(shown)
    .map(([name, count]) => `ℹ ${name} ${count}\n`)
    .join('')
}

function slowest(took: readonly [file: string, ms: number][]): string {
  const first = took.toSorted(([, a], [, b]) => b - a).slice(0, slowestShown)
  const lines = first.map(([file, ms]) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}\n`)
  return `\nThe slowest of ${took.length} files:\n${lines.join('')}`
}

/** At the end, where they are found first. */
function failures(failed: readonly Failure[]): string {
  const entries = failed.map(({ file, test = 'The process ended early', error = '' }) =>
    [`${file}: ${test}`, ...error.split('\n').slice(0, errorLinesMax)].join('\n    '),
  )
  return `\nFailed:\n${entries.join('\n')}\n`
}
