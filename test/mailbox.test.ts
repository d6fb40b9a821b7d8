import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import { openPage, overflow, picture } from './support/browser.ts'
import { engines, inBrowser } from './support/engines.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import { type Service, serviceFor, startService } from './support/service.ts'
import { standsIn, storeCells } from './support/store-text.ts'
import { originOf } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

const withoutSmtp = { CHIRON_SMTP_URL: '' }

/** Can send any header, unlike fetch. */
const plainly = (url: string, path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(new URL(path, url), { method, headers }, (reply) => {
      reply.resume()
      resolve(reply)
    })
    sent.on('error', reject)
    sent.end()
  })

const statusOf = async (...sent: Parameters<typeof plainly>) => (await plainly(...sent)).statusCode

const caught = (service: Service, n: number) =>
  eventually(`${n} caught mails`, async () => {
    const mails = await service.rows<{ id: string }>(
      'select id from outbox where sent_at is not null order by sent_at desc',
    )
    return mails.length === n ? mails.map(({ id }) => id) : undefined
  })

const markedLines = (service: Service) => service.log.filter((line) => line.includes('[development mailbox]'))

const ask = async (service: Service, email: string) => {
  await service.register(email)
  const sent = await service.post('/veterinarian/send-otp', { email })
  assert.equal(sent.status, 202)
  return sent.json as { sessionId: string; reference: string }
}

describe('The mailbox', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite', { env: withoutSmtp })
  })
  after(() => service.stop())

  test('shows caught mail newest first, each in a frame of its own that shows its HTML', async () => {
    const sent = []
    for (const [i, name] of ['first', 'second', 'third'].entries()) {
      sent.push(await ask(service, `${name}@vets.example`))
      await caught(service, i + 1)
      service.clock.advance(1_000)
    }
    const page = await service.request('/mailbox')
    assert.equal(page.status, 200)
    assert.match(page.headers.get('content-type')!, /^text\/html/)
    assert.equal(page.headers.get('cache-control'), 'no-store')
    const shown = [...page.text.matchAll(/reference ([A-Z]{3})\)<\/h2>/g)].map(([, reference]) => reference)
    assert.deepEqual(shown, sent.map(({ reference }) => reference).reverse())
    const frames = [...page.text.matchAll(/<iframe src="([^"]+)"[^>]* sandbox[ >]/g)].map(([, src]) => src!)
    assert.equal(frames.length, 3)
    const newest = await service.request(frames[0]!)
    assert.equal(newest.status, 200)
    assert.match(newest.text, new RegExp(sent[2]!.reference))
    assert.match(newest.text, />\d{6}</)
  })

  test('prints the code on one marked line of the log, and the code works', async () => {
    const before = markedLines(service).length
    const email = 'marked@vets.example'
    const { sessionId } = await ask(service, email)
    const line = await eventually('the marked line', () => markedLines(service)[before])
    const code = /code (\d{6}) for marked@vets\.example/.exec(line)![1]!
    const reply = await service.post('/veterinarian/validate-otp', {
      email,
      otp_code: Number(code),
      sessionId,
    })
    assert.equal(reply.status, 200)
    assert.deepEqual(
      service.log.filter((entry) => standsIn(entry, code)),
      [line],
    )
  })

  test('leaves no code in the store', async () => {
    const codes = markedLines(service).map((line) => /code (\d{6})/.exec(line)![1]!)
    assert.ok(codes.length >= 4)
    const cells = await storeCells(service)
    for (const code of codes)
      assert.deepEqual(
        cells.filter(({ value }) => standsIn(value, code)),
        [],
      )
  })

  test('says that there is no account, once a day, as mail would', async () => {
    const before = markedLines(service).length
    for (let i = 0; i < 2; i++)
      assert.equal(
        (await service.post('/veterinarian/send-otp', { email: 'nobody@vets.example' })).status,
        202,
      )
    await eventually(
      'an outbox with caught mail only',
      async () => (await service.rows('select id from outbox where sent_at is null')).length === 0,
    )
    const lines = markedLines(service).slice(before)
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /a mail without a code for nobody@vets\.example/)
  })

  const hosts: [host: string, status: number][] = [
    ['localhost', 200],
    ['localhost:3000', 200],
    ['127.0.0.1', 200],
    ['127.8.9.10:80', 200],
    ['[::1]:3000', 200],
    ['chiron.localhost', 200],
    ['LOCALHOST', 200],
    ['chiron.example', 404],
    ['localhost.example', 404],
    ['127.0.0.1.nip.example', 404],
    ['192.0.2.1', 404],
    ['0.0.0.0', 404],
    ['localhost@chiron.example', 404],
    ['chiron.example#localhost', 404],
    ['chiron.example:80/localhost', 404],
  ]
  test('answers loopback names in Host only', async () => {
    const [id] = await service.rows<{ id: string }>('select id from outbox where sent_at is not null')
    for (const path of ['/mailbox', '/mailbox.json', `/mailbox/${id!.id}`])
      for (const [host, status] of hosts)
        assert.equal(await statusOf(service.url, path, { Host: host }), status, `${path} for ${host}`)
  })

  const forwarding = [
    'Forwarded',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Proto',
    'X-Forwarded-Port',
    'X-Forwarded-Server',
    'X-Real-IP',
    'X-Client-IP',
    'CF-Connecting-IP',
    'True-Client-IP',
    'Via',
  ]
  for (const header of forwarding) {
    test(`is not there for a request that came with ${header}`, async () => {
      for (const path of ['/mailbox', '/mailbox.json'])
        for (const method of ['GET', 'POST', 'OPTIONS'])
          assert.equal(await statusOf(service.url, path, { [header]: '127.0.0.1' }, method), 404)
    })
  }

  test('answers a browser that asks for itself or for the page, and no other page', async () => {
    const [id] = await service.rows<{ id: string }>('select id from outbox where sent_at is not null')
    for (const path of ['/mailbox', '/mailbox.json', `/mailbox/${id!.id}`, '/mailb%6fx'])
      for (const [site, status] of [
        ['none', 200],
        ['same-origin', 200],
        ['same-site', 404],
        ['cross-site', 404],
        ['', 404],
      ] as const)
        assert.equal(await statusOf(service.url, path, { 'Sec-Fetch-Site': site }), status, `${path} ${site}`)
  })

  test('knows nothing of mails that do not exist', async () => {
    for (const id of ['x', 'A'.repeat(22), '%00', '..%2f..%2fetc'])
      assert.equal(await statusOf(service.url, `/mailbox/${id}`), 404)
  })
})

test('The mailbox is closed to other origins, even those that CORS allows', async (t) => {
  const origin = 'https://app.vets.example'
  const service = await serviceFor(t, 'sqlite', { env: { ...withoutSmtp, CHIRON_CORS_ORIGINS: origin } })
  const { reference } = await ask(service, 'ada@vets.example')
  const [id] = await caught(service, 1)
  for (const path of ['/mailbox', `/mailbox.json?reference=${reference}`, `/mailbox/${id}`]) {
    for (const [method, site, status] of [
      ['GET', 'cross-site', 404],
      ['OPTIONS', 'cross-site', 404],
      ['HEAD', 'same-site', 404],
      ['GET', 'same-origin', 200],
      ['OPTIONS', 'same-origin', 405],
    ] as const) {
      const headers = { Origin: origin, 'Access-Control-Request-Method': 'GET', 'Sec-Fetch-Site': site }
      const reply = await plainly(service.url, path, headers, method)
      assert.equal(reply.statusCode, status, `${method} ${path} ${site}`)
      const opened = Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))
      assert.deepEqual(opened, [])
      assert.equal(reply.headers['cross-origin-resource-policy'], 'same-origin')
    }
  }
  const live = await plainly(service.url, '/health/live', { Origin: origin })
  assert.equal(live.headers['access-control-allow-origin'], origin)
})

for (const engine of engines) {
  test(`The mailbox as JSON finds mails by address and reference, newest first, on ${engine}`, async (t) => {
    const service = await serviceFor(t, engine, { env: withoutSmtp })
    const sent = []
    for (const [i, email] of ['Ada@vets.example', 'bea@vets.example', 'ada@vets.example'].entries()) {
      sent.push(await ask(service, email))
      await caught(service, i + 1)
      service.clock.advance(1_000)
    }
    assert.equal((await service.post('/veterinarian/send-otp', { email: 'nobody@vets.example' })).status, 202)
    await caught(service, 4)
    const mails = async (query = '') => {
      const reply = await service.request(`/mailbox.json${query}`)
      assert.equal(reply.status, 200, query)
      assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8')
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      return reply.json.mails as Record<string, string | number | null>[]
    }
    const all = await mails()
    assert.deepEqual(
      all.map(({ to }) => to),
      ['nobody@vets.example', 'Ada@vets.example', 'bea@vets.example', 'Ada@vets.example'],
    )
    assert.equal(all[0]!.code, null)
    const [mail] = await mails(`?to=ADA@vets.example&reference=${sent[2]!.reference}`)
    assert.deepEqual(Object.keys(mail!), [
      'id',
      'to',
      'subject',
      'reference',
      'sentAt',
      'text',
      'html',
      'code',
    ])
    assert.equal(mail!.reference, sent[2]!.reference)
    assert.match(String(mail!.subject), new RegExp(sent[2]!.reference))
    assert.equal(mail!.sentAt, new Date(service.clock.now() - 1_000).toISOString())
    assert.match(String(mail!.text), new RegExp(`^ +${mail!.code}$`, 'm'))
    assert.match(String(mail!.html), new RegExp(`>${mail!.code}<`))
    const answer = { email: 'ada@vets.example', otp_code: mail!.code, sessionId: sent[2]!.sessionId }
    assert.equal((await service.post('/veterinarian/validate-otp', answer)).status, 200)
    assert.deepEqual(
      (await mails('?to=ada%40vets.example')).map(({ reference }) => reference),
      [sent[2]!.reference, sent[0]!.reference],
    )
    assert.equal((await mails('?to=&reference=')).length, 4)
    for (const query of [
      '?to=x',
      '?to=ada@vets.example&to=bea@vets.example',
      '?to=%00',
      '?reference=%27',
      '?reference=abc',
      `?to=bea@vets.example&reference=${sent[2]!.reference}`,
    ])
      assert.deepEqual(await mails(query), [], query)
  })
}

test('The mailbox as JSON has the fifty newest mails that match', async (t) => {
  const service = await serviceFor(t, 'sqlite', { env: { ...withoutSmtp, CHIRON_LIMITS: 'off' } })
  await ask(service, 'first@vets.example')
  await caught(service, 1)
  service.clock.advance(1_000)
  await service.register('many@vets.example')
  for (let i = 0; i < 51; i++)
    assert.equal((await service.post('/veterinarian/send-otp', { email: 'many@vets.example' })).status, 202)
  await caught(service, 52)
  const found = async (query: string) => (await service.request(`/mailbox.json${query}`)).json.mails
  assert.equal((await found('')).length, 50)
  assert.equal((await found('?to=first@vets.example')).length, 1)
})

test('There is no mailbox when SMTP is set, nor in production, for any method', async (t) => {
  const production = {
    NODE_ENV: 'production',
    CHIRON_PUBLIC_URL: 'https://access.vets.example',
  }
  for (const env of [{}, production]) {
    const service = await serviceFor(t, 'sqlite', { env })
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE'])
      for (const path of ['/mailbox', '/mailbox.json', '/mailbox/AAAAAAAAAAAAAAAAAAAAAA'])
        assert.equal(await statusOf(service.url, path, {}, method), 404)
    assert.doesNotMatch((await service.request('/')).text, /mailbox/i)
  }
})

describe('In a browser', inBrowser, () => {
  let service: Service
  let browser: Browser
  let origin: string
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
      origin = originOf(service)
    },
    { env: withoutSmtp },
  )

  test('the mailbox shows a new mail automatically, on top, with its code', async () => {
    const page = await openPage(browser, origin)
    await page.goto(`${origin}/mailbox`)
    await page.getByText('No mail yet').waitFor()
    await picture(page, 'mailbox-empty')
    for (const name of ['one', 'two']) {
      const { reference } = await ask(service, `${name}@vets.example`)
      await page.locator('.mail h2').filter({ hasText: reference }).waitFor()
      assert.match((await page.locator('.mail h2').first().textContent())!, new RegExp(reference))
      service.clock.advance(1_000)
    }
    assert.equal(await page.getByText('No mail yet').count(), 0)
    const body = page.frameLocator('.mail iframe >> nth=0').locator('body')
    await body.filter({ hasText: /\d{6}/ }).waitFor()
    await picture(page, 'mailbox')
    assert.equal(await overflow(page, 360), 0)
    assert.deepEqual(page.faults, [])
    await page.goto(`${origin}${await page.locator('.mail iframe').first().getAttribute('src')}`)
    await picture(page, 'mail')
    assert.equal(await overflow(page, 360), 0)
  })

  test('the mailbox shows only mail to an address, also new mail, and copies a code', async () => {
    const page = await openPage(browser, origin)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    for (const name of ['ada', 'bea']) await ask(service, `${name}@filtered.example`)
    await page.goto(`${origin}/mailbox`)
    const to = page.getByLabel('Only mail to')
    const shown = () =>
      page.locator('.mail:visible').evaluateAll((mails) => mails.map((mail) => mail.dataset.to))
    await eventually('both', async () => (await shown()).filter((one) => /filtered/.test(one!)).length === 2)
    await to.fill('Ada@Filtered.example')
    assert.deepEqual(await shown(), ['ada@filtered.example'])
    await page.getByText('1 mail', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).search, '')
    service.clock.advance(1_000)
    for (const name of ['bea', 'ada']) await ask(service, `${name}@filtered.example`)
    await eventually('the new one', async () => (await shown()).length === 2)
    assert.deepEqual(await shown(), ['ada@filtered.example', 'ada@filtered.example'])
    assert.deepEqual(await accessFaults(page), [])
    await page
      .getByRole('button', { name: /^Copy the code/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const { mails } = (await service.request('/mailbox.json?to=ada@filtered.example')).json
    assert.equal(await page.evaluate<string>('navigator.clipboard.readText()'), String(mails[0].code))
    assert.equal(await overflow(page, 320), 0)
    assert.deepEqual(page.faults, [])
  })

  for (const [name, path] of [
    ['start', '/'],
    ['problems', '/problems'],
    ['problem', '/problems/otp-incorrect'],
  ] as const) {
    test(`${path} shows without a fault and fits a phone`, async () => {
      const page = await openPage(browser, origin)
      await page.goto(`${origin}${path}`)
      await page.locator('h1').waitFor()
      await picture(page, name)
      assert.equal(await overflow(page, 360), 0)
      assert.deepEqual(page.faults, [])
    })
  }
})
