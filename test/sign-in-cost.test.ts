/**
 * The statements and transactions of a whole sign-in. On PostgreSQL every statement is a message to another process, and
 * on SQLite every transaction may be a commit. Whoever adds one has to change the numbers here.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db, Param } from '../src/platform/db/db.ts'
import { engines } from './support/engines.ts'
import { serviceFor } from './support/service.ts'
import { eventually } from './support/wait.ts'

interface Call {
  readonly kind: 'read' | 'transaction'
  readonly statements: number
  readonly params: readonly Param[]
}

/** Records every call of the store from now on. */
function recordCalls(db: Db): Call[] {
  const calls: Call[] = []
  const { all, one, run, tx } = db
  const noted =
    <Result>(kind: Call['kind'], call: (sql: string, params?: readonly Param[]) => Result) =>
    (sql: string, params: readonly Param[] = []) => {
      calls.push({ kind, statements: 1, params })
      return call(sql, params)
    }
  Object.assign(db, {
    all: noted('read', all),
    one: noted('read', one),
    run: noted('transaction', run),
    tx: (statements: Parameters<Db['tx']>[0]) => {
      const params = statements.flatMap((statement) => statement.params)
      calls.push({ kind: 'transaction', statements: statements.length, params })
      return tx(statements)
    },
  })
  return calls
}

const read = ['read', 1]
const transaction = (statements: number) => ['transaction', statements]

for (const engine of engines)
  test(`A sign-in is one transaction to send, two to validate and two for the mail, on ${engine}`, async (t) => {
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
        .filter(({ params }) => names.some((name) => params.includes(name)))
        .filter(({ params }) => !(params.length === 1 && params[0] === sessionId))
        .map(({ kind, statements }) => [kind, statements])
    await eventually('the mail is removed', async () => ours().length === 4)
    // The claim takes every mail that is due, after one read to find them.
    assert.deepEqual(ours(), [transaction(6), transaction(1), read, transaction(2)])
    const body = { email, otp_code: code, sessionId }
    assert.equal((await service.post('/veterinarian/validate-otp', body, headers)).status, 200)
    assert.deepEqual(ours().slice(4), [read, transaction(6), transaction(3)])
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
    const isOurs = ({ params }: Call) => params.some((one) => /@|:validate-otp$/.test(String(one)))
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
