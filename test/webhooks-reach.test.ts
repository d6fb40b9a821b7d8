/** Where webhooks may go: public addresses, checked when the connection is made, and what the operator allows. */
import assert from 'node:assert/strict'
import type { lookup as dnsLookup, LookupAddress } from 'node:dns'
import { createServer } from 'node:net'
import { suite, test } from 'node:test'
import { loadConfig } from '../src/config.ts'
import { post } from '../src/messages/webhooks/post.ts'
import { isPublic, parseRange } from '../src/platform/lib/network.ts'
import { startReceiver, status } from './support/receiver.ts'
import { startService } from './support/service.ts'
import { eventually } from './support/wait.ts'

const range = (text: string) => parseRange(text)!
const never = new AbortController().signal

/** Resolves names as told, one answer after the other. */
function answering(...answers: string[][]): { lookup: typeof dnsLookup; asked: string[] } {
  const asked: string[] = []
  const lookup = ((name: string, _options: object, callback: (e: null, found: LookupAddress[]) => void) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)]!
    asked.push(name)
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }) as unknown as typeof dnsLookup
  return { lookup, asked }
}

const send = (url: string, options: Partial<Parameters<typeof post>[0]> = {}) =>
  post({
    url: new URL(url),
    headers: {},
    body: '{}',
    allow: [],
    timeoutMs: 5_000,
    signal: never,
    ...options,
  })

const notPublic = [
  '127.0.0.1',
  '127.9.9.9',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '0.1.2.3',
  '224.0.0.1',
  '255.255.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '198.18.0.1',
  '240.0.0.1',
  '::',
  '::1',
  'fe80::1',
  'fd00::1',
  'fec0::1',
  'ff02::1',
  '2001:db8::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::127.0.0.1',
  '::7f00:1',
  '4000::1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::a00:1',
  '2002:7f00:1::',
  '2001::1',
]

suite('Addresses', () => {
  test('are public only if they are plain addresses of the Internet', () => {
    for (const address of notPublic) assert.equal(isPublic(address), false, address)
    for (const address of ['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111'])
      assert.equal(isPublic(address), true, address)
    assert.equal(isPublic('example.org'), false)
  })

  for (const address of notPublic)
    test(`${address} is refused when a name leads there, and when the URL names it`, async () => {
      const { lookup } = answering([address])
      await assert.rejects(send('https://hook.example/', { lookup }), /the address is not public/)
      const literal = address.includes(':') ? `[${address}]` : address
      await assert.rejects(send(`https://${literal}/`), /the address is not public/)
    })

  test('written in unusual ways are the same addresses', async () => {
    for (const host of ['127.1', '0x7f.1', '2130706433', '0177.0.0.1', '0', '[::ffff:7f00:1]'])
      await assert.rejects(send(`https://${host}/`), /the address is not public/, host)
  })
})

suite('A connection', () => {
  test('goes to the address that was checked, however the name changes', async (t) => {
    const receiver = await startReceiver()
    t.after(() => receiver.close())
    const { port } = new URL(receiver.url)
    const allow = [range('127.0.0.1')]
    const { lookup, asked } = answering(['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1'])
    const url = `http://changes.example:${port}/`
    assert.equal(await send(url, { lookup, allow }), 204)
    await assert.rejects(send(url, { lookup, allow }), /the address is not public/)
    assert.equal(await send(url, { lookup, allow }), 204)
    assert.deepEqual(asked, ['changes.example', 'changes.example', 'changes.example'])
    assert.equal(receiver.received.length, 2)
  })

  test('uses only the permitted ones of several addresses', async (t) => {
    const receiver = await startReceiver()
    t.after(() => receiver.close())
    const { port } = new URL(receiver.url)
    const { lookup } = answering(['10.0.0.1', '::1', '127.0.0.1'])
    assert.equal(await send(`http://mixed.example:${port}/`, { lookup, allow: [range('127.0.0.0/8')] }), 204)
  })

  test('reaches nothing when localhost is not allowed', async (t) => {
    const receiver = await startReceiver()
    t.after(() => receiver.close())
    const { port } = new URL(receiver.url)
    for (const host of ['localhost', '127.0.0.1'])
      await assert.rejects(send(`http://${host}:${port}/`), /the address is not public/)
    assert.equal(receiver.received.length, 0)
  })

  test('to a public address needs https', async () => {
    const { lookup } = answering(['8.8.8.8'])
    await assert.rejects(send('http://plain.example/', { lookup }), /a public address needs https/)
    await assert.rejects(send('http://8.8.8.8/'), /a public address needs https/)
  })

  test('follows no redirect', async (t) => {
    const inner = await startReceiver()
    const receiver = await startReceiver(status(307, { location: inner.url }))
    t.after(async () => {
      await inner.close()
      await receiver.close()
    })
    assert.equal(await send(receiver.url, { allow: [range('127.0.0.1')] }), 307)
    assert.equal(inner.received.length, 0)
  })

  test('ends at the time-out: no answer, a name that is never resolved, half an answer', async (t) => {
    const silent = await startReceiver(() => {})
    const half = createServer((socket) => void socket.write('HTTP/1.1 200 OK\r\nX-Slow: '))
    await new Promise<void>((resolve) => half.listen(0, '127.0.0.1', resolve))
    t.after(async () => {
      await silent.close()
      half.close()
    })
    const options = { allow: [range('127.0.0.1')], timeoutMs: 200 }
    const error = /no answer within 0.2 s/
    await assert.rejects(send(silent.url, options), error)
    const unresolved = (() => {}) as unknown as typeof dnsLookup
    await assert.rejects(send('https://slow.example/', { ...options, lookup: unresolved }), error)
    const { port } = half.address() as { port: number }
    await assert.rejects(send(`http://127.0.0.1:${port}/`, options), error)
  })

  test('reads little of an answer, and its status counts', async (t) => {
    let written = 0
    const receiver = await startReceiver((response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000))) written += 10_000
      }
      response.on('drain', more)
      more()
    })
    t.after(() => receiver.close())
    assert.equal(await send(receiver.url, { allow: [range('127.0.0.1')] }), 200)
    await eventually('the connection is closed', () => receiver.open.now === 0)
    assert.ok(written < 20_000_000, `${written} bytes`)
  })
})

suite('CHIRON_WEBHOOK_ALLOW', () => {
  const withAllow = (text: string) =>
    loadConfig({ CHIRON_SECRET: 'a secret for tests that is long enough', CHIRON_WEBHOOK_ALLOW: text })

  test('takes addresses and CIDRs', () => {
    assert.equal(withAllow('127.0.0.1, 10.0.0.0/8,fd00::/8').webhookAllow.length, 3)
    assert.deepEqual(withAllow('').webhookAllow, [])
  })

  test('refuses anything else in one line', () => {
    for (const text of ['localhost', '10.0.0.0/33', '10.0.0', '127.0.0.1;10.0.0.1'])
      assert.throws(() => withAllow(text), /^UsageError: CHIRON_WEBHOOK_ALLOW holds ".*", which is neither/)
  })
})

suite('The address of a webhook', () => {
  test('is checked when it is added or changed', async (t) => {
    const service = await startService('sqlite')
    t.after(() => service.stop())
    const { webhooks } = service.app.parts
    const events = ['*']
    const { id } = await webhooks.add({ url: 'https://hook.example:8443/a?b=c', events })
    const wrong: [url: string, why: RegExp][] = [
      ['hook.example', /must be a URL such as/],
      ['ftp://hook.example/', /must be a URL such as/],
      ['javascript:alert(1)', /must be a URL such as/],
      ['https://user:pass@hook.example/', /must not have a user name/],
      ['https://hook.example/#part', /fragment/],
      ['https://hook.example:22/', /must use port/],
      ['https://hook.example:25/', /must use port/],
      ['http://hook.example/', /must begin with https/],
      ['http://8.8.8.8/', /a public address needs https/],
      ['https://127.0.0.1/', /the address is not public/],
      ['https://[::1]/', /the address is not public/],
      ['https://169.254.169.254/latest', /the address is not public/],
      ['https://2130706433/', /the address is not public/],
      [`https://hook.example/${'x'.repeat(2_000)}`, /at most 2000 characters/],
    ]
    for (const [url, why] of wrong)
      for (const attempt of [() => webhooks.add({ url, events }), () => webhooks.change(id, { url })])
        await assert.rejects(attempt, (error: { code: string; extra: { errors: { detail: string }[] } }) => {
          assert.equal(error.code, 'invalid-request', url)
          assert.match(error.extra.errors[0]!.detail, why)
          return true
        })
    assert.equal((await webhooks.list())[0]?.url, 'https://hook.example:8443/a?b=c')
  })

  test('may lead home by a name, but then nothing is sent', async (t) => {
    const service = await startService('sqlite')
    const receiver = await startReceiver()
    t.after(async () => {
      await service.stop()
      await receiver.close()
    })
    const { webhooks } = service.app.parts
    const { port } = new URL(receiver.url)
    const { id } = await webhooks.add({ url: `https://localhost:${port}/`, events: ['*'] })
    await service.signIn('somebody@clinic.example')
    const delivery = await eventually('an attempt', async () => {
      const one = (await webhooks.deliveries(id)).at(-1)
      return one && one.attempts > 0 && one
    })
    assert.equal(delivery.error, 'the address is not public')
    assert.equal(receiver.open.most, 0)
  })
})
