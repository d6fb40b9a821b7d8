import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { atLength } from '../support/engines.ts'
import { openWorld, type World } from '../support/roster-world.ts'
import { archives, FileFuzzer, texts } from './roster-files.ts'

suite('Roster files that were changed by chance or to harm', atLength, () => {
  let world: World
  before(async () => {
    world = await openWorld('sqlite')
  })
  after(() => world.close())

  test('as folders end in findings, never in a crash', async () => {
    const fuzzer = new FileFuzzer(world)
    await fc.assert(
      fc.asyncProperty(texts, (files) => fuzzer.folder(files)),
      { numRuns: 100 },
    )
    assert.ok(fuzzer.report.refused > 25, JSON.stringify(fuzzer.report))
  })

  test('as zips end in findings, never in a crash', async () => {
    const fuzzer = new FileFuzzer(world)
    await fc.assert(
      fc.asyncProperty(archives, (archive) => fuzzer.zip(archive)),
      { numRuns: 100 },
    )
    assert.ok(fuzzer.report.refused > 25, JSON.stringify(fuzzer.report))
  })
})
