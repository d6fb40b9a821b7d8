/** `chiron network`: what a network did, by its address or its fingerprint. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { commandFolder, startChiron } from './support/child.ts'
import { atLength, engines } from './support/engines.ts'
import { startService } from './support/service.ts'

const folder = commandFolder()
const secret = 'a secret for tests that is long enough'

async function network(env: Record<string, string>, ...args: string[]) {
  const child = startChiron(['network', ...args], {
    cwd: folder.path,
    env: { CHIRON_SECRET: secret, ...env },
  })
  const { code } = await child.exited
  return { code, ...child.output }
}

for (const engine of engines) {
  suite(`What a network did, on ${engine}`, atLength, () => {
    test('is told by its address: sign-ins, wrong codes, limits, events', async (t) => {
      const service = await startService(engine)
      t.after(() => service.stop())
      const from = { 'x-forwarded-for': '2001:db8:1:2::9' }
      const { userId } = await service.signIn('ada@network.example', from)
      const { sessionId } = await service.code('ada@network.example', from)
      const wrong = { email: 'ada@network.example', otp_code: 10_000_000, sessionId }
      for (let i = 0; i < 5; i++) await service.post('/veterinarian/validate-otp', wrong, from)
      const env = { CHIRON_DATABASE_URL: service.databaseUrl }
      const since = ['--since', '2026-11-01']

      // Another address of the same /64.
      const { out } = await network(env, '2001:db8:1:2:ffff::1', '--json', ...since)
      const [report, ...more] = JSON.parse(out).networks
      assert.deepEqual(more, [])
      assert.equal(report.knownAddresses, 1)
      assert.equal(report.eventCounts['session.started'], 1)
      assert.equal(report.eventCounts['otp.exhausted'], 1)
      assert.equal(report.lastSeenAt, '2026-11-15T09:00:00.000Z')
      const started = report.events.find(({ type }: { type: string }) => type === 'session.started')
      assert.equal(started.userId, userId)
      assert.equal(started.network, report.fingerprint)
      assert.doesNotMatch(out, /network\.example|2001:db8/)

      const text = await network(env, report.fingerprint, ...since)
      assert.match(text.out, /^people +1 addresses? signed in from there/m)
      assert.match(text.out, /^limits +send-otp \d+ of 600 left, validate-otp \d+ of 1200 left/m)
      assert.match(text.out, /session\.started/)

      const other = JSON.parse((await network(env, '2001:db8:1:3::9', '--json')).out).networks[0]
      assert.deepEqual([other.knownAddresses, other.events, other.lastSeenAt], [0, [], null])
    })
  })
}

test(
  'Wrong codes are counted by the clock, and the previous secret’s fingerprint is shown too',
  atLength,
  async (t) => {
    const service = await startService('sqlite')
    t.after(() => service.stop())
    // The command goes by the real clock.
    service.clock.advance(Date.now() - service.clock.now())
    const from = { 'x-forwarded-for': '192.0.2.61' }
    await service.register('bea@network.example')
    const { sessionId } = await service.code('bea@network.example', from)
    const wrong = { email: 'bea@network.example', otp_code: 10_000_000, sessionId }
    for (let i = 0; i < 3; i++) await service.post('/veterinarian/validate-otp', wrong, from)
    const env = {
      CHIRON_DATABASE_URL: service.databaseUrl,
      CHIRON_SECRET: 'another secret, which is long enough too',
      CHIRON_SECRET_PREVIOUS: secret,
    }
    const { networks } = JSON.parse((await network(env, '192.0.2.61', '--json')).out)
    assert.equal(networks.length, 2)
    assert.deepEqual(
      networks.map(({ wrongCodes }: { wrongCodes: { lastDay: number } }) => wrongCodes.lastDay),
      [0, 3],
    )
  },
)

test('What is neither an address nor a fingerprint is refused in one line', atLength, async () => {
  const env = folder.ownStore()
  for (const which of ['ada', '10.0.0.0/8', '\u001b[31m'])
    assert.match(
      (await network(env, which)).err,
      /^chiron: ".*" is neither an IP address nor a fingerprint\n$/,
    )
  assert.equal((await network(env, 'ada')).code, 1)
})
