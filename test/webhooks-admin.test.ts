/** Webhooks as admins change them over HTTP and operators by command. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { minute } from '../src/platform/lib/clock.ts'
import { commandFolder, serveChild } from './support/child.ts'
import { atLength, engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Receiver, signatureOf, startReceiver, status, verify } from './support/receiver.ts'
import { run } from './support/roster-commands.ts'
import { outcome, type Service, type SignedIn, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { eventually } from './support/wait.ts'

for (const engine of engines) {
  suite(`/staff/webhooks on ${engine}`, () => {
    let service: Service
    let admin: SignedIn
    before(async () => {
      service = await startService(engine, { env: { CHIRON_WEBHOOK_ALLOW: '127.0.0.1' } })
      admin = await newStaff(service, 'admin')
    })
    after(() => service.stop())

    const call = (method: string, path: string, body?: unknown) =>
      service.request(`/staff/webhooks${path}`, {
        method,
        token: admin.access,
        ...(body !== undefined && { body }),
      })

    test('An admin adds, reads, changes, rotates, replays and removes a webhook', async (t) => {
      const receiver = await startReceiver()
      t.after(() => receiver.close())
      const added = await call('POST', '', { url: receiver.url, events: ['session.started'] })
      assert.equal(added.status, 201)
      const { id, secret, ...shown } = added.json
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
      assert.deepEqual(shown, {
        url: receiver.url,
        events: ['session.started'],
        enabled: true,
        disabledAt: null,
        disabledBecause: null,
        readable: true,
        failures: 0,
        failingSince: null,
        waiting: 0,
        createdAt: new Date(service.clock.now()).toISOString(),
      })
      assert.equal(added.headers.get('cache-control'), 'no-store')
      const listed = await call('GET', '')
      assert.deepEqual(listed.json, { webhooks: [{ id, ...shown }] })

      service.clock.advance(1)
      const since = new Date(service.clock.now()).toISOString()
      await service.signIn(freshAddress(), freshNetwork())
      await receiver.until(1)
      const delivered = await eventually('a delivery', async () => {
        const { json } = await call('GET', `/${id}/deliveries`)
        return json.deliveries[0]?.state === 'delivered' && json.deliveries
      })
      const [one] = delivered
      assert.deepEqual(
        [one.type, one.eventId, one.attempts, one.status, one.error, one.nextTryAt],
        ['session.started', receiver.received[0]!.headers['webhook-id'], 1, 204, null, null],
      )

      const replayed = await call('POST', `/${id}/replay`, { since })
      assert.deepEqual([replayed.status, replayed.json], [202, { queued: 1 }])
      await receiver.until(2)

      const rotated = await call('POST', `/${id}/rotate`)
      assert.equal(rotated.status, 200)
      assert.notEqual(rotated.json.secret, secret)

      const off = await call('PATCH', `/${id}`, { enabled: false })
      assert.deepEqual([off.json.enabled, off.json.disabledBecause], [false, 'operator'])
      assert.equal((await call('PATCH', `/${id}`, { enabled: true })).json.enabled, true)
      const changed = await call('PATCH', `/${id}`, { events: ['session.ended', '*'] })
      assert.deepEqual(changed.json.events, ['*'])
      assert.equal((await call('DELETE', `/${id}`)).status, 204)
      assert.deepEqual((await call('GET', '')).json, { webhooks: [] })
      for (const path of [`/${id}/deliveries`, '/nonsense/deliveries'])
        assert.deepEqual(outcome(await call('GET', path)), [404, 'not-found'])
      for (const [method, path, body] of [
        ['PATCH', '', {}],
        ['DELETE', ''],
        ['POST', '/rotate'],
        ['POST', '/replay', { since }],
      ] as const)
        assert.deepEqual(outcome(await call(method, `/${id}${path}`, body)), [404, 'not-found'])
    })

    test('An invalid request is refused, with a pointer to the error', async () => {
      const url = 'https://hook.example/'
      const wrong: [body: unknown, pointer: string][] = [
        [{ url }, '#'],
        [{ events: ['*'] }, '#'],
        [{ url, events: [] }, '#/events'],
        [{ url, events: ['session.begun'] }, '#/events'],
        [{ url, events: 'session.started' }, '#/events'],
        [{ url: 'https://10.0.0.1/', events: ['*'] }, '#/url'],
        [{ url: 7, events: ['*'] }, '#/url'],
      ]
      for (const [body, pointer] of wrong) {
        const reply = await call('POST', '', body)
        assert.deepEqual(outcome(reply), [400, 'invalid-request'], JSON.stringify(body))
        assert.ok(reply.json.errors[0].pointer.startsWith(pointer), reply.text)
      }
      const { json } = await call('POST', '', { url, events: ['*'] })
      for (const since of ['yesterday', '', 7, '7', '36', '7d', '2026-02-30', '2026-11-15 09:00'])
        assert.deepEqual(outcome(await call('POST', `/${json.id}/replay`, { since })), [
          400,
          'invalid-request',
        ])
      await call('DELETE', `/${json.id}`)
    })

    test('A test event arrives at once and signed, also while it is disabled, and changes nothing', async (t) => {
      const receiver = await startReceiver()
      t.after(() => receiver.close())
      const { json: hook } = await call('POST', '', { url: receiver.url, events: ['session.started'] })
      await call('PATCH', `/${hook.id}`, { enabled: false })
      const before = (await call('GET', '')).json
      const tested = await call('POST', `/${hook.id}/test`)
      assert.equal(tested.status, 200)
      const [one] = receiver.received
      assert.deepEqual([tested.json.status, tested.json.error], [204, null])
      assert.equal(one!.headers['webhook-id'], tested.json.eventId)
      assert.equal(one!.headers['webhook-signature'], signatureOf(hook.secret, one!))
      const { type, timestamp, data } = JSON.parse(one!.body)
      assert.deepEqual([type, timestamp], ['webhook.test', data.at])
      assert.deepEqual(
        [data.type, data.number, data.userId, data.actor, data.data],
        ['webhook.test', 0, null, admin.userId, { webhookId: hook.id }],
      )
      for (const [answer, expected] of [
        [status(410), [410, 'it answered 410']],
        [status(302, { location: '/' }), [302, 'it redirects']],
        [(response) => void response.socket!.destroy(), [null, 'ECONNRESET']],
      ] as [Receiver['answer'], [number | null, string]][]) {
        receiver.answer = answer
        const { json } = await call('POST', `/${hook.id}/test`)
        assert.deepEqual([json.status, json.error], expected)
      }
      assert.deepEqual((await call('GET', '')).json, before)
      assert.deepEqual((await call('GET', `/${hook.id}/deliveries`)).json, { deliveries: [] })
      assert.deepEqual(await service.rows("select id from event where type = 'webhook.test'"), [])
      await call('DELETE', `/${hook.id}`)
      assert.deepEqual(outcome(await call('POST', `/${hook.id}/test`)), [404, 'not-found'])
    })

    test('At most fifty webhooks can be added, also at once', async () => {
      const add = () => call('POST', '', { url: 'https://hook.example/', events: ['*'] })
      const ids: string[] = []
      for (let i = 0; i < 45; i++) ids.push((await add()).json.id)
      const atOnce = await Promise.all(Array.from({ length: 10 }, add))
      const added = atOnce.filter(({ status }) => status === 201)
      assert.equal(added.length, 5)
      const refused = atOnce.filter(({ status }) => status !== 201)
      for (const reply of refused) assert.deepEqual(outcome(reply), [409, 'conflict'])
      for (const id of [...ids, ...added.map(({ json }) => json.id)])
        assert.equal((await call('DELETE', `/${id}`)).status, 204)
    })

    test('A change needs a sign-in at most 30 minutes old; reading does not', async () => {
      const { json } = await call('POST', '', { url: 'https://hook.example/', events: ['*'] })
      const old = await newStaff(service, 'admin')
      service.clock.advance(31 * minute)
      const refreshed = await service.post('/session/refresh', { refresh_token: old.refresh })
      const access = refreshed.json.access_token
      const ask = (method: string, path: string, body?: unknown) =>
        service.request(`/staff/webhooks${path}`, {
          method,
          token: access,
          ...(body !== undefined && { body }),
        })
      assert.equal((await ask('GET', '')).status, 200)
      assert.equal((await ask('GET', `/${json.id}/deliveries`)).status, 200)
      for (const [method, path, body] of [
        ['POST', '', { url: 'https://hook.example/', events: ['*'] }],
        ['PATCH', `/${json.id}`, { enabled: false }],
        ['DELETE', `/${json.id}`],
        ['POST', `/${json.id}/rotate`],
        ['POST', `/${json.id}/replay`, { since: '2026-11-15T09:00:00.000Z' }],
      ] as const)
        assert.deepEqual(outcome(await ask(method, path, body)), [403, 'recent-sign-in-required'])
    })
  })
}

suite('chiron webhooks', atLength, () => {
  const folder = commandFolder()
  const env = { ...folder.ownStore(), CHIRON_WEBHOOK_ALLOW: '127.0.0.1' }
  const chiron = (...args: string[]) => run(folder.path, ['webhooks', ...args], env)
  const asJson = async (...args: string[]) => {
    const ran = await chiron(...args, '--json')
    assert.equal(ran.code, 0, ran.err)
    return ran.json[0]
  }

  test('adds, lists, changes, rotates, disables, enables, replays and removes beside the service', async (t) => {
    const held: ServerResponse[] = []
    // The second try, some seconds later, is not answered before both were looked at.
    const receiver = await startReceiver((response, request) => {
      if (receiver.received.length === 1) status(500)(response, request)
      else held.push(response)
    })
    const child = await serveChild({ cwd: folder.path, env })
    t.after(async () => {
      await child.end()
      await receiver.close()
    })
    const added = await chiron('add', `${receiver.url}?key=1`, '--events', 'staff.added, staff.removed')
    assert.equal(added.code, 0, added.err)
    const [, id] = /^Webhook (\S+) receives events from now on\.$/m.exec(added.out)!
    const [secret] = /whsec_\S+/.exec(added.out)!
    const staff = await run(
      folder.path,
      ['staff', 'add', 'ada@example.org', '--name', 'Ada Marsh', '--may', 'admin'],
      env,
    )
    assert.equal(staff.code, 0, staff.err)
    const [one] = await receiver.until(1)
    verify(secret!, one!)
    assert.deepEqual([one!.event.type, one!.event.actor], ['staff.added', 'operator'])
    const failing = await eventually('it fails', async () => {
      const { out } = await chiron('list')
      return /failing since \S+Z, 1 failure in a row/.test(out) && out
    })
    assert.match(failing, /^id +url +events +waiting +state$/m)
    assert.ok(failing.includes(`${receiver.url}?key=1`))
    const deliveries = await chiron('deliveries', id!)
    assert.match(deliveries.out, /staff\.added +waiting +1 +\S+ +it answered 500/)
    receiver.answer = status(200)
    for (const response of held) response.writeHead(200).end()

    const count = receiver.received.length
    const tested = await chiron('test', id!)
    assert.equal(tested.code, 0, tested.err)
    assert.match(
      tested.out,
      new RegExp(`^Webhook ${id} accepted the test event: it answered 200 in \\d+ ms\\.\n$`),
    )
    const test = receiver.received.slice(count).find(({ event }) => event.type === 'webhook.test')!
    verify(secret!, test)
    assert.equal(test.event.actor, 'operator')
    receiver.answer = status(503)
    const refused = await chiron('test', id!)
    assert.deepEqual(
      [refused.code, refused.out, refused.err],
      [1, '', `chiron: webhook ${id} did not accept the test event: it answered 503\n`],
    )
    receiver.answer = status(200)

    const rotated = await asJson('rotate', id!)
    assert.match(rotated.secret, /^whsec_/)
    assert.deepEqual((await asJson('change', id!, '--events', '*')).events, ['*'])
    assert.equal((await asJson('disable', id!)).enabled, false)
    assert.match((await chiron('list')).out, /disabled/)
    assert.match(
      (await chiron('replay', id!, '--since', '1h')).err,
      /^chiron: This webhook is disabled; enable it first.$/m,
    )
    assert.equal((await asJson('enable', id!)).enabled, true)
    const before = receiver.received.length
    const { queued } = await asJson('replay', id!, '--since', '1h')
    assert.ok(queued >= 1)
    await receiver.until(before + queued)
    verify(rotated.secret, receiver.received.at(-1)!)
    verify(secret!, receiver.received.at(-1)!)
    assert.deepEqual(await asJson('remove', id!), { id })
    assert.match((await chiron('list')).out, /There are no webhooks/)
    assert.ok(!child.output.out.includes('key=1') && !child.output.out.includes('whsec_'))
  })

  for (const [args, message] of [
    [['add', 'https://hook.example/'], /^chiron: give the event types with --events/],
    [['add', 'nonsense', '--events', '*'], /^chiron: url must be a URL such as/],
    [['add', 'https://hook.example/', '--events', 'session.strated'], /did you mean session\.started\?$/m],
    [
      ['add', 'https://hook.example/', '--events', ','],
      /^chiron: events must include an event type, or \* for all$/m,
    ],
    [['add', 'https://10.0.0.1/', '--events', '*'], /CHIRON_WEBHOOK_ALLOW does not list it$/m],
    [['rotate', 'nobody'], /^chiron: No webhook has this id\.$/m],
    [['test', '-bcdefghijklmnopqrstuv'], /^chiron: No webhook has this id\.$/m],
    [['change', 'nobody'], /^chiron: give the change/],
    [['replay', 'nobody'], /^chiron: give the start time/],
    [['replay', 'nobody', '--since', 'soon'], /^chiron: --since must be a time/],
  ] as [string[], RegExp][])
    test(`says on one line what is wrong with ${args.join(' ')}`, async () => {
      const ran = await chiron(...args)
      assert.equal(ran.code, 1)
      assert.match(ran.err, message)
      assert.equal(ran.err.trimEnd().split('\n').length, 1)
      assert.equal(ran.out, '')
    })
})
