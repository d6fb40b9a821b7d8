/**
 * How long a service takes to read a whole school, with a generated client for the students, and whether later pages are
 * slower:
 *
 *   node bench/directory.ts [--students 100000] [--enrolments 1000000] [--engine sqlite]
 */
import { parseArgs } from 'node:util'
import { signAccessToken } from '../src/identity/session/jwt.ts'
import { SigningKeys } from '../src/identity/session/keys.ts'
import { accessTtlMs } from '../src/identity/session/session.ts'
import { statement } from '../src/platform/db/db.ts'
import { openDb } from '../src/platform/db/open.ts'
import { minute, systemClock } from '../src/platform/lib/clock.ts'
import { newId } from '../src/platform/lib/random.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { generateClients, loadProgram } from '../test/clients/generators.ts'
import { Bench, say } from './bench.ts'
import { runOn, serve, settings, thisBuild } from './builds.ts'
import { spread, table } from './figures.ts'
import { cpuMicros } from './processes.ts'
import { type Engine, engines, type Stores } from './stores.ts'

const { values } = parseArgs({
  options: {
    students: { type: 'string', default: '100000' },
    enrolments: { type: 'string' },
    engine: { type: 'string' },
  },
})
const students = Number(values.students)
const enrolments = Number(values.enrolments ?? students * 10)

/** A token of a service, which the store knows. */
async function tokenFor(databaseUrl: string): Promise<string> {
  const db = openDb(databaseUrl)
  const [clientId, jti, now] = [newId(), newId(), Date.now()]
  await db.tx([
    statement(
      `insert into client (id, name, kind, redirect_uris, logout_uris, scopes, roles, consent, pkce, claims_in_id_token, created_at)
       values ($1, 'Reader', 'service', '[]', '[]', 'roster.read', 'student', 'never', 1, 0, $2)`,
      clientId,
      now,
    ),
    statement(
      "insert into service_token (id, client_id, scope, expires_at) values ($1, $2, 'roster.read', $3)",
      jti,
      clientId,
      now + accessTtlMs,
    ),
  ])
  const secrets = secretsFrom(settings.CHIRON_SECRET, null)
  const keys = new SigningKeys({ db, clock: systemClock, secrets }, accessTtlMs)
  await keys.open()
  const url = settings.CHIRON_PUBLIC_URL
  const claims = { sub: clientId, jti, clientId, audience: url, scope: 'roster.read' }
  const token = signAccessToken(await keys.signer(), url, claims, { now, ttlMs: accessTtlMs })
  await db.close()
  return token
}

async function readAll(list: string, url: string, token: string, more = ''): Promise<number[]> {
  const pagesMs: number[] = []
  for (let after = ''; ; ) {
    const since = performance.now()
    const reply = await fetch(`${url}/roster/${list}?limit=1000${more}${after}`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    const page = (await reply.json()) as { next: string | null }
    if (reply.status !== 200) throw new Error(JSON.stringify(page))
    pagesMs.push(performance.now() - since)
    if (page.next === null) return pagesMs
    after = `&after=${page.next}`
  }
}

async function measure(bench: Bench, stores: Stores): Promise<void> {
  await stores.create('directory')
  const databaseUrl = stores.url('directory')
  say(`${stores.engine}: importing ${students} students`)
  const school = ['--students', String(students), '--enrolments', String(enrolments)]
  await runOn(thisBuild, databaseUrl, 'bench/accounts.ts', school, bench.folder)
  await stores.settle('directory')
  const serving = { databaseUrl, smtpUrl: bench.mail.url, cwd: bench.folder, limits: true }
  const server = await serve(thisBuild, serving)
  const url = `http://127.0.0.1:${server.port}`
  const token = await tokenFor(databaseUrl)
  await generateClients((await (await fetch(`${url}/openapi.json`)).json()) as object)
  const program = await loadProgram('openapi-fetch')
  const byClient = async () => {
    const { userIds, pagesMs } = await program.readStudents(url, token)
    // A few are disabled.
    if (new Set(userIds).size !== userIds.length || userIds.length < students * 0.99)
      throw new Error(`${userIds.length} students were read`)
    return pagesMs
  }
  const justNow = `&updatedSince=${new Date(Date.now() + minute).toISOString()}`
  const reads: [name: string, read: () => Promise<number[]>][] = [
    ['students, by a generated client', byClient],
    ['classes', () => readAll('classes', url, token)],
    ['enrolments', () => readAll('enrolments', url, token)],
    ['students since just now', () => readAll('students', url, token, justNow)],
    ['students since ever', () => readAll('students', url, token, '&updatedSince=2020-01-01T00:00:00Z')],
    ['enrolments since just now', () => readAll('enrolments', url, token, justNow)],
  ]
  const rows = [['read', 'pages', 'clock', 'processor', 'first tenth of the pages', 'last tenth']]
  for (const [name, read] of reads) {
    const before = cpuMicros([server.pid])
    const pagesMs = await read()
    const tenth = Math.max(1, Math.floor(pagesMs.length / 10))
    const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`
    const median = (some: number[]) => `${spread(some).median.toFixed(1)} ms`
    rows.push([
      name,
      String(pagesMs.length),
      seconds(pagesMs.reduce((sum, ms) => sum + ms, 0)),
      seconds((cpuMicros([server.pid]) - before) / 1_000),
      median(pagesMs.slice(0, tenth)),
      median(pagesMs.slice(-tenth)),
    ])
  }
  process.stdout.write(`\n${stores.engine}\n\n${table(rows)}\n`)
}

const bench = await Bench.open()
try {
  for (const engine of values.engine ? [values.engine as Engine] : engines)
    await measure(bench, await bench.stores(engine))
} finally {
  await bench.close()
}
