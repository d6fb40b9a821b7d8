/** What the service acknowledged under load, and whether it is there afterwards. */
import assert from 'node:assert/strict'
import { openDb } from '../../src/platform/db/open.ts'
import { deriveCode } from '../../src/platform/lib/code.ts'
import { secretsFrom } from '../../src/platform/lib/secret.ts'
import type { Calls } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

/** The service under this load has it, so that codes need not be read from mails. */
export const loadSecret = 'crashes-51d7c0a9e34b428f96d2'.repeat(2)
const keys = secretsFrom(loadSecret, null).current

export class Acknowledged {
  readonly registered = new Set<string>()
  /** By session, the address that its code was mailed to. */
  readonly sent = new Map<string, string>()
  /** By session, the newest refresh token that came back, and how many were given. */
  readonly signedIn = new Map<string, { email: string; refresh: string; rotations: number }>()
  /** The end of these was asked for; whether it came about is not known unless it was answered. */
  readonly leaving = new Set<string>()
  readonly signedOut = new Set<string>()

  counts() {
    return {
      registered: this.registered.size,
      sent: this.sent.size,
      signedIn: this.signedIn.size,
      refreshed: [...this.signedIn.values()].reduce((sum, { rotations }) => sum + rotations, 0),
      signedOut: this.signedOut.size,
    }
  }
}

/** The nth person registers and signs in; some refresh, and some sign out. Records only what was answered. */
export async function passThrough(
  target: Calls,
  noted: Acknowledged,
  email: string,
  n: number,
): Promise<void> {
  const person = { firstname: 'Ada', lastname: 'Marsh', email }
  const registered = await target.post('/veterinarian/register', person)
  assert.equal(registered.status, 202, registered.text)
  noted.registered.add(email)
  const sent = await target.post('/veterinarian/send-otp', { email })
  assert.equal(sent.status, 202, sent.text)
  const { sessionId } = sent.json
  noted.sent.set(sessionId, email)
  const otp_code = deriveCode(keys, { role: 'veterinarian', sessionId, addressKey: email, digits: 6 })
  const started = await target.post('/veterinarian/validate-otp', { email, otp_code, sessionId })
  assert.equal(started.status, 200, started.text)
  const session = { email, refresh: started.json.refresh_token, rotations: 0 }
  noted.signedIn.set(sessionId, session)
  for (let i = 0; i < n % 3; i++) {
    const refreshed = await target.post('/session/refresh', { refresh_token: session.refresh })
    assert.equal(refreshed.status, 200, refreshed.text)
    session.refresh = refreshed.json.refresh_token
    session.rotations++
  }
  if (n % 4 !== 3) return
  const token = started.json.access_token
  noted.leaving.add(sessionId)
  const left = await target.request('/session', { method: 'DELETE', token })
  assert.equal(left.status, 204, left.text)
  noted.signedOut.add(sessionId)
}

export async function checkKept(target: Calls, url: string, noted: Acknowledged): Promise<void> {
  const db = openDb(url)
  try {
    await eventually('registrations are applied', async () => {
      const [row] = await db.all<{ count: number }>('select count(*) as count from registration')
      return row!.count === 0
    })
    const people = await db.all<{ email_key: string }>('select email_key from person')
    const known = new Set(people.map(({ email_key }) => email_key))
    for (const email of noted.registered) assert.ok(known.has(email), `${email} was registered`)

    const sessions = new Map(
      (
        await db.all<{ id: string; refresh_seq: number; end_reason: string | null }>(
          'select id, refresh_seq, end_reason from session',
        )
      ).map((row) => [row.id, row]),
    )
    for (const [id, { rotations }] of noted.signedIn) {
      const row = sessions.get(id)
      assert.ok(row, `the session ${id} was started`)
      assert.ok(row.refresh_seq > rotations, `the session ${id} was refreshed`)
      if (noted.signedOut.has(id)) assert.equal(row.end_reason, 'signed-out')
    }

    const events = await db.all<{ type: string; session_id: string }>(
      "select type, session_id from event where type in ('session.started', 'session.ended')",
    )
    const count = new Map<string, number>()
    for (const { type, session_id } of events) {
      const name = `${type} ${session_id}`
      count.set(name, (count.get(name) ?? 0) + 1)
    }
    for (const [name, times] of count) assert.equal(times, 1, name)
    for (const [id, { end_reason }] of sessions) {
      assert.ok(count.has(`session.started ${id}`), `the start of ${id} is an event`)
      assert.equal(count.has(`session.ended ${id}`), end_reason !== null, `the end of ${id}`)
    }
  } finally {
    await db.close()
  }
  for (const [id, { refresh }] of [...noted.signedIn].filter((_, i) => i % 7 === 0)) {
    const reply = await target.post('/session/refresh', { refresh_token: refresh })
    if (noted.signedOut.has(id)) assert.equal(reply.status, 401, reply.text)
    else if (!noted.leaving.has(id)) assert.equal(reply.status, 200, reply.text)
  }
}

/** Every acknowledged code was mailed, and none more often than once and once for each kill. Returns how many went twice. */
export async function checkMails(
  url: string,
  noted: Acknowledged,
  received: readonly { to: string }[],
  kills: number,
): Promise<number> {
  const db = openDb(url)
  try {
    // What a dead process had claimed is due when its lease is over; bring that moment forward.
    await db.run('update outbox set next_at = 0')
    await eventually(
      'the outbox is empty',
      async () => (await db.all('select id from outbox limit 1')).length === 0,
    )
  } finally {
    await db.close()
  }
  const times = new Map<string, number>()
  for (const { to } of received) times.set(to, (times.get(to) ?? 0) + 1)
  for (const email of noted.sent.values()) assert.ok(times.has(email), `${email} got its code`)
  const twice = [...times.values()].filter((count) => count > 1)
  assert.ok(twice.every((count) => count <= 1 + kills))
  return twice.length
}
