/** `chiron doctor` against set-ups that are broken in one way each: the right line must name it. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, statSync, truncateSync, writeSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { examine } from '../src/operate/commands/doctor.ts'
import { checkApplications } from '../src/operate/doctor/applications.ts'
import { checkClock } from '../src/operate/doctor/clock.ts'
import type { Finding } from '../src/operate/doctor/doctor.ts'
import { checkPasskeys, type PasskeyFacts } from '../src/operate/doctor/passkeys.ts'
import { checkSender } from '../src/operate/doctor/sender.ts'
import { serviceOf } from '../src/operate/doctor/service-user.ts'
import { explainReply } from '../src/operate/doctor/smtp-replies.ts'
import { checkBackup } from '../src/operate/doctor/upkeep.ts'
import { commandFolder, startChiron, startDoctor } from './support/child.ts'
import { startDns } from './support/dns.ts'
import { atLength, migratedStore, newStore, onPostgres } from './support/engines.ts'
import { expired } from './support/expired.ts'
import { freePort } from './support/postgres.ts'
import { type ProxyOptions, startProxy } from './support/proxy.ts'
import { startService, TestClock } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'

const folder = commandFolder()
const secret = 'a secret for tests that is long enough'

interface Diagnosis {
  readonly findings: readonly Finding[]
}

// Port 0: where no service is meant to run, none is missed.
const settingsOf = (env: Record<string, string>) => ({ CHIRON_SECRET: secret, CHIRON_PORT: '0', ...env })

/** Its findings, without a process of its own. */
async function doctor(env: Record<string, string>, outside: string | null = null): Promise<Diagnosis> {
  return { findings: await examine(settingsOf(env), 'chiron', outside) }
}

/** The command itself. */
async function ran(
  env: Record<string, string>,
  ...args: string[]
): Promise<Diagnosis & { code: number | null }> {
  const child = startDoctor(['--json', ...args], { cwd: folder.path, env: settingsOf(env) })
  const { code } = await child.exited
  assert.equal(child.output.err, '')
  return { ...JSON.parse(child.output.out), code }
}

/** That exactly these areas are bad, and a line about it matches. */
function assertBad({ findings }: Diagnosis, area: Finding['area'], text: RegExp): void {
  const found = findings.filter(({ state }) => state === 'bad')
  assert.ok(
    found.some((one) => one.area === area && text.test(one.text)),
    JSON.stringify(found),
  )
  assert.deepEqual([...new Set(found.map((one) => one.area))], [area])
  for (const { remedy } of found) assert.ok(remedy)
}

const has = ({ findings }: Diagnosis, state: Finding['state'], area: Finding['area'], text: RegExp) =>
  assert.ok(
    findings.some((one) => one.state === state && one.area === area && text.test(one.text)),
    `${state} ${area} ${text}: ${JSON.stringify(findings.filter((one) => one.area === area))}`,
  )

/** A store with its tables, which nobody has open. */
async function madeStore(): Promise<{ env: Record<string, string>; path: string }> {
  const store = await migratedStore('sqlite')
  after(() => store.remove())
  const env = { CHIRON_DATABASE_URL: store.url, CHIRON_SECRET: secret }
  return { env, path: store.url.slice('sqlite:'.length) }
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

async function mailServer(options?: Parameters<typeof startMailServer>[0]): Promise<MailServer> {
  const server = await startMailServer(options)
  after(() => server.close())
  return server
}

/** Not loopback by its name, and yet this machine: the rules for other machines hold. */
const asOtherHost = (url: string) => url.replace('127.0.0.1', '0.0.0.0')

suite('The doctor finds', atLength, () => {
  test('a wrong setting', async () => {
    const diagnosis = await ran({ CHIRON_PORT: 'x' })
    assertBad(diagnosis, 'settings', /^CHIRON_PORT must be/)
    assert.equal(diagnosis.code, 1)
  })

  test('passkeys that a change of their host has lost', async () => {
    const { env, path } = await madeStore()
    change(
      path,
      `insert into passkey (id, person_id, email_key, credential_id, public_key, user_handle, rp_id, aaguid, transports, name, sign_count, backed_up, created_at)
       values ('k', 'p', 'a@b.example', 'c', '', '', 'elsewhere.example', '', '', '', 0, 0, 0)`,
    )
    assertBad(await doctor(env), 'passkeys', /1 of elsewhere\.example/)
  })

  test('limits that are off', async () => {
    const { env } = await madeStore()
    assertBad(await doctor({ ...env, CHIRON_LIMITS: 'off' }), 'settings', /limits are off/)
  })

  test('a mail server at another port', async () => {
    const { env } = await madeStore()
    const url = `smtp://127.0.0.1:${await freePort()}`
    assertBad(
      await doctor({ ...env, CHIRON_SMTP_URL: url }),
      'mail server',
      /unreachable: nothing is listening there/,
    )
  })

  test('a login that is refused, and why', async () => {
    const { env } = await madeStore()
    const refuse = (message: string) => ({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth: object, _session: object, done: (error: Error) => void) =>
        done(Object.assign(new Error(message), { responseCode: 535 })),
    })
    const wrong = await mailServer(refuse('5.7.8 Authentication credentials invalid'))
    const at = (server: MailServer) => ({ ...env, CHIRON_SMTP_URL: server.url.replace('//', '//user:pass@') })
    assertBad(
      await doctor(at(wrong)),
      'mail server',
      /login is refused.*5\.7\.8.*refuses the user or password/,
    )
    const microsoft = await mailServer(
      refuse('5.7.139 Authentication unsuccessful, basic authentication is disabled'),
    )
    assertBad(await doctor(at(microsoft)), 'mail server', /Microsoft 365 no longer accepts passwords/)
  })

  test('a server that wants a login where there is none', async () => {
    const { env } = await madeStore()
    const server = await mailServer({ authOptional: false, allowInsecureAuth: true })
    assertBad(await doctor({ ...env, CHIRON_SMTP_URL: server.url }), 'mail server', /requires a login first/)
  })

  test('a mail server on another machine without STARTTLS', async () => {
    const { env } = await madeStore()
    const { url } = await mailServer()
    assertBad(
      await doctor({ ...env, CHIRON_SMTP_URL: asOtherHost(url) }),
      'mail server',
      /does not offer STARTTLS/,
    )
  })

  test('a mail server whose certificate has expired', async () => {
    const { env } = await madeStore()
    const { url } = await mailServer({ ...expired, disabledCommands: ['AUTH'] })
    assertBad(
      await doctor({ ...env, CHIRON_SMTP_URL: asOtherHost(url) }),
      'mail server',
      /certificate expired \d+ days/,
    )
  })

  test('a PostgreSQL that is out of reach, without showing its password', async () => {
    const url = `postgres://chiron:hush@127.0.0.1:${await freePort()}/chiron`
    const diagnosis = await ran({ CHIRON_DATABASE_URL: url })
    assertBad(diagnosis, 'store', /unreachable: nothing is listening there/)
    assert.equal(diagnosis.code, 1)
    assert.doesNotMatch(JSON.stringify(diagnosis), /hush/)
  })

  test('a store that is not there, and makes none', async () => {
    const path = join(folder.path, 'nowhere')
    assertBad(await doctor({ CHIRON_DATABASE_URL: `sqlite:${path}/chiron.db` }), 'store', /there is no file/)
    assert.ok(!existsSync(path))
  })

  test('a schema that is newer than the program, and one that is older', async () => {
    const { env, path } = await madeStore()
    change(path, "insert into migration values (9998, '9998_future', 0)")
    has(await doctor(env), 'good', 'store', /schema 9998 is newer than .*, which knows \d+ and can run on it/)
    change(path, "insert into migration values (9999, '9999_future_needs_9998', 0)")
    assertBad(await doctor(env), 'store', /schema 9999 is newer/)
    change(path, 'delete from migration where version > 9')
    has(await doctor(env), 'warning', 'store', /schema 9 is older/)
  })

  test('a damaged file, in its middle and at its beginning', async () => {
    const { env, path } = await madeStore()
    const garble = (at: number) => {
      const file = openSync(path, 'r+')
      writeSync(file, Buffer.alloc(8192, 0xa5), 0, 8192, at)
      closeSync(file)
    }
    garble(4096 * 3)
    assertBad(await doctor(env), 'store', /damaged/)
    garble(0)
    assertBad(await doctor(env), 'store', /damaged/)
    truncateSync(path, 0)
    has(await doctor(env), 'warning', 'store', /schema 0 is older/)
  })

  test('mails that are not sent', async () => {
    const { env, path } = await madeStore()
    const old = Date.now() - 20 * 60_000
    change(
      path,
      `insert into outbox (id, session_id, role, email, address_fingerprint, language, digits, reference, created_at, expires_at, attempts, next_at)
       values ('m', 's', 'veterinarian', 'ada@doctor.example', 'f', 'en', 6, 'ABC', ${old}, ${old}, 0, ${old})`,
    )
    const diagnosis = await doctor(env)
    assertBad(diagnosis, 'outbox', /1 mail is waiting, the oldest for 20 minutes/)
    assert.doesNotMatch(JSON.stringify(diagnosis), /doctor\.example/)
  })

  test('an old roster, and an import that did not finish', async () => {
    const { env, path } = await madeStore()
    has(await doctor(env), 'warning', 'roster', /none imported yet/)
    const generation = (id: number, published: number | null) =>
      `insert into roster_generation (id, kind, parent, content, file_name, sha256, version, rows, summary, started_at, published_at)
       values (${id}, 'import', 0, ${id}, 'f', 's', '1.2', 0, '{}', ${Date.now()}, ${published})`
    change(path, generation(1, Date.now() - 50 * 86_400_000))
    change(path, generation(2, null))
    const diagnosis = await ran(env)
    has(diagnosis, 'warning', 'roster', /imported 50 days ago/)
    has(diagnosis, 'warning', 'roster', /did not finish/)
    assert.equal(diagnosis.code, 0)
  })

  test('a roster that is unchanged but compared, and how the last fetch went', async () => {
    const { env, path } = await madeStore()
    const fetching = { ...env, CHIRON_ROSTER_SOURCE: '/srv/roster' }
    has(await doctor(fetching), 'warning', 'roster', /never fetched/)
    const now = Date.now()
    change(
      path,
      `insert into roster_generation (id, kind, parent, content, file_name, sha256, version, rows, summary, started_at, published_at)
       values (1, 'import', 0, 1, 'f', 's', '1.2', 0, '{}', 1, ${now - 50 * 86_400_000})`,
    )
    change(path, `update roster_state set checked_at = ${now - 2 * 3_600_000}`)
    change(
      path,
      `insert into roster_fetch (one, tried_at, outcome, message) values (1, ${now - 7_200_000}, 'held', 'm')`,
    )
    const diagnosis = await doctor(fetching)
    has(diagnosis, 'good', 'roster', /imported 50 days ago, found unchanged 2 hours ago/)
    has(diagnosis, 'warning', 'roster', /the fetch 2 hours ago ended as held/)
    change(path, `update roster_fetch set outcome = 'imported', tried_at = ${now - 3 * 86_400_000}`)
    has(await doctor(fetching), 'warning', 'roster', /the last fetch was 3 days ago/)
    change(
      path,
      `insert into roster_generation (id, kind, parent, content, file_name, sha256, version, rows, summary, started_at, published_at)
       values (2, 'undo', 1, 0, 'f', 's', '1.2', 0, '{}', 1, ${now - 3 * 3_600_000})`,
    )
    change(path, 'update roster_state set generation = 2, content = 0')
    const undone = /imported 50 days ago, undone or corrected 3 hours ago, found unchanged 2 hours ago/
    has(await doctor(fetching), 'good', 'roster', undone)
    change(path, `update roster_fetch set tried_at = ${Date.now()}`)
    has(await doctor(fetching), 'good', 'roster', /fetched \d+ seconds? ago: imported/)
    change(path, `update roster_fetch set outcome = 'unchanged', file_at = ${now - 60 * 86_400_000}`)
    has(await doctor(fetching), 'warning', 'roster', /no newer file has come for 60 days/)
    change(path, `update roster_fetch set tried_at = ${Date.now()}`)
    const patient = await doctor({ ...fetching, CHIRON_ROSTER_MAX_AGE_DAYS: '90' })
    has(patient, 'good', 'roster', /fetched \d+ seconds? ago: unchanged/)
  })

  test('a file that others can read', async () => {
    const { env, path } = await madeStore()
    const { chmodSync } = await import('node:fs')
    chmodSync(path, 0o644)
    has(await doctor(env), 'warning', 'store', /may read the file/)
  })
})

suite('Beside a running service the doctor', atLength, () => {
  interface Serving {
    readonly url: string
    readonly env: Record<string, string>
    end(): Promise<void>
    stop(): Promise<void>
  }
  async function started(env: Record<string, string>): Promise<Serving> {
    const store = await migratedStore('sqlite')
    const mail = await startMailServer()
    const own = {
      CHIRON_DATABASE_URL: store.url,
      CHIRON_SMTP_URL: mail.url,
      CHIRON_MAIL_FROM: 'a@localhost',
      ...env,
    }
    // The doctor looks at the time of this machine.
    const clock = new TestClock()
    clock.jump(Date.now() - clock.now())
    const service = await startService('sqlite', {
      ...{ databaseUrl: store.url, mail, clock },
      env: { CHIRON_PUBLIC_URL: 'http://chiron.localhost', ...own },
    })
    let ended: Promise<void> | undefined
    const end = () => {
      ended ??= service.stop()
      return ended
    }
    return {
      url: service.url,
      env: { ...own, CHIRON_SECRET: secret, CHIRON_PORT: new URL(service.url).port },
      end,
      async stop() {
        await end()
        await mail.close()
        await store.remove()
      },
    }
  }
  /** Until the test ends. */
  async function serving(env: Record<string, string>): Promise<Serving> {
    const service = await started(env)
    after(service.stop)
    return service
  }
  /** For tests that leave it as it is. */
  let shared: Serving
  before(async () => {
    shared = await started({})
  })
  after(() => shared.stop())

  /** A service that has the address of a proxy in front of it as its own. */
  async function proxied(env: Record<string, string>, options: ProxyOptions) {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const service = await serving({ CHIRON_PUBLIC_URL: url, ...env })
    const proxy = await startProxy(service.url, { ...options, port })
    after(() => proxy.close())
    return { service, settings: service.env, proxy }
  }
  const through = async (env: Record<string, string>, options: ProxyOptions) => {
    const { settings, proxy } = await proxied(env, options)
    return doctor(settings, proxy.url)
  }

  test('finds nothing bad where all is well, and changes nothing', async () => {
    const { settings, proxy } = await proxied(
      { CHIRON_TRUSTED_PROXIES: '127.0.0.2' },
      { forwards: 'caller-added', from: '127.0.0.2' },
    )
    const diagnosis = await ran(settings, '--from-outside', proxy.url)
    assert.deepEqual(
      diagnosis.findings.filter(({ state }) => state === 'bad'),
      [],
    )
    has(diagnosis, 'good', 'service', /running at 127\.0\.0\.1:\d+/)
    has(diagnosis, 'good', 'public url', /answers with the keys of this store/)
    has(diagnosis, 'good', 'proxy', /is counted for the machine/)
    has(diagnosis, 'good', 'clock', /agrees/)
    has(diagnosis, 'good', 'keys', /1 signing key/)
    assert.equal(diagnosis.code, 0)
  })

  test('finds a proxy that is not trusted', async () => {
    const found = await through({ CHIRON_TRUSTED_PROXIES: '' }, { forwards: 'caller-added' })
    assertBad(found, 'proxy', /proxy at 127\.0\.0\.1 is not trusted/)
  })

  test('finds a proxy that lets callers make up their address', async () => {
    const found = await through(
      { CHIRON_TRUSTED_PROXIES: '127.0.0.2' },
      { forwards: 'unchanged', from: '127.0.0.2' },
    )
    assertBad(found, 'proxy', /forged X-Forwarded-For is believed/)
  })

  test('says so if a call from this machine cannot show it', async () => {
    const found = await through({ CHIRON_TRUSTED_PROXIES: '127.0.0.1' }, { forwards: 'nothing' })
    has(found, 'warning', 'proxy', /cannot show/)
  })

  test('finds a clock that is off', async () => {
    const found = await through(
      { CHIRON_TRUSTED_PROXIES: '127.0.0.1' },
      { forwards: 'nothing', clockOffMs: 600_000 },
    )
    assertBad(found, 'clock', /10 minutes behind/)
  })

  test('finds another Chiron, or another program, at the public URL', async () => {
    const { service, proxy } = await proxied({}, { forwards: 'nothing' })
    const { env } = await serving({ CHIRON_PUBLIC_URL: proxy.url })
    assertBad(await doctor(env, proxy.url), 'public url', /is a different Chiron/)
    await service.end()
    assertBad(await doctor(env, proxy.url), 'public url', /answers 502, but not as Chiron/)
  })

  test('finds a public URL with a typing mistake', async () => {
    const { settings, proxy, service } = await proxied(
      { CHIRON_PUBLIC_URL: 'http://127.0.0.1:1' },
      { forwards: 'caller-added' },
    )
    assertBad(
      await doctor(settings, proxy.url),
      'public url',
      /is configured as http:\/\/127\.0\.0\.1:1: nobody can sign in at/,
    )
    // Set right, and not started again.
    const corrected = { ...settings, CHIRON_PUBLIC_URL: proxy.url }
    assertBad(await doctor(corrected, proxy.url), 'public url', /is configured as/)
    await service.end()
    const { env } = await serving({ CHIRON_PUBLIC_URL: 'http://acces.chiron.invalid' })
    assertBad(await doctor(env), 'public url', /acces\.chiron\.invalid is unreachable/)
  })

  test('finds a service that is stopped', async () => {
    const { end, env } = await serving({})
    await end()
    assertBad(await doctor(env), 'service', /not running: nothing is listening at 127\.0\.0\.1:\d+/)
  })

  test('knows which service has the settings of a file', () => {
    const units: Record<string, string> = {
      'chiron.service': 'User=vets\nEnvironmentFile=/etc/chiron/chiron.env\n',
      'chiron@.service': 'User=chiron-%i\nEnvironmentFile=/etc/chiron/%i.env\n',
    }
    const readUnit = (name: string) => units[name] ?? ''
    const only = { unit: 'chiron', user: 'vets' }
    assert.deepEqual(serviceOf('/etc/chiron/chiron.env', readUnit), only)
    assert.deepEqual(serviceOf('/srv/north.env', readUnit), only)
    assert.deepEqual(serviceOf(undefined, readUnit), only)
    const school = { unit: 'chiron@north', user: 'chiron-north' }
    assert.deepEqual(serviceOf('/etc/chiron/north.env', readUnit), school)
    assert.deepEqual(
      serviceOf('/etc/chiron/north.env', () => ''),
      { unit: 'chiron', user: 'chiron' },
    )
  })

  test('finds another program at the port of the service, and another Chiron', async () => {
    const { end, env } = await serving({})
    await end()
    const at = (port: number) => ({ ...env, CHIRON_PORT: String(port) })
    const page = createHttp((_request, reply) => reply.end('It works!')).listen(0, '127.0.0.1')
    const mute = createServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n')).listen(0, '127.0.0.1')
    after(() => {
      page.close()
      mute.close()
    })
    for (const server of [page, mute]) {
      if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
      const { port } = server.address() as AddressInfo
      assertBad(await doctor(at(port)), 'service', /another program is using .* not( answer)? as Chiron does/)
    }
    assertBad(
      await doctor(at(Number(shared.env.CHIRON_PORT))),
      'service',
      /it is a Chiron whose keys are not those/,
    )
  })

  test('finds an expired certificate at the public URL', async () => {
    const { env } = shared
    const server = createHttps(expired, (_request, reply) => reply.end()).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    after(() => server.close())
    const { port } = server.address() as AddressInfo
    assertBad(await doctor(env, `https://localhost:${port}`), 'public url', /certificate expired/)
  })

  test('finds a secret that is not the store’s', async () => {
    const { env } = shared
    const other = { ...env, CHIRON_SECRET: 'another secret, which is long enough too' }
    assertBad(await doctor(other), 'keys', /CHIRON_SECRET is not the secret/)
    const both = { ...other, CHIRON_SECRET_PREVIOUS: secret }
    has(await doctor(both), 'good', 'keys', /1 signing key/)
  })

  test('writes lines for people, in the order of the areas', async () => {
    const { env } = shared
    const child = startDoctor([], { cwd: folder.path, env })
    assert.equal((await child.exited).code, 0)
    assert.match(
      child.output.out,
      /^warning {2}settings .* → .*\n(.*\n)*good {5}webhooks .*\ngood {5}applications .*\n\n0 bad, \d+ warnings, \d+ good\n$/,
    )
  })
})

test(
  'On PostgreSQL the doctor reads version, schema, connections and clock, and cannot write',
  onPostgres,
  async (t) => {
    const store = await newStore('postgres')
    t.after(() => store.remove())
    const env = { CHIRON_DATABASE_URL: store.url }
    const made = startChiron(['migrate'], { cwd: folder.path, env: { ...env, CHIRON_SECRET: secret } })
    assert.equal((await made.exited).code, 0)
    const diagnosis = await doctor(env)
    has(diagnosis, 'good', 'store', /PostgreSQL \d+.* answers/)
    has(diagnosis, 'good', 'store', /schema \d+ matches this program/)
    has(diagnosis, 'good', 'store', /connections/)
    has(diagnosis, 'good', 'store', /the role chiron may create and change tables/)
    has(diagnosis, 'good', 'clock', /agrees with the database/)
    const client = new pg.Client({ connectionString: store.url })
    await client.connect()
    const { rows } = await client.query(
      'select (select count(*) from signing_key) + (select count(*) from event) as n',
    )
    await client.end()
    assert.equal(Number(rows[0].n), 0)
    const { openDb } = await import('../src/platform/db/open.ts')
    const db = openDb(store.url, { readOnly: true })
    await assert.rejects(db.run('insert into event_counter (one, last) values (2, 0)'))
    await db.close()
  },
)

suite('A PostgreSQL role without rights', onPostgres, () => {
  const asRole = (url: string, role: string) => url.replace('chiron@', `${role}@`)
  async function inDatabase(url: string, sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  async function storeAnd(role: string): Promise<{ url: string; own: Record<string, string> }> {
    const store = await newStore('postgres')
    await inDatabase(store.url, `create role ${role} login`)
    after(async () => {
      await inDatabase(store.url, `drop owned by ${role}; drop role ${role}`)
      await store.remove()
    })
    return { url: store.url, own: { CHIRON_DATABASE_URL: asRole(store.url, role), CHIRON_SECRET: secret } }
  }

  test('is found by the doctor, and the service says on one line what to do', async () => {
    const { own } = await storeAnd(`powerless_${process.pid}`)
    assertBad(
      await doctor(own),
      'store',
      /the role powerless_\d+ may not create tables in the database chiron_/,
    )
    for (const command of ['serve', 'migrate']) {
      const child = startChiron([command], { cwd: folder.path, env: { ...own, CHIRON_PORT: '0' } })
      const { code } = await child.exited
      assert.equal(code, 5)
      assert.match(
        child.output.err,
        /^chiron: the role of CHIRON_DATABASE_URL may not create or change tables \(permission denied for schema public\): as a superuser .*"alter database NAME owner to ROLE".*\n$/,
      )
    }
  })

  test('is found also if the tables are another’s', async () => {
    const role = `guest_${process.pid}`
    const { url, own } = await storeAnd(role)
    const made = startChiron(['migrate'], { cwd: folder.path, env: { ...own, CHIRON_DATABASE_URL: url } })
    assert.equal((await made.exited).code, 0)
    await inDatabase(
      url,
      `grant all on schema public to ${role}; grant all on all tables in schema public to ${role}`,
    )
    assertBad(await doctor(own), 'store', /\d+ tables do not belong to guest_/)
  })
})

test('The doctor leaves a SQLite store as it was', async () => {
  const { env, path } = await madeStore()
  const before = { mtime: statSync(path).mtimeMs, size: statSync(path).size }
  await ran(env)
  assert.deepEqual({ mtime: statSync(path).mtimeMs, size: statSync(path).size }, before)
  const outside = join(folder.path, 'data')
  assert.ok(!existsSync(outside) || readdirSync(outside).length === 0)
})

suite('Applications', () => {
  const application = {
    clientId: 'c',
    name: 'Moodle',
    kind: 'web',
    redirectUris: ['https://moodle.example.org/'],
    enabled: true,
    unverifiedVeterinarians: false,
    calls: { waiting: 0, failed: 0 },
  } as const
  const plain = { ...application, redirectUris: ['http://localhost:8080/'] }
  const failing = { ...application, calls: { waiting: 0, failed: 2 } }
  const undecided = { ...application, unverifiedVeterinarians: null }
  type Case = [name: string, all: readonly object[], production: boolean, expected: [string, RegExp][]]
  const cases: readonly Case[] = [
    ['none', [], true, [['good', /^none is registered$/]]],
    ['some', [application, { ...plain, enabled: false }], true, [['good', /^2 registered, 1 disabled$/]]],
    ['http outside production', [plain], false, [['good', /^1 registered$/]]],
    ['http in production', [plain], true, [['warning', /Moodle at http:\/\/localhost:8080\/, which/]]],
    ['a native app on its own machine', [{ ...plain, kind: 'native' }], true, [['good', /^1/]]],
    ['failed calls', [failing], true, [['warning', /^2 back-channel calls to Moodle failed/]]],
    ['failed calls of a disabled one', [{ ...failing, enabled: false }], true, [['good', /^1/]]],
    [
      'one that admits strangers as before',
      [undecided],
      true,
      [['warning', /nobody has verified can sign in to Moodle/]],
    ],
    [
      'one that admits strangers on purpose',
      [{ ...undecided, unverifiedVeterinarians: true }],
      true,
      [['good', /^1/]],
    ],
    ['one that admits strangers, disabled', [{ ...undecided, enabled: false }], true, [['good', /^1/]]],
    [
      'several',
      [plain, failing],
      true,
      [
        ['warning', /at http:/],
        ['warning', /failed/],
      ],
    ],
  ]
  for (const [name, all, production, expected] of cases)
    test(`${name}: ${expected.map(([state]) => state).join(', ')}`, () => {
      const found = checkApplications(all as Parameters<typeof checkApplications>[0], production)
      assert.equal(found.length, expected.length)
      for (const [i, [state, text]] of expected.entries()) {
        assert.equal(found[i]!.state, state)
        assert.match(found[i]!.text, text)
        assert.equal(found[i]!.remedy !== null, state !== 'good')
      }
    })
})

suite('The host of passkeys', () => {
  const facts: PasskeyFacts = {
    enabled: true,
    publicUrl: 'https://access.example.org',
    rpId: 'access.example.org',
    staffMustUse: false,
    counts: [{ rp_id: 'access.example.org', count: 12 }],
    adminHasOne: false,
  }
  const cases: [how: string, change: Partial<PasskeyFacts>, state: Finding['state'], text: RegExp][] = [
    ['fits the public URL', {}, 'good', /12 in use.*changing CHIRON_PASSKEY_ID would lose them all/],
    ['has changed', { rpId: 'example.org' }, 'bad', /earlier ones do not work: 12 of access\.example\.org/],
    ['is an address', { publicUrl: 'https://192.0.2.1', counts: [] }, 'warning', /need https and a name/],
    ['is without https', { publicUrl: 'http://access.example.org' }, 'warning', /need https and a name/],
    [
      'is localhost',
      { publicUrl: 'http://localhost:3000', rpId: 'localhost', counts: [] },
      'good',
      /0 in use/,
    ],
    ['does not matter, as they are off', { enabled: false }, 'good', /switched off/],
    ['is that of no admin, but staff must use one', { staffMustUse: true }, 'bad', /no admin has one/],
  ]
  for (const [how, change, state, text] of cases)
    test(how, () => {
      const [finding] = checkPasskeys({ ...facts, ...change })
      assert.equal(finding!.state, state)
      assert.match(finding!.text, text)
    })
})

suite('The sender’s domain', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const published = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const dkim = { domain: 'vets.example', selector: 'chiron', key }
  const whole = {
    'vets.example': ['google-site-verification=x', 'v=spf1 include:_spf.mail.example -all'],
    'chiron._domainkey.vets.example': [`v=DKIM1; k=rsa; p=${published}`],
    '_dmarc.vets.example': ['v=DMARC1; p=quarantine; rua=mailto:a@vets.example'],
  }
  const states = async (texts: Record<string, string[]>, domain = 'vets.example') => {
    const dns = await startDns(texts)
    const findings = await checkSender(domain, dkim, dns.resolver)
    dns.close()
    return findings
  }

  test('is good with SPF, DKIM and DMARC', async () => {
    assert.deepEqual(
      (await states(whole)).map(({ state }) => state),
      ['good', 'good', 'good'],
    )
  })

  test('takes DMARC from the domain above', async () => {
    const [, , dmarc] = await states(whole, 'mail.vets.example')
    assert.equal(dmarc!.state, 'good')
  })

  const faults: [string, Record<string, string[]>, number, Finding['state'], RegExp][] = [
    ['no SPF', { ...whole, 'vets.example': ['hello'] }, 0, 'bad', /no SPF record/],
    [
      'two SPF records',
      { ...whole, 'vets.example': ['v=spf1 -all', 'v=spf1 ~all'] },
      0,
      'bad',
      /2 SPF records/,
    ],
    ['SPF for everybody', { ...whole, 'vets.example': ['v=spf1 +all'] }, 0, 'bad', /lets anyone send/],
    ['SPF for everybody, plainly', { ...whole, 'vets.example': ['v=spf1 mx all'] }, 0, 'bad', /lets anyone/],
    ['no DKIM key', { ...whole, 'chiron._domainkey.vets.example': [] }, 1, 'bad', /no DKIM key/],
    [
      'another DKIM key',
      { ...whole, 'chiron._domainkey.vets.example': ['p=AAAA'] },
      1,
      'bad',
      /does not match the key/,
    ],
    ['DMARC none', { ...whole, '_dmarc.vets.example': ['v=DMARC1; p=none'] }, 2, 'warning', /is "none"/],
    ['no DMARC', { 'vets.example': whole['vets.example'] }, 2, 'warning', /no DMARC record/],
  ]
  for (const [name, texts, at, state, text] of faults)
    test(`is examined: ${name}`, async () => {
      const finding = (await states(texts))[at]!
      assert.equal(finding.state, state)
      assert.match(finding.text, text)
    })

  test('is not known when DNS does not answer', async () => {
    const dns = await startDns({})
    dns.close()
    const findings = await checkSender('vets.example', null, dns.resolver)
    assert.deepEqual(
      findings.map(({ state }) => state),
      ['warning', 'warning', 'warning'],
    )
    assert.match(findings[0]!.text, /DNS does not answer/)
  })
})

test('A backup is good for a day', () => {
  const hour = 3_600_000
  const ago = (hours: number) => checkBackup(0, hours * hour).state
  assert.deepEqual([1, 25, 27].map(ago), ['good', 'good', 'warning'])
  assert.match(checkBackup(null, 0).text, /no backup has ever/)
})

test('Clocks are compared by how far they are apart', () => {
  const at = (apart: number) => checkClock({ whose: 'x', now: 0, ours: apart }).state
  assert.deepEqual([0, 9_999, -10_000, 60_000, -120_000].map(at), [
    'good',
    'good',
    'warning',
    'warning',
    'bad',
  ])
})

test('Replies of mail servers are explained in plain words', () => {
  for (const [reply, meaning] of [
    ['535 5.7.8 Error: authentication failed', /user or password/],
    ['535 5.7.139 Authentication unsuccessful', /Microsoft 365/],
    ['534-5.7.9 Application-specific password required', /app password/],
    ['530 5.7.57 Client not authenticated to send mail', /after a login/],
    ['530 5.7.0 Must issue a STARTTLS command first', /encrypted/],
    ['550 5.7.60 SMTP; Client does not have permissions to send as this sender', /may not send from/],
    ['550 5.7.1 Unable to relay', /relay mail/],
    ['550 5.7.1 Message rejected due to content', /rule of the mail server/],
    ['550 5.7.23 The message was rejected because of SPF violation', /SPF/],
    ['550-5.7.26 This mail has been blocked because the sender is unauthenticated', /SPF/],
    ['550 5.7.509 Access denied, sending domain does not pass DMARC verification', /DMARC/],
    ['550 5.7.25 The IP address sending this message does not have a PTR record', /no reverse DNS name/],
    ['421 4.7.0 Too many connections', /refuses temporarily/],
    ['599 nonsense', /refuses/],
  ] as const)
    assert.match(explainReply(reply).means, meaning, reply)
})

test('The campus minute is rehearsed on a scratch store, and nobody is refused', atLength, async () => {
  const { env } = await madeStore()
  const { findings } = await ran(env, '--rehearse', '120')
  const rehearsal = findings.find(({ area }) => area === 'rehearsal')
  // A busy machine is slow, which is a warning.
  assert.notEqual(rehearsal?.state, 'bad')
  assert.match(
    rehearsal!.text,
    /^120 people behind one address signed in within [\d.]+ s; .*nobody was refused$/,
  )
  const child = startDoctor(['--rehearse', '0'], { cwd: folder.path, env })
  assert.equal((await child.exited).code, 1)
  assert.match(child.output.err, /^chiron: --rehearse must be a whole number from 1 to 500\n$/)
})
