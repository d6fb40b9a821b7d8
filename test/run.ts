/**
 * `npm test`: types, format and lint, dead code and the portal's build, all at once, then every test unless one of those
 * failed. `--fast`: the quick tests alone, on SQLite and without a browser; of files that are named, also the slow tests.
 * `--pictures`: screens of the portal and the console are kept in test/output.
 */
import { spawn } from 'node:child_process'
import { existsSync, globSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const steps: [name: string, command: string, ...args: string[]][] = [
  ['types', 'tsc', '-p', '.'],
  ['types of the portal', 'tsc', '-p', 'web'],
  ['format and lint', 'biome', 'check', '--error-on-warnings', '.'],
  ['dead code', 'knip'],
  ['the portal', 'node', 'web/make.ts'],
]
// What all processes import is compiled once.
const compiled = fileURLToPath(new URL('../node_modules/.cache/chiron-test', import.meta.url))
const leave = new URL('support/leave.ts', import.meta.url).href
// Files wait as often as they work. Each has stores, ports and mail servers of its own.
const filesAtOnce = availableParallelism() * 2
// Loading and warming up the service takes longer than most files do, so the quick tests share a few processes.
const fastProcesses = availableParallelism() * 3
// Of tests and of suites, only for what would never end: on a busy machine the slowest file takes a quarter of it.
const testTimeoutMs = 60 * 60_000
const slowestShown = 10
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
if (fast) {
  process.env.CHIRON_TEST_FAST = named.length > 0 ? 'at length' : 'yes'
  await withStores(testFast)
} else {
  delete process.env.CHIRON_TEST_FAST
  const fine = await Promise.all(steps.map((step) => check(...step)))
  if (fine.includes(false)) process.exit(1)
  await withStores(test)
}

/** Stores of tests are written and flushed all the time; a disk would make them wait. */
function inMemory(): string | undefined {
  if (!existsSync(shared)) return undefined
  const { bavail, bsize } = statfsSync(shared)
  return bavail * bsize > sharedBytesMin ? shared : undefined
}

/** Its lines are shown together when it ends. */
function check(name: string, command: string, ...args: string[]): Promise<boolean> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const lines: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => lines.push(chunk))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      process.stdout.write(`\n== ${name}\n${Buffer.concat(lines)}`)
      resolve(code === 0)
    })
  })
}

async function withStores(work: () => Promise<void>): Promise<void> {
  // It reads what is set above.
  const { globalSetup, globalTeardown } = await import('./support/setup.ts')
  await globalSetup()
  await work()
  await globalTeardown()
}

/** Processes share the files, and each runs its own one after the other. */
async function testFast(): Promise<void> {
  const options = ['--test', '--test-isolation=none', '--test-force-exit', '--test-reporter=spec']
  const processes = Array.from({ length: Math.min(fastProcesses, files.length) }, (_, i) => {
    const own = files.filter((_, at) => at % fastProcesses === i)
    return check(`tests, part ${i + 1}`, 'node', ...options, ...own)
  })
  const fine = await Promise.all(processes)
  process.stdout.write(fine.includes(false) ? '\nSome tests failed.\n' : '\nAll tests passed.\n')
  if (fine.includes(false)) process.exitCode = 1
}

/** Each file is a process. */
async function test(): Promise<void> {
  process.stdout.write('\n== tests\n')
  const took = new Map<string, number>()
  const leftOut: string[] = []
  const tests = run({
    files,
    concurrency: filesAtOnce,
    timeout: testTimeoutMs,
    execArgv: ['--import', leave],
  })
  tests.on('test:summary', ({ file, duration_ms, success }) => {
    if (file !== undefined) took.set(relative('', file), duration_ms)
    else if (!success) process.exitCode = 1
  })
  tests.on('test:pass', ({ name, skip, todo }) => {
    if (skip || todo) leftOut.push(name)
  })
  await pipeline(tests, new spec(), process.stdout, { end: false })
  process.stdout.write(slowest(took))
  const unreported = files.filter((file) => !took.has(relative('', file)))
  if (unreported.length > 0) {
    process.stdout.write(
      `\nStill running after their last test, which is a failure: ${unreported.join(', ')}\n`,
    )
    process.exitCode = 1
  }
  if (leftOut.length > 0) {
    process.stdout.write(`\nLeft out, which is a failure: ${leftOut.join(', ')}\n`)
    process.exitCode = 1
  }
}

function slowest(took: ReadonlyMap<string, number>): string {
  const first = [...took].toSorted(([, a], [, b]) => b - a).slice(0, slowestShown)
  const lines = first.map(([file, ms]) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}\n`)
  return `\nThe slowest of ${took.size} files:\n${lines.join('')}`
}
