/**
 * Keeps the sets that tests write, for `--sets`. Loaded into each process of a test run, with a folder of one's own:
 *
 *   CHIRON_KEPT_SETS=/tmp/kept NODE_OPTIONS=--import=$PWD/test/verdicts/keep.ts CHIRON_TEST_FAST='at length' \
 *     node --test --test-global-setup=test/support/setup.ts test/roster-*.test.ts
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'

const { mkdtempSync } = fs
const made: string[] = []

fs.mkdtempSync = ((prefix: string) => {
  const folder = mkdtempSync(prefix)
  if (prefix.endsWith('chiron-roster-')) made.push(folder)
  return folder
}) as typeof fs.mkdtempSync
syncBuiltinESMExports()

// Before the tests delete them.
process.on('exit', () => {
  const test = basename(process.argv.find((one) => one.endsWith('.test.ts')) ?? 'others', '.test.ts')
  for (const folder of made) fs.cpSync(folder, join(process.env.CHIRON_KEPT_SETS!, test), { recursive: true })
})
