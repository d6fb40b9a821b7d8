/** Mail servers as they are: tokens instead of passwords, a name in EHLO, signatures, and who gets bounces. */
import assert from 'node:assert/strict'
import { createHash, createVerify, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, type TestContext, test } from 'node:test'
import type { SMTPServerOptions } from 'smtp-server'
import { TokenError } from '../src/messages/mail/oauth.ts'
import { type SmtpSettings, smtpTransport } from '../src/messages/mail/smtp.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { deliveredAs } from './support/deliveries.ts'
import { atLength, engines } from './support/engines.ts'
import { startService, TestClock } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'
import { outboxEmpty } from './support/wait.ts'

const message = {
  from: 'Chiron <no-reply@chiron.example>',
  to: 'ada@vets.example',
  subject: 'Hello',
  text: 'Hello\n',
  html: '<p>Hello</p>',
  messageId: '<abc@chiron.example>',
  language: 'en',
}

const endings = new WeakMap<TestContext, (() => unknown)[]>()

/** Last opened, first closed: a mail server waits for whoever is connected. */
function atEnd(t: TestContext, close: () => unknown): void {
  const known = endings.get(t)
  if (known) return void known.push(close)
  const closings = [close]
  endings.set(t, closings)
  t.after(async () => {
    for (const each of closings.reverse()) await each()
  })
}

interface TokenReply {
  readonly status?: number
  readonly body: object
}

/** A token endpoint on loopback that keeps the forms it receives. */
async function startTokenServer(t: TestContext, reply: (nth: number) => TokenReply) {
  const forms: Record<string, string>[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      forms.push(Object.fromEntries(new URLSearchParams(text)))
      const { status = 200, body } = reply(forms.length)
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => server.close())
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}/token`, forms }
}

/** A mail server that lets in only whoever brings one of the good tokens. */
async function startXoauth2Server(
  t: TestContext,
  good: Set<string>,
  how: 'challenge' | 'plain-535' = 'challenge',
) {
  const logins: { user: string; token: string }[] = []
  const options: SMTPServerOptions = {
    authOptional: false,
    allowInsecureAuth: true,
    authMethods: ['XOAUTH2'],
    onAuth(auth, _session, callback) {
      const { username = '', accessToken = '' } = auth as { username?: string; accessToken?: string }
      logins.push({ user: username, token: accessToken })
      if (good.has(accessToken)) return callback(null, { user: username })
      if (how === 'plain-535')
        return callback(Object.assign(new Error('5.7.3 Authentication unsuccessful'), { responseCode: 535 }))
      callback(null, { data: { status: '401', schemes: 'bearer', scope: 'mail' } })
    },
  }
  const mail = await startMailServer(options)
  atEnd(t, () => mail.close())
  return { mail, logins }
}

const oauthOf = (tokenUrl: string) => ({
  tokenUrl,
  clientId: 'chiron-app',
  clientSecret: 'the client secret',
  scope: 'https://outlook.office365.com/.default',
  refreshToken: null,
})

function transportTo(t: TestContext, settings: SmtpSettings, clock = new TestClock()) {
  const transport = smtpTransport({ from: message.from, ...settings }, clock)
  atEnd(t, () => transport.close())
  return transport
}

suite('A mail server that takes tokens', atLength, () => {
  test('gets one by client credentials, for all connections and until shortly before it expires', async (t) => {
    const tokens = await startTokenServer(t, (nth) => ({
      body: { access_token: `token-${nth}`, expires_in: 600 },
    }))
    const { mail, logins } = await startXoauth2Server(t, new Set(['token-1', 'token-2']))
    const clock = new TestClock()
    const oauth = oauthOf(tokens.url)
    const transport = transportTo(t, { url: mail.url, oauth }, clock)
    await Promise.all(Array.from({ length: 10 }, () => transport.send(message)))
    assert.equal(mail.received.length, 10)
    assert.ok(logins.length > 1)
    assert.deepEqual(tokens.forms, [
      {
        client_id: 'chiron-app',
        grant_type: 'client_credentials',
        client_secret: 'the client secret',
        scope: 'https://outlook.office365.com/.default',
      },
    ])
    for (const login of logins) assert.deepEqual(login, { user: 'no-reply@chiron.example', token: 'token-1' })

    const later = transportTo(t, { url: mail.url.replace('//', '//clinic%40school.example@'), oauth }, clock)
    await later.send(message)
    assert.deepEqual(logins.at(-1), { user: 'clinic@school.example', token: 'token-2' })
    clock.advance(8 * minute)
    await later.send(message)
    assert.equal(tokens.forms.length, 2)
  })

  test('gets a new one once the old has nearly expired', async (t) => {
    const tokens = await startTokenServer(t, (nth) => ({
      body: { access_token: `token-${nth}`, expires_in: 600 },
    }))
    const { mail, logins } = await startXoauth2Server(t, new Set(['token-1', 'token-2']))
    const clock = new TestClock()
    const transport = transportTo(t, { url: mail.url, oauth: oauthOf(tokens.url) }, clock)
    await transport.send(message)
    clock.advance(9.5 * minute)
    // A connection that is open stays logged in, so more than one is needed.
    await Promise.all(Array.from({ length: 5 }, () => transport.send(message)))
    assert.equal(tokens.forms.length, 2)
    assert.equal(logins.at(-1)!.token, 'token-2')
  })

  test('gets one by a refresh token, and the next refresh token if there is one', async (t) => {
    const tokens = await startTokenServer(t, (nth) => ({
      body: { access_token: `token-${nth}`, refresh_token: `refresh-${nth}` },
    }))
    const { mail } = await startXoauth2Server(t, new Set(['token-1', 'token-2']))
    const clock = new TestClock()
    const oauth = { ...oauthOf(tokens.url), clientSecret: null, scope: null, refreshToken: 'refresh-0' }
    const transport = transportTo(t, { url: mail.url, oauth }, clock)
    await transport.send(message)
    clock.advance(10 * minute)
    await Promise.all([transport.send(message), transport.send(message)])
    assert.deepEqual(
      tokens.forms.map(({ grant_type, refresh_token }) => [grant_type, refresh_token]),
      [
        ['refresh_token', 'refresh-0'],
        ['refresh_token', 'refresh-1'],
      ],
    )
  })

  for (const how of ['challenge', 'plain-535'] as const)
    test(`gets a new one if it refuses the old, answering with ${how}`, async (t) => {
      const good = new Set(['token-1'])
      const tokens = await startTokenServer(t, (nth) => ({
        body: { access_token: `token-${nth}`, expires_in: 3600 },
      }))
      const { mail, logins } = await startXoauth2Server(t, good, how)
      const clock = new TestClock()
      const oauth = oauthOf(tokens.url)
      await transportTo(t, { url: mail.url, oauth }, clock).send(message)
      const transport = transportTo(t, { url: mail.url, oauth }, clock)
      good.add('token-2')
      await transport.send(message)
      good.clear()
      good.add('token-3')
      clock.advance(minute)
      // The connection that is open needs no login; others do.
      await Promise.all(Array.from({ length: 5 }, () => transport.send(message)))
      assert.equal(mail.received.length, 7)
      assert.equal(tokens.forms.length, 3)
      assert.ok(logins.some(({ token }) => token === 'token-3'))
    })

  test('that refuses every token is not asked again and again', async (t) => {
    const tokens = await startTokenServer(t, (nth) => ({ body: { access_token: `token-${nth}` } }))
    const { mail, logins } = await startXoauth2Server(t, new Set(), 'plain-535')
    const transport = transportTo(t, { url: mail.url, oauth: oauthOf(tokens.url) })
    await assert.rejects(transport.send(message), /535 5\.7\.3/)
    assert.deepEqual([tokens.forms.length, logins.length], [1, 1])
  })

  test('gets no mail when there is no token, and the error holds no secret', async (t) => {
    const { mail } = await startXoauth2Server(t, new Set())
    const replies: [reply: TokenReply, says: RegExp][] = [
      [
        { status: 401, body: { error: 'invalid_client', error_description: 'the client secret is wrong' } },
        /answered 401 invalid_client instead/,
      ],
      [{ status: 200, body: { token: 'x' } }, /answered 200 instead/],
      [{ status: 400, body: { error: 'quoting the client secret' } }, /answered 400 instead/],
    ]
    for (const [reply, says] of replies) {
      const tokens = await startTokenServer(t, () => reply)
      const transport = transportTo(t, { url: mail.url, oauth: oauthOf(tokens.url) })
      const error = await transport.send(message).then(
        () => assert.fail('it was sent'),
        (reason) => reason,
      )
      assert.ok(error instanceof TokenError)
      assert.match(error.message, says)
      assert.doesNotMatch(error.message, /client secret/)
      assert.equal(transport.isFinal(error), false)
    }
    const nowhere = transportTo(t, { url: mail.url, oauth: oauthOf('http://127.0.0.1:1/token') })
    await assert.rejects(nowhere.send(message), /the token server 127\.0\.0\.1:1 cannot be reached/)
  })

  for (const engine of engines)
    test(`defers codes while there is no token, and says so in timeline and log, on ${engine}`, async (t) => {
      let up = false
      const tokens = await startTokenServer(t, () =>
        up ? { body: { access_token: 'good' } } : { status: 503, body: { error: 'temporarily_unavailable' } },
      )
      const { mail } = await startXoauth2Server(t, new Set(['good']))
      const service = await startService(engine, {
        mail,
        env: {
          CHIRON_SMTP_OAUTH_TOKEN_URL: tokens.url,
          CHIRON_SMTP_OAUTH_CLIENT_ID: 'chiron-app',
          CHIRON_SMTP_OAUTH_CLIENT_SECRET: 'the client secret',
        },
      })
      atEnd(t, () => service.stop())
      const email = 'ada@vets.example'
      await service.register(email)
      await service.post('/veterinarian/send-otp', { email })
      const { steps } = await deliveredAs(service, email, 'deferred')
      assert.match(steps[1]!.why!, /answered 503 temporarily_unavailable/)
      assert.match(service.log.join(''), /answered 503 temporarily_unavailable/)
      assert.doesNotMatch(service.log.join('') + JSON.stringify(steps), /client secret/)
      up = true
      service.clock.advance(minute)
      service.app.parts.outbox.wake()
      assert.notEqual((await mail.mailTo(email)).code, null)
      await outboxEmpty(service)
    })
})

suite('The connection to the mail server', atLength, () => {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-dkim-'))
  after(() => rmSync(folder, { recursive: true, force: true }))

  /** Sends a message, and says whether it went encrypted and who logged in. */
  const over = async (t: TestContext, options: SMTPServerOptions, url: (mail: MailServer) => string) => {
    let isEncrypted = false
    const logins: unknown[] = []
    const mail = await startMailServer({
      onMailFrom(_address, session, callback) {
        isEncrypted = session.secure
        callback()
      },
      onAuth({ username, password }, _session, callback) {
        logins.push([username, password])
        callback(null, { user: username })
      },
      ...options,
    })
    atEnd(t, () => mail.close())
    await transportTo(t, { url: url(mail) }).send(message)
    assert.equal(mail.received.length, 1)
    return { isEncrypted, logins }
  }
  const same = ({ url }: MailServer) => url
  const smtps = ({ url }: MailServer) => url.replace('smtp:', 'smtps:')
  // Leads to this machine, yet is not a loopback name.
  const elsewhere = ({ url }: MailServer) => url.replace('127.0.0.1', '0.0.0.0')
  const starttls = { disabledCommands: [] }
  const ways: [name: string, server: SMTPServerOptions, url: typeof same, isEncrypted: boolean | RegExp][] = [
    ['is plain on loopback when the server offers nothing better', {}, same, false],
    ['is encrypted on loopback by STARTTLS, whoever signed the certificate', starttls, same, true],
    ['may be smtps with a self-signed certificate on loopback', { secure: true }, smtps, true],
    ['is refused elsewhere when the server offers no STARTTLS', {}, elsewhere, /STARTTLS/i],
    ['is refused elsewhere when the certificate cannot be trusted', starttls, elsewhere, /certificate/i],
    [
      'is refused elsewhere when the certificate cannot be trusted, with smtps',
      { secure: true },
      (mail) => elsewhere(mail).replace('smtp:', 'smtps:'),
      /certificate/i,
    ],
  ]
  for (const [name, server, url, isEncrypted] of ways)
    test(name, async (t) => {
      if (isEncrypted instanceof RegExp) await assert.rejects(over(t, server, url), isEncrypted)
      else assert.equal((await over(t, server, url)).isEncrypted, isEncrypted)
    })

  test('authenticates with the user and password of the URL', async (t) => {
    const url = (mail: MailServer) => mail.url.replace('//', '//clinic%40school:p%3Ass%2Fw%20rd@')
    const { logins } = await over(t, { authOptional: false, allowInsecureAuth: true }, url)
    assert.deepEqual(logins, [['clinic@school', 'p:ss/w rd']])
  })

  test('begins with the name that is set', async (t) => {
    const names: string[] = []
    const mail = await startMailServer({
      onMailFrom(_address, session, callback) {
        names.push(session.hostNameAppearsAs as string)
        callback()
      },
    })
    atEnd(t, () => mail.close())
    await transportTo(t, { url: mail.url, name: 'access.school.example' }).send(message)
    assert.deepEqual(names, ['access.school.example'])
  })

  test('signs a code by DKIM, so that the public key verifies it and a change does not pass', async (t) => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const file = join(folder, 'dkim.pem')
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const service = await startService('sqlite', {
      env: {
        CHIRON_DKIM_DOMAIN: 'school.example',
        CHIRON_DKIM_SELECTOR: 'chiron',
        CHIRON_DKIM_KEY_FILE: file,
        CHIRON_SMTP_NAME: 'access.school.example',
      },
    })
    atEnd(t, () => service.stop())
    for (const language of ['en', 'fr']) {
      const email = `${language}@vets.example`
      await service.register(email)
      await service.post('/veterinarian/send-otp', { email }, { 'accept-language': language })
      const { raw } = await service.mail.mailTo(email)
      const pem = publicKey.export({ type: 'spki', format: 'pem' })
      assert.deepEqual(verifyDkim(raw, pem), { domain: 'school.example', selector: 'chiron', isValid: true })
      assert.equal(verifyDkim(raw.replace(/Subject: ./, 'Subject: X'), pem).isValid, false)
      assert.equal(verifyDkim(raw.replace(/\d{6}/, '111111'), pem).isValid, false)
    }
  })

  test('goes from an address that carries the mail’s name, if there is a domain for bounces', async (t) => {
    const senders: string[] = []
    const mail = await startMailServer({
      onMailFrom({ address }, _session, callback) {
        senders.push(address)
        callback()
      },
    })
    atEnd(t, () => mail.close())
    for (const env of [{ CHIRON_MAIL_BOUNCES: 'bounces.school.example' }, {}] as Record<string, string>[]) {
      const service = await startService('sqlite', { mail, env })
      await service.post('/veterinarian/send-otp', { email: 'ada@vets.example' })
      await deliveredAs(service, 'ada@vets.example', 'handed')
      await service.stop()
    }
    assert.match(senders[0]!, /^bounce\+[a-p]{56}@bounces\.school\.example$/)
    assert.ok(senders[0]!.split('@')[0]!.length <= 64)
    assert.equal(senders[1], 'no-reply@chiron.example')
  })
})

/** RFC 6376 for one signature, relaxed/relaxed, rsa-sha256. */
function verifyDkim(raw: string, publicKey: string | Buffer) {
  const [head = '', ...rest] = raw.split('\r\n\r\n')
  const headers = head
    .split(/\r\n(?![ \t])/)
    .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line] as const)
  const relaxed = (line: string) => {
    const colon = line.indexOf(':')
    const value = line
      .slice(colon + 1)
      .replace(/\r\n/g, '')
      .replace(/[ \t]+/g, ' ')
      .trim()
    return `${line.slice(0, colon).trim().toLowerCase()}:${value}`
  }
  const signature = headers.find(([name]) => name === 'dkim-signature')?.[1] ?? ''
  const tags = Object.fromEntries(
    signature
      .slice(signature.indexOf(':') + 1)
      .replace(/\s+/g, '')
      .split(';')
      .map((tag) => [tag.slice(0, tag.indexOf('=')), tag.slice(tag.indexOf('=') + 1)]),
  )
  const body = rest
    .join('\r\n\r\n')
    .replace(/[ \t]+(?=\r\n)/g, '')
    .replace(/[ \t]+/g, ' ')
    .replace(/(\r\n)*$/, '\r\n')
  const signed = (tags.h as string)
    .split(':')
    .flatMap((name) => headers.find(([each]) => each === name.toLowerCase())?.[1] ?? [])
    .map((line) => `${relaxed(line)}\r\n`)
    .join('')
  const unsigned = relaxed(signature.replace(/(;\s*b=)[\s\S]*$/, '$1'))
  const isBody = createHash('sha256').update(body, 'utf8').digest('base64') === tags.bh
  const isHead = createVerify('RSA-SHA256')
    .update(signed + unsigned)
    .verify(publicKey, tags.b as string, 'base64')
  return { domain: tags.d, selector: tags.s, isValid: isBody && isHead }
}
