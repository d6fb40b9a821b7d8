import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { MemoryBuckets, memoryPolicies } from '../src/platform/http/limits.ts'
import { minute, second } from '../src/platform/lib/clock.ts'
import { addClient, signInAt } from './support/applications.ts'
import { atLength } from './support/engines.ts'
import { freshAddress, freshNetwork, type Network, repeat } from './support/fresh.ts'
import { type Reply, type Service, startService, TestClock } from './support/service.ts'
import { wire } from './support/wire.ts'

const shown = (reply: Reply) => [reply.headers.get('ratelimit-policy'), reply.headers.get('ratelimit')]
const profile = `/veterinarian/${'A'.repeat(22)}`

suite('Limits in memory', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  const left = async (headers: Record<string, string>) =>
    Number(/r=(\d+)/.exec((await service.request(profile, { headers })).headers.get('ratelimit') ?? '')?.[1])

  const useUp = async (headers: Network) => {
    const replies = await repeat(2000, () => service.request(profile, { headers }), 50)
    for (const { status } of replies) assert.equal(status, 404)
  }

  test('Without a token a network has a burst of 2000 and a refill of 1000 a minute', atLength, async () => {
    const network = freshNetwork()
    const call = () => service.request(profile, { headers: network })
    const policy = '"network";q=2000;w=120'
    assert.deepEqual(shown(await call()), [policy, '"network";r=1999;t=1'])
    for (const { status } of await repeat(1999, call, 50)) assert.equal(status, 404)
    const refused = await call()
    assert.deepEqual([refused.status, refused.json.code], [429, 'too-many-requests'])
    assert.deepEqual(shown(refused), [policy, '"network";r=0;t=120'])
    assert.equal(refused.headers.get('retry-after'), '1')
    assert.equal((await service.request(profile, { headers: freshNetwork() })).status, 404)
    service.clock.advance(second)
    const replies = await repeat(20, call)
    assert.equal(replies.filter((reply) => reply.status === 404).length, 16)
    service.clock.advance(minute)
    assert.equal((await call()).status, 404)
  })

  test('A clock that is put back keeps nobody out, and gives nothing back', async () => {
    const headers = freshNetwork()
    service.clock.advance(60 * minute)
    assert.equal(await left(headers), 1999)
    service.clock.jump(-60 * minute)
    assert.equal(await left(headers), 1998)
  })

  test('The rest without a token shares one count: profiles, refreshes, keys, refused tokens', async () => {
    const headers = freshNetwork()
    const paths = ['/.well-known/jwks.json', '/.well-known/oauth-authorization-server', '/openapi.json']
    for (const path of paths) await service.request(path, { headers })
    await service.post('/session/refresh', { refresh_token: 'x' }, headers)
    await service.request('/veterinarian/me', { headers })
    await service.request('/veterinarian/me', { token: 'forged', headers })
    assert.equal(await left(headers), 2000 - 6 - 1)
  })

  test('Health and static files are uncounted', async () => {
    const headers = freshNetwork()
    const paths = [
      '/health/live',
      '/health/ready',
      '/assets/page.css',
      '/assets/mark.svg',
      '/manifest.webmanifest',
    ]
    for (const path of paths) {
      const reply = await service.request(path, { headers })
      assert.deepEqual(shown(reply), [null, null], path)
    }
    assert.equal(await left(headers), 1999)
  })

  test('Health answers a network that has used everything up', atLength, async () => {
    const headers = freshNetwork()
    await useUp(headers)
    assert.equal((await service.request(profile, { headers })).status, 429)
    assert.equal((await service.request('/health/ready', { headers })).status, 200)
  })

  test('With a valid token a session has a burst of 300 and a refill of 120 a minute, shown to it alone', async () => {
    const email = freshAddress()
    const busy = await service.signIn(email, freshNetwork())
    const other = await service.signIn(email, freshNetwork())
    const network = freshNetwork()
    const call = (token = busy.access) => service.request('/veterinarian/me', { token, headers: network })
    const policy = '"session";q=300;w=150'
    assert.deepEqual(shown(await call()), [policy, '"session";r=299;t=1'])
    for (const { status } of await repeat(299, () => call())) assert.equal(status, 200)
    const refused = await call()
    assert.deepEqual([refused.status, refused.json.code], [429, 'too-many-requests'])
    assert.deepEqual(
      [refused.headers.get('retry-after'), ...shown(refused)],
      ['1', policy, '"session";r=0;t=150'],
    )
    assert.deepEqual(shown(await call(other.access)), [policy, '"session";r=299;t=1'])
    const forbidden = await service.request('/student/me', { token: other.access })
    assert.deepEqual([forbidden.status, ...shown(forbidden)], [403, policy, '"session";r=298;t=1'])
    const client = await addClient(service)
    const { access: atClient } = await signInAt(service, other, client)
    const closed = () => service.request('/student/me', { token: atClient })
    assert.deepEqual(shown(await closed()), [policy, '"session";r=299;t=1'])
    for (const { status } of await repeat(299, closed)) assert.equal(status, 403)
    assert.equal((await closed()).status, 429)
    assert.equal((await service.request('/session', { token: busy.access })).status, 429)
    service.clock.advance(second)
    assert.deepEqual([(await call()).status, (await call()).status, (await call()).status], [200, 200, 429])
    assert.equal(await left(network), 1999)
  })

  test('A network that has used everything up still serves valid tokens', atLength, async () => {
    const { access } = await service.signIn(freshAddress(), freshNetwork())
    const headers = freshNetwork()
    await useUp(headers)
    assert.equal((await service.request('/veterinarian/me', { token: access, headers })).status, 200)
    assert.equal((await service.request('/veterinarian/me', { headers })).status, 429)
    assert.equal((await service.request('/veterinarian/me', { token: 'forged', headers })).status, 429)
  })

  const hops = (value: string): Network => ({ 'x-forwarded-for': value })
  const same: [name: string, a: string, b: string][] = [
    ['two addresses of one IPv6 /64', '2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['two spellings of one IPv6 address', '2001:DB8:0:3::1', '2001:db8::3:0:0:0:1'],
    ['an IPv4 address and its mapped form', '203.0.113.9', '::ffff:203.0.113.9'],
    ['the right-most hop, whatever stands before it', '198.51.100.1, 203.0.113.10', '203.0.113.10'],
    ['the hop before a trusted one', '203.0.113.11, 127.0.0.1', '203.0.113.11'],
    ['the hop before several trusted ones', '203.0.113.12,127.0.0.1 , 127.0.0.1', '203.0.113.12'],
    ['a hop after garbage', 'garbage, 203.0.113.13', '203.0.113.13'],
  ]
  for (const [name, a, b] of same) {
    test(`One network: ${name}`, async () => {
      assert.equal(await left(hops(a)), 1999)
      assert.equal(await left(hops(b)), 1998)
    })
  }

  const different: [name: string, a: string, b: string][] = [
    ['two IPv4 addresses', '203.0.113.20', '203.0.113.21'],
    ['two IPv6 /64', '2001:db8:9:1::1', '2001:db8:9:2::1'],
    ['the right-most hops of one client', '203.0.113.22, 198.51.100.2', '203.0.113.22, 198.51.100.3'],
  ]
  for (const [name, a, b] of different) {
    test(`Different networks: ${name}`, async () => {
      assert.equal(await left(hops(a)), 1999)
      assert.equal(await left(hops(b)), 1999)
    })
  }

  test('A client cannot leave its network by inventing hops or headers', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.30' }
    assert.equal(await left(headers), 1999)
    assert.equal(await left({ 'x-forwarded-for': '8.8.8.8, 9.9.9.9, 203.0.113.30' }), 1998)
    assert.equal(await left({ ...headers, 'x-real-ip': '8.8.8.8', forwarded: 'for=8.8.8.8' }), 1997)
    const twice = await wire(service.url, profile, {
      headers: { 'x-forwarded-for': ['8.8.4.4', '203.0.113.30'] },
    })
    assert.match(twice.headers.get('ratelimit') ?? '', /r=1996;/)
  })

  test('Without X-Forwarded-For the peer is the network', async () => {
    const first = await left({})
    assert.ok(first > 0)
    assert.equal(await left({}), first - 1)
    assert.equal(await left({ 'x-forwarded-for': 'unknown' }), first - 2)
  })
})

suite('Limits and settings', () => {
  test('X-Forwarded-For from an untrusted peer is ignored', async () => {
    for (const proxies of ['', '10.0.0.0/8']) {
      const service = await startService('sqlite', { env: { CHIRON_TRUSTED_PROXIES: proxies } })
      const left = []
      for (let i = 0; i < 3; i++) {
        const reply = await service.request(profile, { headers: freshNetwork() })
        left.push(/r=(\d+)/.exec(reply.headers.get('ratelimit') ?? '')?.[1])
      }
      await service.stop()
      assert.deepEqual(left, ['1999', '1998', '1997'])
    }
  })

  test('A trusted proxy may be given as a CIDR, and proxies may stand in a row', async () => {
    const service = await startService('sqlite', {
      env: { CHIRON_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8, 2001:db8:aaaa::/48' },
    })
    const left = async (hops: string) =>
      /r=(\d+)/.exec(
        (await service.request(profile, { headers: { 'x-forwarded-for': hops } })).headers.get('ratelimit') ??
          '',
      )?.[1]
    const results = [
      await left('203.0.113.1, 10.1.2.3'),
      await left('8.8.8.8, 203.0.113.1, 10.9.9.9, 127.0.0.2'),
      await left('203.0.113.1, 2001:db8:aaaa::7, 10.1.2.3'),
      await left('10.1.2.3, 203.0.113.2'),
    ]
    await service.stop()
    assert.deepEqual(results, ['1999', '1998', '1997', '1999'])
  })

  test('CHIRON_LIMITS=off lifts every limit and shows none', atLength, async () => {
    const service = await startService('sqlite', { env: { CHIRON_LIMITS: 'off' } })
    const headers = freshNetwork()
    const email = freshAddress('off')
    const { access } = await service.signIn(email, headers)
    const groups: [status: number, call: () => Promise<Reply>, times: number][] = [
      [202, () => service.post('/veterinarian/send-otp', { email }, headers), 30],
      [202, () => service.register(email), 120],
      [404, () => service.request(profile, { headers }), 2100],
      [200, () => service.request('/veterinarian/me', { token: access, headers }), 320],
    ]
    const statuses: [expected: number, seen: Set<number>][] = []
    const limits = new Set<string | null>()
    for (const [status, call, times] of groups) {
      const replies = await repeat(times, call, 50)
      statuses.push([status, new Set(replies.map((reply) => reply.status))])
      for (const reply of replies) limits.add(reply.headers.get('ratelimit'))
    }
    await service.stop()
    for (const [expected, seen] of statuses) assert.deepEqual([...seen], [expected])
    assert.deepEqual([...limits], [null])
  })
})

suite('What is remembered of callers', () => {
  const keysMax = 100_000
  const { network, session } = memoryPolicies
  /** Has used its share up, as the first of many callers. */
  const usedUp = (clock: TestClock) => {
    const buckets = new MemoryBuckets(clock)
    for (let i = 0; i < network.burst; i++) buckets.take(network, 'busy')
    assert.throws(() => buckets.take(network, 'busy'))
    for (let i = 1; i < keysMax; i++) buckets.take(session, String(i))
    return buckets
  }

  test('is first forgotten of those who have their whole share again', () => {
    const clock = new TestClock()
    const buckets = usedUp(clock)
    clock.advance(second)
    buckets.take(session, 'one more')
    assert.throws(() => {
      for (let i = 0; i < network.burst / 2; i++) buckets.take(network, 'busy')
    })
  })

  test('has a bound, beyond which the oldest is forgotten', () => {
    const buckets = usedUp(new TestClock())
    buckets.take(session, 'one more')
    assert.doesNotThrow(() => buckets.take(network, 'busy'))
  })
})
