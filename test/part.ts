/** One process of `test/run.ts`: runs the files it is given, one after the other, and tells its parent the outcome. */
import { relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

export interface Failure {
  readonly file: string
  readonly test?: string
  readonly error?: string
}

export interface Told {
  /** In milliseconds. */
  readonly took: Readonly<Record<string, number>>
  readonly failed: readonly Failure[]
  /** The counts of the runner's summary: tests, suites, passed and so on. */
  readonly counts: Readonly<Record<string, number>>
}

// For tests and suites that would never end: on a busy machine the slowest file takes a quarter of it.
const testTimeoutMs = 60 * 60_000
const leaveAfterMs = 60_000
const mayLeaveOut = process.env.CHIRON_TEST_FAST !== undefined

const took: Record<string, number> = {}
const failed: Failure[] = []
let counts: Record<string, number> = {}
let open = 0
let leaving: NodeJS.Timeout | undefined

const files = process.argv.slice(2)
const tests = run({ files, isolation: 'none', timeout: testTimeoutMs })
tests.on('test:enqueue', ({ nesting }) => {
  if (nesting > 0) return
  open++
  clearTimeout(leaving)
})
tests.on('test:complete', ({ name, file = '', nesting, details, skip, todo }) => {
  const path = relative('', file)
  if (!mayLeaveOut && (skip || todo)) failed.push({ file: path, test: name, error: 'It was left out.' })
  if (!details.passed && !isOfAnother(details.error))
    failed.push({ file: path, test: name, error: shown(details.error) })
  if (nesting > 0) return
  took[path] = (took[path] ?? 0) + details.duration_ms
  // Whatever a failed test left running must not keep the process from ending. The parent then hears nothing.
  if (--open === 0) leaving = setTimeout(() => process.exit(1), leaveAfterMs).unref()
})
tests.on('test:summary', ({ success, counts: found }) => {
  counts = { ...found }
  // A hook outside all suites belongs to no file.
  if (!success && failed.length === 0) failed.push(...files.map((file) => ({ file })))
})
await pipeline(tests, new spec(), process.stdout, { end: false })
process.send?.({ took, failed, counts } satisfies Told)

/** Whether a suite failed only because of a test in it. */
function isOfAnother(error: Error | undefined): boolean {
  return (error as { failureType?: string } | undefined)?.failureType === 'subtestsFailed'
}

function shown(error: Error | undefined): string {
  const cause = error?.cause ?? error
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}
