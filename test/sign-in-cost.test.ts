/**
 * The statements and transactions of a whole sign-in. On PostgreSQL every statement is a message to another process, and
 * on SQLite every transaction may be a commit. Whoever adds one has to change the numbers here.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db } from '../src/platform/db/db.ts'
import { engines } from './support/engines.ts'
import { type Call, recordStore } from './support/recorded.ts'
import { serviceFor } from './support/service.ts'
import { eventually } from './support/wait.ts'

function recordCalls(db: Db): Call[] {
  const calls: Call[] = []
  recordStore(db, (call) => calls.push(call))
  return calls
}

const paramsOf = ({ statements }: Call) => statements.flatMap(({ params }) => params)
const claims = ({ statements }: Call) =>
  statements.some(({ sql }) => sql.startsWith('update outbox set claimed_by'))
const read = ['read', 1]
const decision = (statements: number) => ['decision', statements]
const transaction = (statements: number) => ['transaction', statements]

for (const engine of engines)
  test(`A sign-in is one decision to send, one to validate and three transactions, on ${engine}`, async (t) => {
    const service = await serviceFor(t, engine)
    const email = 'cost@vets.example'
    await service.signIn(email)
    // With a wider network around it, and new to the address.
    const headers = { 'x-forwarded-for': '203.0.113.7' }
    const calls = recordCalls(service.app.parts.db)
    const { sessionId, code } = await service.code(email, headers)
    const [challenge] = await service.rows<{ send_id: string; inbox_fingerprint: string }>(
      'select send_id, inbox_fingerprint from challenge where id = $1',
      [sessionId],
    )
    const names = [sessionId, email, challenge!.send_id, challenge!.inbox_fingerprint]
    const ours = () =>
      calls
        .filter((call) => claims(call) || names.some((name) => paramsOf(call).includes(name)))
        .filter((call) => !(paramsOf(call).length === 1 && paramsOf(call)[0] === sessionId))
        .map(({ kind, statements }) => [kind, statements.length])
    await eventually('the mail is removed', async () => ours().length === 5)
    // The claim takes every mail that is due, after one read to find them.
    assert.deepEqual(ours(), [read, decision(10), transaction(1), read, transaction(2)])
    const body = { email, otp_code: code, sessionId }
    assert.equal((await service.post('/veterinarian/validate-otp', body, headers)).status, 200)
    assert.deepEqual(ours().slice(5), [read, decision(8), ['unsynced', 5]])
  })

for (const engine of engines)
  test(`A refused answer makes the same calls whether it is right or wrong, on ${engine}`, async (t) => {
    const service = await serviceFor(t, engine)
    const email = 'refused@vets.example'
    await service.signIn(email)
    const { sessionId, code } = await service.code(email)
    const { db } = service.app.parts
    await db.run("update bucket set full_at = $1 where key like '%:validate-otp'", [
      service.clock.now() + 3_600_000,
    ])
    const calls = recordCalls(db)
    // Not those of the service's periodic work.
    const isOurs = (call: Call) => paramsOf(call).some((one) => /@|:validate-otp$/.test(String(one)))
    const answer = async (otp_code: number) => {
      calls.length = 0
      const reply = await service.post('/veterinarian/validate-otp', { email, otp_code, sessionId })
      assert.equal(reply.status, 429)
      return calls.filter(isOurs).map(({ kind }) => kind)
    }
    const right = await answer(code)
    assert.ok(right.includes('read'))
    assert.deepEqual(await answer(code === 999_999 ? 100_000 : code + 1), right)
  })
