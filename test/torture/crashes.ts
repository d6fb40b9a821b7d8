/**
 * kill -9 of the whole service under load, again and again on one store; on SQLite also power cuts, which take what was
 * written and not synced. What was acknowledged must be there afterwards.
 */
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileOf, openDb } from '../../src/platform/db/open.ts'
import { deriveCode } from '../../src/platform/lib/code.ts'
import { secretsFrom } from '../../src/platform/lib/secret.ts'
import { type ServingChild, serveStore } from '../support/child.ts'
import { type Engine, newStore } from '../support/engines.ts'
import { newFaults } from '../support/faults.ts'
import { startMailServer } from '../support/smtp.ts'
import { eventually } from '../support/wait.ts'

const secret = 'crashes-51d7c0a9e34b428f96d2'.repeat(2)
const clientCount = 8

interface Acknowledged {
  readonly registered: Set<string>
  /** By session, the address that its code was mailed to. */
  readonly sent: Map<string, string>
  /** By session, the newest refresh token that came back, and how many were given. */
  readonly signedIn: Map<string, { email: string; refresh: string; rotations: number }>
  /** The end of these was asked for; whether it came about is not known unless it was answered. */
  readonly leaving: Set<string>
  readonly signedOut: Set<string>
}

export interface CrashReport {
  readonly kills: number
  readonly registered: number
  readonly sent: number
  readonly signedIn: number
  readonly refreshed: number
  readonly signedOut: number
  readonly mails: number
  readonly mailsTwice: number
  /** By power cuts. */
  readonly lostWrites?: number
}

export interface CrashOptions {
  readonly engine: Engine
  readonly workers: 1 | 2
  /** How many sign-ins are acknowledged before each kill. */
  readonly lives: readonly number[]
  /** Each kill is a power cut. `unsynced`: on a disk that only says that it syncs. */
  readonly power?: 'cut' | 'cut, unsynced'
}

export async function crashes({ engine, workers, lives, power }: CrashOptions): Promise<CrashReport> {
  const store = await newStore(engine)
  const mail = await startMailServer()
  const noted: Acknowledged = {
    registered: new Set(),
    sent: new Map(),
    signedIn: new Map(),
    leaving: new Set(),
    signedOut: new Set(),
  }
  const file = fileOf(store.url)
  const faults = power === undefined ? undefined : newFaults(dirname(file!))
  if (power === 'cut, unsynced') faults!.failSyncs('lies')
  const env = {
    CHIRON_LIMITS: 'off',
    CHIRON_SECRET: secret,
    CHIRON_WORKERS: String(workers),
  }
  const serve = () => serveStore(store.url, mail, { ...env, ...faults?.begin() })
  let lostWrites = 0
  let child: ServingChild | undefined
  try {
    for (const [life, signIns] of lives.entries()) {
      child = await serve()
      const target = child
      const load = Promise.all(
        Array.from({ length: clientCount }, (_, client) => hammer(target, noted, `l${life}c${client}`)),
      )
      const before = noted.signedIn.size
      await eventually('enough is acknowledged', () => noted.signedIn.size >= before + signIns)
      // Workers are in the same group, and go with the primary.
      process.kill(-child.pid, 'SIGKILL')
      await child.exited
      await load
      if (faults) lostWrites += faults.losePower(power === 'cut, unsynced' ? 'none' : 'some')
      if (file !== null) checkSound(file)
    }
    child = await serve()
    await check(child, store.url, noted)
    const mailsTwice = await checkMails(store.url, noted, mail.received, lives.length)
    return {
      kills: lives.length,
      registered: noted.registered.size,
      sent: noted.sent.size,
      signedIn: noted.signedIn.size,
      refreshed: [...noted.signedIn.values()].reduce((sum, { rotations }) => sum + rotations, 0),
      signedOut: noted.signedOut.size,
      mails: mail.received.length,
      mailsTwice,
      ...(faults && { lostWrites }),
    }
  } finally {
    await child?.end('SIGKILL')
    faults?.remove()
    await mail.close()
    await store.remove()
  }
}

export function checkSound(file: string): void {
  const database = new DatabaseSync(file)
  try {
    assert.deepEqual(
      database
        .prepare('pragma integrity_check')
        .all()
        .map(({ integrity_check }) => integrity_check),
      ['ok'],
    )
  } finally {
    database.close()
  }
}

const keys = secretsFrom(secret, null).current

/** Registers, signs in, refreshes and signs out until the service goes away. Records only what was answered. */
async function hammer(target: ServingChild, noted: Acknowledged, name: string): Promise<void> {
  try {
    for (let n = 0; ; n++) {
      const email = `${name}n${n}@crash.example`
      const person = { firstname: 'Ada', lastname: 'Marsh', email }
      assert.equal((await target.post('/veterinarian/register', person)).status, 202)
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
      if (n % 4 !== 3) continue
      const token = started.json.access_token
      noted.leaving.add(sessionId)
      assert.equal((await target.request('/session', { method: 'DELETE', token })).status, 204)
      noted.signedOut.add(sessionId)
    }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(code)) throw error
  }
}

async function check(target: ServingChild, url: string, noted: Acknowledged): Promise<void> {
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
async function checkMails(
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
