/**
 * The benchmark: `npm run bench`. Ten minutes on two cores, nothing to prepare, nothing left behind.
 *
 *   npm run bench                writes docs/performance.json, .md and .svg
 *   npm run bench -- --check     compares with docs/performance.json instead, and ends with 1 if something got slower
 *   npm run bench -- --quick     two minutes, fewer accounts and sweeps; prints and writes nothing
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { slower } from './check.ts'
import { measure, type Plan } from './measure.ts'
import { endAll } from './processes.ts'
import { kept, print, write } from './report.ts'

const whole: Plan = {
  sizes: {
    accounts: [1_000, 100_000, 1_000_000],
    tokens: 20_000,
    students: 20_000,
    classes: 1_500,
    peerUsers: 100_000,
    peerSessions: 20_000,
  },
  sweeps: [3, 5],
  sweepUntilSeconds: 370,
  passes: 1,
  workerSweeps: 3,
  starts: 3,
  durations: { bare: 0.3, request: 0.6, signIns: 1 },
  requestsForMemory: 1_000_000,
}

const quick: Plan = {
  sizes: {
    accounts: [1_000, 100_000],
    tokens: 4_000,
    students: 2_000,
    classes: 300,
    peerUsers: 10_000,
    peerSessions: 4_000,
  },
  sweeps: [2, 2],
  sweepUntilSeconds: 0,
  passes: 4,
  workerSweeps: 1,
  starts: 1,
  durations: { bare: 0.2, request: 0.4, signIns: 0.6 },
  requestsForMemory: 100_000,
}

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
})

const folder = mkdtempSync(join(tmpdir(), 'chiron-bench-'))
/** What undoes what was done, the last first. */
const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), endAll]
let cleaned: Promise<void> | undefined
async function cleanUp(): Promise<void> {
  for (const step of undo.toReversed()) await step()
}
async function giveUp(reason: unknown): Promise<void> {
  process.exitCode = 1
  cleaned ??= cleanUp()
  await cleaned
  if (reason instanceof Error) process.stderr.write(`${reason.stack}\n`)
  process.exit()
}
for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'uncaughtException']) process.on(event, giveUp)

try {
  const results = await measure(values.quick ? quick : whole, folder, (step) => undo.push(step))
  print(results)
  const failed = results.rows.filter((row) => row.failure !== null)
  for (const { id, failure } of failed) process.stdout.write(`FAILED ${id}: ${failure}\n`)
  const worse = values.check ? slower(kept(), results) : []
  for (const line of worse) process.stdout.write(`SLOWER ${line}\n`)
  if (values.check && worse.length === 0) process.stdout.write('Nothing got slower.\n')
  if (failed.length > 0 || worse.length > 0) process.exitCode = 1
  if (!values.check && !values.quick) write(results)
} catch (error) {
  // While it is being stopped everything fails, and that is not news.
  if (!cleaned) throw error
} finally {
  cleaned ??= cleanUp()
  await cleaned
}
