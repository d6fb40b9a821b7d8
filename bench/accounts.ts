/**
 * Fills a store with accounts and live sessions, and writes their tokens to a file for load tests.
 *
 *   node bench/accounts.ts --veterinarians 1000000 --students 20000 --tokens 20000 --out tokens.jsonl
 *
 * Uses CHIRON_DATABASE_URL, CHIRON_SECRET, CHIRON_PUBLIC_URL and CHIRON_PORT, which must be the same as those of the
 * service. Veterinarians are written directly into the store. Students come from a roster import, with --classes and
 * --enrolments as in bench/school.ts. --tokens is the number of sessions per role, spread over its accounts. Access
 * tokens live for 15 minutes; run it again with only --tokens to get new ones. A line of --out is
 * {"role","userId","email","accessToken","refreshToken"}.
 */

import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { loadConfig, readEnv } from '../src/config.ts'
import { accounts } from '../src/identity/people/people.ts'
import { signAccessToken } from '../src/identity/session/jwt.ts'
import { SigningKeys } from '../src/identity/session/keys.ts'
import { refreshToken } from '../src/identity/session/refresh.ts'
import { accessTtlMs } from '../src/identity/session/session.ts'
import { type Statement, statement, type Value } from '../src/platform/db/db.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { bySystem } from '../src/platform/lib/by.ts'
import { day, systemClock } from '../src/platform/lib/clock.ts'
import { folded } from '../src/platform/lib/folded.ts'
import { newId } from '../src/platform/lib/random.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import type { Role } from '../src/roles.ts'
import { holdCodes, Roster } from '../src/school/roster/roster.ts'
import { writeSchoolZip } from './school.ts'

const perTransaction = 5_000

const { values } = parseArgs({
  options: {
    veterinarians: { type: 'string', default: '0' },
    students: { type: 'string', default: '0' },
    classes: { type: 'string' },
    enrolments: { type: 'string' },
    tokens: { type: 'string', default: '0' },
    out: { type: 'string', default: 'tokens.jsonl' },
  },
})
const count = (name: keyof typeof values, otherwise = 0) => {
  const number = values[name] === undefined ? otherwise : Number(values[name])
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} must be a whole number`)
  return number
}
const say = (text: string) => process.stderr.write(`${text}\n`)

const config = loadConfig(readEnv())
const secrets = secretsFrom(config.secret, config.secretPrevious)
const db = openDb(config.databaseUrl)
await migrate(db, systemClock)
try {
  await addVeterinarians(count('veterinarians'))
  await addStudents(count('students'))
  await addSessions(count('tokens'))
} finally {
  await db.close()
}

async function addVeterinarians(total: number): Promise<void> {
  if (total === 0) return
  const now = Date.now()
  const started = performance.now()
  // Sorted, so that both indexes grow at their end; otherwise a large store takes minutes.
  const ids = Array.from({ length: total }, newId).sort()
  const run = now.toString(36)
  for (let done = 0; done < total; done += perTransaction) {
    const rows = ids.slice(done, done + perTransaction).map((id, i): Value[] => {
      const number = String(done + i).padStart(8, '0')
      const email = `vet.${run}.${number}@practice.example`
      const [first, last] = ['Ada', `Marsh ${number}`]
      const names = [first, folded(first), last, folded(last)]
      return [id, 'veterinarian', 'active', email, email, ...names, now, now, now]
    })
    await db.tx(
      inserts(
        'person (id, role, status, email, email_key, firstname, firstname_key, lastname, lastname_key, created_at, updated_at, activated_at)',
        rows,
      ),
    )
  }
  await db.analyze(['person'])
  say(`${total} veterinarians in ${seconds(started)} s`)
}

async function addStudents(students: number): Promise<void> {
  if (students === 0) return
  const started = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'chiron-accounts-'))
  try {
    const zip = join(folder, 'school.zip')
    const today = new Date().toISOString().slice(0, 10)
    const classes = count('classes', Math.max(60, Math.ceil(students * 0.075)))
    const enrolments = count('enrolments', students * 10)
    await writeSchoolZip(zip, { students, classes, enrolments, seed: 1, today })
    const roster = new Roster(db, systemClock)
    await roster.import(await roster.plan(zip), { allow: holdCodes, by: bySystem })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  say(`${students} students in ${seconds(started)} s`)
}

/** Picks accounts from all over the store, not neighbours in the index. */
function somePeople(role: Role, limit: number) {
  return db.all<{ id: string; email: string }>(
    `select id, email from ${accounts} a where role = $1 and status = 'active' order by substr(id, 9) limit ${limit}`,
    [role],
  )
}

async function addSessions(perRole: number): Promise<void> {
  if (perRole === 0) return
  const started = performance.now()
  const now = Date.now()
  const keys = new SigningKeys({ db, clock: systemClock, secrets }, accessTtlMs)
  await keys.open()
  const issuer = { issuer: config.publicUrl, audience: config.publicUrl, clientId: 'chiron' }
  const out = createWriteStream(values.out)
  let written = 0
  for (const role of ['veterinarian', 'student'] as const) {
    const people = await somePeople(role, perRole)
    const total = people.length === 0 ? 0 : perRole
    const sessions = Array.from({ length: total }, (_, i) => ({
      ...people[i % people.length]!,
      sessionId: newId(),
    }))
    for (let i = 0; i < sessions.length; i += perTransaction) {
      const some = sessions.slice(i, i + perTransaction)
      const fixed = ['bench', now, now, now + 30 * day, 1, 0, 0]
      await db.tx(
        inserts(
          'session (id, role, person_id, device, started_at, last_seen_at, expires_at, refresh_seq, rotated_at, rotated_before_at)',
          some.map(({ id, sessionId }): Value[] => [sessionId, role, id, ...fixed]),
        ),
      )
    }
    for (const { id, email, sessionId } of sessions) {
      const { clientId, audience } = issuer
      const claims = { sub: id, sid: sessionId, roles: [role], jti: newId(), clientId, audience }
      const accessToken = signAccessToken(await keys.signer(), issuer.issuer, claims, {
        now,
        ttlMs: accessTtlMs,
      })
      const refresh = refreshToken(secrets.current, { sessionId, seq: 1 })
      out.write(`${JSON.stringify({ role, userId: id, email, accessToken, refreshToken: refresh })}\n`)
      written++
    }
  }
  await db.analyze(['session'])
  out.end()
  await finished(out)
  say(`${written} tokens in ${seconds(started)} s: ${values.out}`)
}

function inserts(into: string, rows: Value[][]): Statement[] {
  const statements: Statement[] = []
  for (let i = 0; i < rows.length; i += db.rowsPerInsert) {
    const some = rows.slice(i, i + db.rowsPerInsert)
    let n = 0
    const tuples = some.map((row) => `(${row.map(() => `$${++n}`).join(', ')})`)
    statements.push(statement(`insert into ${into} values ${tuples.join(', ')}`, ...some.flat()))
  }
  return statements
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1)
}
