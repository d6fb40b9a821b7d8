/** Rosters of 20 million rows and more, good and bad, at the size that a zip may have. test/roster-bounds.test.ts is the short form. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { usualBounds } from '../../src/school/roster/bounds.ts'
import { clean12, type Files, writeFolder } from '../support/roster-files.ts'
import { oneCellRows, rowsOf } from '../support/roster-floods.ts'
import { openWorld } from '../support/roster-world.ts'

const rows = usualBounds.rowsMax + 3_000_000
/** What the bound on memory leaves out: the program, garbage, and holes between the lists. */
const spareMb = 700

const cases: readonly [code: string, files: () => Files][] = [
  ['too-many-errors', () => ({ 'users.csv': oneCellRows(rows) })],
  [
    'too-many-rows',
    () => ({
      'userProfiles.csv': rowsOf('sourcedId,userSourcedId', rows, (i) => `${i.toString(36)},u`),
    }),
  ],
  [
    'too-much-memory',
    () => ({
      'users.csv': rowsOf('sourcedId,givenName,familyName', 20_000_000, (i) => `${i.toString(36)},x,`),
    }),
  ],
]

export interface FloodReport {
  rosters: number
  millionRows: number
  processorSecondsAtMost: number
  megabytesAtMost: number
}

export async function floods(): Promise<FloodReport> {
  const report: FloodReport = { rosters: 0, millionRows: 0, processorSecondsAtMost: 0, megabytesAtMost: 0 }
  const world = await openWorld('sqlite')
  try {
    for (const [code, files] of cases) {
      const path = writeFolder({ ...clean12, ...files() })
      const before = process.cpuUsage()
      let most = 0
      const note = () => {
        most = Math.max(most, Math.round(process.memoryUsage.rss() / 1024 / 1024))
      }
      const { findings, file } = await world.roster.plan(path, { onProgress: note })
      rmSync(path, { recursive: true })
      assert.equal(findings[0]?.code, code)
      assert.ok(most < usualBounds.memoryOctetsMax / 1024 / 1024 + spareMb, `${most} MB`)
      report.rosters++
      report.millionRows += Math.round(file.rows / 1_000_000)
      const { user, system } = process.cpuUsage(before)
      const seconds = Math.round((user + system) / 1_000_000)
      report.processorSecondsAtMost = Math.max(report.processorSecondsAtMost, seconds)
      report.megabytesAtMost = Math.max(report.megabytesAtMost, most)
    }
    return report
  } finally {
    await world.close()
  }
}
