import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { atLength, engines } from '../support/engines.ts'
import { crashes } from './crashes.ts'

suite('kill -9 under load', { ...atLength }, () => {
  for (const engine of engines)
    for (const workers of [1, 2] as const)
      test(`loses nothing that was acknowledged: ${engine}, ${workers} of them`, async () => {
        const report = await crashes({ engine, workers, lives: [1, 25] })
        assert.ok(report.signedIn > 0 && report.mails >= report.sent, JSON.stringify(report))
      })
})
