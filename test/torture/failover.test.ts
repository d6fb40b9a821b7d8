import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onPostgres } from '../support/engines.ts'
import { failover } from './failover.ts'

test(
  'A failover of PostgreSQL loses nothing that was acknowledged, and the old primary is not written to',
  onPostgres,
  async () => {
    const report = await failover()
    assert.ok(report.acknowledged >= 150, JSON.stringify(report))
  },
)
