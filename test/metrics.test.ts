/** Metrics, compared with what was done. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { Refusals } from '../src/platform/http/refusals.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { Authenticator } from './support/authenticator.ts'
import { endProcesses, type ServingChild, serveStore } from './support/child.ts'
import { atLength, type Engine, engines, migratedStore } from './support/engines.ts'
import { freshNetwork } from './support/fresh.ts'
import { scrape } from './support/metrics.ts'
import { addPasskey, ok, passkeySignIn } from './support/passkeys.ts'
import { freePort } from './support/postgres.ts'
import { startService, TestClock } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'
import { eventually } from './support/wait.ts'

after(endProcesses)

interface Watched {
  readonly child: ServingChild
  readonly mail: MailServer
  readonly port: number
}

const stops: (() => Promise<unknown>)[] = []
after(async () => {
  for (const stop of stops.reverse()) await stop()
})

async function watched(engine: Engine, env: Record<string, string> = {}): Promise<Watched> {
  const store = await migratedStore(engine)
  stops.push(store.remove)
  const mail = await startMailServer()
  stops.push(mail.close)
  const port = await freePort()
  const child = await serveStore(store.url, mail, { CHIRON_METRICS_PORT: String(port), ...env })
  stops.push(() => child.end())
  return { child, mail, port }
}

/** Registers, asks for a code and answers it, `wrong` times wrongly before. */
async function signIn({ child, mail }: Watched, email: string, wrong = 0): Promise<string> {
  await child.post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
  const sent = await child.post('/veterinarian/send-otp', { email })
  const { code } = await mail.mailTo(email)
  const answer = (otp_code: number) =>
    child.post('/veterinarian/validate-otp', { email, otp_code, sessionId: sent.json.sessionId })
  for (let i = 0; i < wrong; i++) await answer(code! === 999_999 ? 100_000 : code! + 1)
  return (await answer(code!)).json.access_token
}

for (const engine of engines) {
  suite(`Metrics on ${engine}`, atLength, () => {
    test('count requests, sign-ins and mails', async () => {
      const service = await watched(engine)
      const { child, port } = service
      const token = await signIn(service, 'ada@metrics.example', 2)
      for (let i = 0; i < 3; i++) await child.request('/veterinarian/me', { token })
      await child.request('/nowhere/at/all')
      await child.request(`/veterinarian/${'x'.repeat(22)}`)
      // A request is counted when its reply is on its way, and a mail is removed when it was handed over.
      const seen = await eventually('all requests counted, and the mail removed', async () => {
        const now = await scrape(port)
        const unknown = ['unknown', '/veterinarian/:userId'].map((route) =>
          now.value('chiron_http_requests_total', { method: 'GET', route, status: '404' }),
        )
        return unknown.every((count) => count === 1) && now.value('chiron_mails_unsent') === 0 && now
      })
      const requests = (method: string, route: string, status: string) =>
        seen.value('chiron_http_requests_total', { method, route, status })
      assert.equal(requests('POST', '/veterinarian/register', '202'), 1)
      assert.equal(requests('POST', '/veterinarian/validate-otp', '401'), 2)
      assert.equal(requests('POST', '/veterinarian/validate-otp', '200'), 1)
      assert.equal(requests('GET', '/veterinarian/me', '200'), 3)
      assert.equal(requests('GET', '/veterinarian/:userId', '404'), 1)
      const durations = { method: 'GET', route: '/veterinarian/me' }
      assert.equal(seen.value('chiron_http_request_duration_seconds_count', durations), 3)
      const signIns = (outcome: string) =>
        seen.value('chiron_sign_ins_total', { role: 'veterinarian', outcome, method: 'code' })
      assert.deepEqual(['sent', 'wrong', 'right', 'refused'].map(signIns), [1, 2, 1, 0])
      assert.equal(
        seen.value('chiron_sign_ins_total', { role: 'student', outcome: 'sent', method: 'code' }),
        0,
      )
      assert.equal(seen.value('chiron_codes_total', { digits: '6' }), 1)
      assert.equal(seen.value('chiron_mails_total', { outcome: 'sent' }), 1)
      assert.equal(seen.value('chiron_http_errors_total', { code: 'otp-incorrect' }), 2)
      assert.equal(seen.value('chiron_wrong_codes_last_hour'), 2)
      assert.equal(seen.value('chiron_wrong_codes_last_day'), 2)
      assert.equal(seen.value('chiron_under_attack'), 0)
      assert.equal(seen.value('chiron_store_up'), 1)
      assert.equal(seen.value('chiron_mails_unsent'), 0)
      assert.ok(seen.value('chiron_store_call_duration_seconds_count', { call: 'write' })! > 3)
      assert.ok(seen.value('process_resident_memory_bytes')! > 10e6)
      const schema = seen.value('chiron_schema_version')
      assert.ok(schema !== undefined && schema >= 10)
      assert.doesNotMatch(seen.text, /metrics\.example|nowhere|xxxx/)
    })

    test('count sign-ins by method, and of a refused passkey no role', async () => {
      const service = await watched(engine)
      const { child, port } = service
      const token = await signIn(service, 'grace@metrics.example')
      const device = new Authenticator('http://chiron.localhost')
      ok(await addPasskey(child, token, device), 201)
      for (let i = 0; i < 2; i++) ok(await passkeySignIn(child, device))
      for (let i = 0; i < 3; i++) await passkeySignIn(child, device, { wrong: { isVerified: false } })
      const seen = await eventually('all answers counted', async () => {
        const now = await scrape(port)
        const refused = { role: 'unknown', outcome: 'unusable', method: 'passkey' }
        return now.value('chiron_sign_ins_total', refused) === 3 && now
      })
      const right = (role: string, method: string) =>
        seen.value('chiron_sign_ins_total', { role, outcome: 'right', method })
      assert.deepEqual([right('veterinarian', 'passkey'), right('veterinarian', 'code')], [2, 1])
      assert.deepEqual([right('student', 'passkey'), right('staff', 'passkey')], [0, 0])
      assert.equal(seen.value('chiron_http_errors_total', { code: 'passkey-unusable' }), 3)
    })

    test('are summed over workers and survive the end of a worker', atLength, async () => {
      const { child, port } = await watched(engine, { CHIRON_WORKERS: '2' })
      const count = async () =>
        (await scrape(port)).value('chiron_http_requests_total', {
          method: 'GET',
          route: '/health/live',
          status: '200',
        }) ?? 0
      const before = await count()
      await Promise.all(Array.from({ length: 40 }, () => fetch(`${child.url}/health/live`)))
      await eventually('40 requests counted', async () => (await count()) === before + 40)
      const workers = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')
      process.kill(Number(workers[0]), 'SIGKILL')
      await eventually('a new worker', () => child.output.out.split('listening at').length > 3)
      assert.equal(await count(), before + 40)
      assert.equal((await scrape(port)).value('chiron_worker_restarts_total'), 1)
    })
  })
}

test('Waiting mails show in number and age, and refused or deferred ones in the outcomes', async () => {
  const mail = await startMailServer({
    onRcptTo({ address }, _session, done) {
      const refused = address.startsWith('never')
      const responseCode = refused ? 550 : 451
      done(Object.assign(new Error('no'), { responseCode }))
    },
  })
  const store = await migratedStore('sqlite')
  const port = await freePort()
  const child = await serveStore(store.url, mail, { CHIRON_METRICS_PORT: String(port) })
  for (const email of ['never@metrics.example', 'later@metrics.example']) {
    await child.post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
    await child.post('/veterinarian/send-otp', { email })
  }
  // The refused one is removed a moment after it is counted.
  await eventually('both outcomes, and one mail that waits', async () => {
    const now = await scrape(port)
    const outcome = (name: string) => now.value('chiron_mails_total', { outcome: name })!
    return outcome('refused') === 1 && outcome('deferred') >= 1 && now.value('chiron_mails_unsent') === 1
  })
  await eventually(
    'an age',
    async () => (await scrape(port)).value('chiron_mail_oldest_unsent_age_seconds')! > 0,
  )
  await child.end()
  await mail.close()
  await store.remove()
})

test('Metrics report an unreachable store and keep working', atLength, async (t) => {
  const { startPostgres } = await import('./support/postgres.ts')
  const server = await startPostgres()
  t.after(() => server.remove())
  const mail = await startMailServer()
  const port = await freePort()
  const child = await serveStore(server.url('postgres'), mail, { CHIRON_METRICS_PORT: String(port) })
  assert.equal((await scrape(port)).value('chiron_store_up'), 1)
  await server.stop()
  const seen = await eventually('the store counted as down', async () => {
    const now = await scrape(port)
    return now.value('chiron_store_up') === 0 && now
  })
  assert.equal(seen.value('chiron_mails_unsent'), undefined)
  assert.equal((await child.request('/health/ready')).status, 503)
  assert.ok((await scrape(port)).value('chiron_store_failures_total', { call: 'read' })! > 0)
  await child.end()
  await mail.close()
})

suite('Metrics of a service that is in use', atLength, () => {
  let service: Watched
  before(async () => {
    service = await watched('sqlite')
    await signIn(service, 'bea@metrics.example')
  })

  test('The port serves /metrics and nothing else, and the service has no metrics', async () => {
    const { child, port } = service
    const at = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init)
    assert.equal((await at('/')).status, 404)
    assert.equal((await at('/veterinarian/me')).status, 404)
    const posted = await at('/metrics', { method: 'POST', body: 'x' })
    assert.equal(posted.status, 405)
    assert.equal(posted.headers.get('allow'), 'GET, HEAD')
    assert.equal((await at('/metrics', { method: 'HEAD' })).status, 200)
    assert.equal((await child.request('/metrics')).status, 404)
  })

  test('A port in use is refused in one line that names the setting', async () => {
    const { port } = service
    await assert.rejects(watched('sqlite', { CHIRON_METRICS_PORT: String(port) }), (error: Error) => {
      assert.match(error.message, new RegExp(`chiron: port ${port} is in use: .*CHIRON_METRICS_PORT\n`))
      return true
    })
  })

  for (const file of ['deploy/prometheus/alerts.yml', 'deploy/grafana/chiron.json'])
    test(`${file} uses only metrics that exist`, async () => {
      const { names } = await scrape(service.port)
      const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
      const used = new Set(text.match(/\b(?:chiron|process|nodejs)_\w+/g))
      assert.ok(used.size > 10)
      for (const name of used) assert.ok(names.has(name.replace(/_(bucket|sum|count)$/, '')), name)
    })

  test('docs/watching.md describes every metric, and no other', async () => {
    const { names } = await scrape(service.port)
    const page = readFileSync(new URL('../docs/watching.md', import.meta.url), 'utf8')
    const told = new Set(
      [...page.matchAll(/^\| `((?:chiron|process|nodejs)_\w+)/gm)].map(([, name]) => name!),
    )
    assert.deepEqual([...told].sort(), [...names].sort())
  })
})

for (const engine of engines) {
  // Five wrong codes in each round.
  for (const { rounds, pauseMs, wrongCodes, withinMinutes } of [
    { rounds: 5, pauseMs: 4 * minute, wrongCodes: 20, withinMinutes: 60 },
    { rounds: 11, pauseMs: 90 * minute, wrongCodes: 50, withinMinutes: 24 * 60 },
  ])
    test(`The wrong code that reaches a threshold is one log line, with the network: ${wrongCodes} in ${withinMinutes} minutes, on ${engine}`, async (t) => {
      const service = await startService(engine)
      t.after(() => service.stop())
      const network = { 'x-forwarded-for': '192.0.2.44' }
      const thresholds = () =>
        service.log.map((line) => JSON.parse(line)).filter(({ msg }) => /reached a threshold/.test(msg))
      for (let round = 0; round < rounds; round++) {
        const sent = await service.post('/veterinarian/send-otp', { email: 'dot@metrics.example' }, network)
        const answers = Array.from({ length: 5 }, (_, i) => ({
          email: 'dot@metrics.example',
          otp_code: 10_000_000 + i,
          sessionId: sent.json.sessionId,
        }))
        await Promise.all(
          answers.map((answer) => service.post('/veterinarian/validate-otp', answer, network)),
        )
        service.clock.advance(pauseMs)
      }
      const [line, ...more] = thresholds()
      assert.deepEqual(more, [])
      assert.deepEqual([line.on, line.wrongCodes, line.withinMinutes], ['address', wrongCodes, withinMinutes])
      assert.match(line.network, /^[\w-]{22}$/)
      assert.doesNotMatch(JSON.stringify(line), /192\.0\.2|dot@/)
    })
}

test('A network that asked for codes is named after a hundred wrong answers, wherever those come from', async (t) => {
  const service = await startService('sqlite')
  t.after(() => service.stop())
  const asking = { 'x-forwarded-for': '192.0.2.46' }
  for (let round = 0; round < 20; round++) {
    const email = `p${round}@metrics.example`
    const sent = await service.post('/veterinarian/send-otp', { email }, asking)
    for (let i = 0; i < 5; i++) {
      const answer = { email, otp_code: 10_000_000 + i, sessionId: sent.json.sessionId }
      await service.post('/veterinarian/validate-otp', answer, freshNetwork())
    }
  }
  const lines = service.log.map((line) => JSON.parse(line))
  const [line, ...more] = lines.filter(({ msg }) => /reached a threshold/.test(msg))
  assert.deepEqual(more, [])
  assert.deepEqual([line.on, line.wrongCodes, line.withinMinutes], ['network', 100, 10])
  const asked = await service.rows<{ network: string }>(
    'select distinct network_fingerprint as network from challenge',
  )
  assert.deepEqual(
    asked.map(({ network }) => network),
    [line.network],
  )
})

test('A network that a limit refuses a hundred times in ten minutes is one log line', () => {
  const clock = new TestClock()
  const lines: object[] = []
  const refusals = new Refusals({ warn: (about: object) => lines.push(about) }, clock)
  const refuse = (times: number) => {
    for (let i = 0; i < times; i++) refusals.note('register', 'a network')
  }
  refuse(99)
  clock.advance(10 * 60_000)
  refuse(99)
  refusals.note('register', 'another network')
  refusals.note('send-otp', 'a network')
  clock.advance(10 * 60_000 - 1)
  assert.deepEqual(lines, [])
  refuse(200)
  assert.deepEqual(lines, [{ limit: 'register', network: 'a network', refused: 100, withinMinutes: 10 }])
})

test('Refusals are counted for the network', async (t) => {
  const service = await startService('sqlite')
  t.after(() => service.stop())
  const network = { 'x-forwarded-for': '192.0.2.45' }
  const names = { firstname: 'Ada', lastname: 'Marsh' }
  const register = (i: number) =>
    service.post('/veterinarian/register', { ...names, email: `p${i}@metrics.example` }, network)
  for (let i = 0; i < 260; i++) await register(i)
  const lines = service.log.map((line) => JSON.parse(line)).filter(({ msg }) => /is refused often/.test(msg))
  assert.equal(lines.length, 1)
  assert.deepEqual([lines[0].limit, lines[0].refused], ['register', 100])
})
