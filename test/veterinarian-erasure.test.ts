import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { startService } from './support/service.ts'

test('After closing nothing personal is left in the bytes of the SQLite file', async () => {
  const service = await startService('sqlite')
  const email = 'theodolinda.vandersloot@clinic.example'
  await service.register(email, { firstname: 'Theodolinda', lastname: 'Vandersloot' })
  const { sessionId, code } = await service.code(email)
  const body = { email, otp_code: code, sessionId }
  const { json } = await service.post('/veterinarian/validate-otp', body)
  const file = service.databaseUrl.slice('sqlite:'.length)
  const found = () => {
    const own = new DatabaseSync(file)
    own.exec('pragma wal_checkpoint(truncate)')
    own.close()
    const bytes = readFileSync(file).toString('latin1')
    return ['Theodolinda', 'Vandersloot', 'vandersloot@'].filter((word) => bytes.includes(word))
  }
  const before = found()
  const closed = await service.request('/veterinarian/me', { method: 'DELETE', token: json.access_token })
  const after = found()
  await service.stop()
  assert.equal(before.length, 3)
  assert.equal(closed.status, 204)
  assert.deepEqual(after, [])
})
