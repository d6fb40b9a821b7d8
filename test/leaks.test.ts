import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type Keys, secretsFrom } from '../src/platform/lib/secret.ts'
import { atLength, type Engine, engines } from './support/engines.ts'
import { cookieOf, setCookie } from './support/portal.ts'
import { type Service, serviceFor, startService } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { type Cell, sqliteBytes, storeCells } from './support/store-text.ts'
import { eventually, outboxEmpty } from './support/wait.ts'

const secret = 'a secret for tests that is long enough'
const signIns = 200
const addressOf = (i: number) => `person.${i}@leaks${i % 7}.example`
const together = 40
const windowLength = 16

interface Taken {
  readonly codes: Set<string>
  readonly tokens: string[]
}

async function manySignIns(service: Service): Promise<Taken> {
  const codes = new Set<string>()
  const tokens: string[] = []
  let next = 0
  const one = async () => {
    for (let i = next++; i < signIns; i = next++) {
      const email = addressOf(i)
      await service.register(email, { firstname: `First${i}` })
      const { sessionId, code } = await service.code(email, {
        'X-Forwarded-For': `10.0.${i >> 8}.${i & 255}`,
      })
      codes.add(String(code))
      const body = { email, otp_code: code, sessionId }
      // Every other one by the portal, with the refresh token in a cookie.
      const portal = i % 2 === 1 ? '/portal' : ''
      const reply = await service.post(`${portal}/veterinarian/validate-otp`, body)
      assert.equal(reply.status, 200)
      const refresh_token = reply.json.refresh_token ?? setCookie(reply)!.value
      const device_token = reply.json.device_token ?? setCookie(reply, 'device')!.value
      tokens.push(reply.json.access_token, refresh_token, device_token)
      const renewed = portal
        ? await service.request('/portal/refresh', { method: 'POST', headers: { cookie: cookieOf(reply) } })
        : await service.post('/session/refresh', { refresh_token })
      assert.equal(renewed.status, 200)
      tokens.push(renewed.json.access_token, renewed.json.refresh_token ?? setCookie(renewed)!.value)
      assert.equal(
        (await service.request('/veterinarian/me', { token: renewed.json.access_token })).status,
        200,
      )
      if (i % 10 === 0)
        assert.equal(
          (await service.request('/session', { method: 'DELETE', token: reply.json.access_token })).status,
          204,
        )
    }
  }
  await Promise.all(Array.from({ length: together }, one))
  await outboxEmpty(service)
  return { codes, tokens }
}

/** Codes that occur on their own, not as part of a longer word. */
function codesIn(text: string, codes: ReadonlySet<string>): string[] {
  return (text.match(/(?<![\w-])\d{6}(?![\w-])/g) ?? []).filter((run) => codes.has(run))
}

/** Looks for the end of each token: it is the secret part, and long enough to be unmistakable. */
function tokensIn(text: string, tokens: readonly string[]): string[] {
  const ends = new Set(tokens.map((token) => token.slice(-windowLength)))
  const found: string[] = []
  // Nothing but letters of base64url can be the end of a token.
  for (const [run] of text.matchAll(/[\w-]{16,}/g)) {
    for (let at = 0; at + windowLength <= run.length; at++) {
      const window = run.slice(at, at + windowLength)
      if (ends.has(window)) found.push(window)
    }
  }
  return found
}

/** The secret and every key derived from it, in several encodings. */
function keyMaterial(): string[] {
  const keys = secretsFrom(secret, null).current
  return [Buffer.from(secret), ...(Object.keys(keys) as (keyof Keys)[]).map((name) => keys[name])].flatMap(
    (bytes) => [
      bytes.toString('latin1'),
      bytes.toString('hex'),
      bytes.toString('base64').replace(/=+$/, ''),
      bytes.toString('base64url'),
    ],
  )
}

const digests = (codes: Iterable<string>) =>
  new Set(
    [...codes].flatMap((code) =>
      (['hex', 'base64', 'base64url'] as const).map((encoding) =>
        createHash('sha256').update(code).digest(encoding),
      ),
    ),
  )

for (const engine of engines) {
  describe(`After hundreds of sign-ins on ${engine}`, atLength, () => {
    let service: Service
    let taken: Taken
    let cells: Cell[]
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      taken = await manySignIns(service)
      cells = await storeCells(service)
    })
    after(() => service.stop())

    test('the scan sees what there is', () => {
      assert.ok(taken.codes.size > 0.9 * signIns)
      assert.equal(taken.tokens.length, 5 * signIns)
      assert.ok(cells.filter(({ column }) => column === 'firstname').length >= signIns)
      assert.ok(service.log.length > 4 * signIns)
      const [code] = taken.codes
      assert.deepEqual(codesIn(`{"otp_code":${code}}`, taken.codes), [code])
      assert.equal(tokensIn(`x${taken.tokens[1]}x`, taken.tokens).length, 1)
    })

    test('the store holds no code, in any form', () => {
      const hashes = digests(taken.codes)
      const found = cells.filter(
        ({ value }) => codesIn(value, taken.codes).length > 0 || hashes.has(value) || taken.codes.has(value),
      )
      assert.deepEqual(found, [])
    })

    test('the store holds no token, not the secret and no key', () => {
      const text = cells.map(({ value }) => value).join('\n')
      assert.deepEqual(tokensIn(text, taken.tokens), [])
      for (const key of keyMaterial()) assert.ok(!text.includes(key))
    })

    test('the log holds no code, no token, no key and no address', () => {
      const log = service.log.join('')
      assert.deepEqual(codesIn(log, taken.codes), [])
      assert.deepEqual(tokensIn(log, taken.tokens), [])
      for (const text of keyMaterial()) assert.ok(!log.includes(text))
      assert.doesNotMatch(log, /@leaks|@[\w-]+\.[\w-]/)
      assert.doesNotMatch(log, /person\.\d/)
    })

    if (engine === 'sqlite') {
      test('the bytes of the file and of its write-ahead log hold no code, token or key', () => {
        const bytes = sqliteBytes(service.databaseUrl)
        assert.ok(bytes.includes(addressOf(signIns - 1)))
        // Columns lie side by side in a file, so a code may touch letters. Six digits of a random id equal one
        // of the codes now and then; codes that were written would turn up by the hundred.
        const runs = (bytes.match(/(?<!\d)\d{6}(?!\d)/g) ?? []).filter((run) => taken.codes.has(run))
        assert.ok(runs.length < 8, `${runs.length} codes`)
        assert.deepEqual(tokensIn(bytes, taken.tokens), [])
        for (const text of keyMaterial()) assert.ok(!bytes.includes(text))
      })
    }
  })

  describe(`When something goes wrong on ${engine}`, () => {
    const email = 'secretive.person@private.example'
    const code = '918273'
    const token = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ0aGllZiJ9.c3RvbGVu'
    const clean = (service: Service) =>
      assert.doesNotMatch(service.log.join(''), /secretive|private\.example|918273|eyJhbGciOi/i)

    test('the log repeats nothing of bad requests', async (t) => {
      const service = await serviceFor(t, engine)
      const bodies = [
        `{"email":"${email}","otp_code":${code},"sessionId":"x"`,
        `{"email":"${email}","email":"${email}"}`,
        `{"email":"${email} ","otp_code":"${code}","sessionId":7}`,
        `{"email":"<${email}>","otp_code":${code}.5,"sessionId":"${token}"}`,
        `{"refresh_token":"${token}"}`,
        `["${email}","${token}",${code}]`,
        `{"email":"${email}","pad":"${'x'.repeat(20_000)}"}`,
      ]
      const paths = ['register', 'send-otp', 'validate-otp'].map((name) => `/veterinarian/${name}`)
      for (const body of bodies)
        for (const path of [...paths, '/session/refresh']) await service.post(path, body)
      for (const method of ['GET', 'POST', 'PUT'])
        for (const path of [`/veterinarian/${email}`, `/${token}/${code}`, `/?email=${email}&code=${code}`])
          await service.request(path, { method, token, headers: { 'User-Agent': email, Referer: email } })
      await service.request(`/session/${token}`, { method: 'DELETE', token })
      for (const path of ['refresh', 'sign-out', 'student/validate-otp']) {
        const headers = { cookie: `chiron_refresh=${token}` }
        await service.request(`/portal/${path}`, { method: 'POST', headers })
        const foreign = { ...headers, origin: `https://${email}` }
        await service.request(`/portal/${path}`, { method: 'POST', headers: foreign })
      }
      await service.request('/%E0%A4%A', { token })
      for (const path of [`/calendar/${token}.ics`, `/calendar/${token}%E0%A4.ics`])
        await service.request(path, { token })
      clean(service)
    })

    test('the log repeats nothing of what a mail server says', async () => {
      const mail = await startMailServer({
        onRcptTo({ address }, _session, callback) {
          const responseCode = address.startsWith('secretive') ? 550 : 450
          callback(Object.assign(new Error(`<${address}> is private.example's affair`), { responseCode }))
        },
      })
      const service = await startService(engine, { mail })
      try {
        for (const address of [email, 'later.secretive@private.example'])
          assert.equal((await service.post('/veterinarian/send-otp', { email: address })).status, 202)
        await eventually('both refusals', () => service.log.filter((l) => l.includes('"mail":')).length >= 2)
        clean(service)
      } finally {
        await service.stop()
        await mail.close()
      }
    })

    test('the log repeats nothing of what the store could not take', async (t) => {
      const service = await serviceFor(t, engine)
      await refuseNewRows(service, engine)
      const reply = await service.register(email, { firstname: 'Secretive' })
      assert.equal(reply.status, 500)
      assert.doesNotMatch(reply.text, /secretive|private|constraint|trigger/i)
      await eventually('the fault in the log', () => service.log.some((line) => /"level":50/.test(line)))
      clean(service)
    })
  })
}

/** Makes the store refuse registrations with an error message of its own. */
async function refuseNewRows(service: Service, engine: Engine): Promise<void> {
  await service.app.parts.db.run(
    engine === 'sqlite'
      ? "create trigger refusing before insert on registration begin select raise(abort, 'refused'); end"
      : "alter table registration add constraint refusing check (email = '')",
  )
}
