import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { newFolder, serveChild } from '../support/child.ts'
import { atLength, engines } from '../support/engines.ts'
import { newFaults } from '../support/faults.ts'
import { checkSound, crashes } from './crashes.ts'

suite('kill -9 under load', { ...atLength }, () => {
  for (const engine of engines)
    for (const workers of [1, 2] as const)
      test(`loses nothing that was acknowledged: ${engine}, ${workers} of them`, async () => {
        const report = await crashes({ engine, workers, lives: [1, 25] })
        assert.ok(report.signedIn > 0 && report.mails >= report.sent, JSON.stringify(report))
      })
})

suite('A power cut under load', { ...atLength }, () => {
  test('loses nothing that was acknowledged, and leaves a sound store', async () => {
    const report = await crashes({ engine: 'sqlite', workers: 2, lives: [1, 10], power: 'cut' })
    assert.ok(report.signedIn > 0, JSON.stringify(report))
  })

  test('leaves the store and the secret that was made with it, once somebody was acknowledged', async () => {
    const folder = newFolder()
    const faults = newFaults(folder.path)
    const cwd = join(folder.path, 'of', 'the', 'service')
    mkdirSync(cwd, { recursive: true })
    try {
      const child = await serveChild({ cwd, env: faults.begin() })
      const person = { firstname: 'Ada', lastname: 'Marsh', email: 'ada@vets.example' }
      assert.equal((await child.post('/veterinarian/register', person)).status, 202)
      const secret = readFileSync(join(cwd, 'data/chiron.secret'), 'utf8')
      await child.end('SIGKILL')
      faults.losePower('none')
      assert.equal(readFileSync(join(cwd, 'data/chiron.secret'), 'utf8'), secret)
      checkSound(join(cwd, 'data/chiron.db'))
    } finally {
      faults.remove()
      folder.remove()
    }
  })

  test('loses much if the disk only says that it syncs, so the test would see it', async () => {
    const unsynced = crashes({ engine: 'sqlite', workers: 1, lives: [5], power: 'cut, unsynced' })
    await assert.rejects(unsynced, /was registered/)
  })
})
