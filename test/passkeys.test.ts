import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { type Algorithm, keyPair, type Wrongs } from './support/authenticator.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import {
  addOptions,
  addPasskey,
  newAuthenticator,
  ok,
  passkeySignIn,
  signInOptions,
  stepUp,
  stepUpOptions,
} from './support/passkeys.ts'
import { cookieOf } from './support/portal.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { originOf } from './support/visitor.ts'

const problem = ({ status, json }: Reply) => `${status} ${json?.code}`
const unusable = '401 passkey-unusable'

for (const engine of engines) {
  suite(`Passkeys on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const signIn = (email = freshAddress()) => service.signIn(email, freshNetwork())
    const withPasskey = async (options?: Parameters<typeof newAuthenticator>[1]) => {
      const email = freshAddress()
      const account = await signIn(email)
      const device = newAuthenticator(service, options)
      const { passkeyId } = ok(await addPasskey(service, account.access, device), 201)
      return { ...account, email, device, passkeyId: passkeyId as string }
    }
    const list = async (token: string) => ok(await service.request('/passkey', { token })).passkeys
    const events = async (userId: string, ...types: string[]) => {
      const rows = await service.rows<{ type: string; data: string; session_id: string; actor: string }>(
        'select type, data, session_id, actor from event where person_id = $1 order by at, id',
        [userId],
      )
      return rows.filter(({ type }) => types.includes(type))
    }
    const sessionsOf = async (userId: string) =>
      (await service.rows<{ id: string }>('select id from session where person_id = $1', [userId])).length

    test('A passkey goes along when its owner moves, and ends when staff give another address', async () => {
      const { access, userId, device } = await withPasskey()
      const moved = freshAddress('moved')
      const email = (path: string, body: object) =>
        service.request(`/veterinarian/me/email${path}`, { method: 'POST', token: access, body })
      const { sessionId, reference } = ok(await email('', { email: moved }), 202)
      const { code } = await service.mail.mailWith(moved, reference)
      ok(await email('/confirm', { sessionId, otp_code: code }))
      assert.equal(ok(await passkeySignIn(service, device)).user.email, moved)
      const given = freshAddress('rescued')
      const rescued = { email: given, key: given.toLowerCase() }
      await service.app.parts.support.changeAddress(userId, rescued, null, byOperator)
      assert.equal(problem(await passkeySignIn(service, device)), '401 passkey-unusable')
    })

    test('A repeat by Idempotency-Key with the passkey of somebody else is refused', async () => {
      const [one, other] = [await withPasskey(), await withPasskey()]
      const options = await signInOptions(service)
      const send = (device: typeof one.device) =>
        service.post(
          '/passkey/validate',
          { credential: device.get(options) },
          {
            ...freshNetwork(),
            'Idempotency-Key': 'the-same-key-1234',
          },
        )
      ok(await send(one.device))
      assert.equal(problem(await send(other.device)), '401 passkey-unusable')
    })

    test('Options look the same for everybody, and store nothing', async () => {
      const count = async () =>
        Promise.all(
          ['passkey_challenge', 'challenge', 'event'].map(
            async (table) => (await service.rows(`select 1 as one from ${table}`)).length,
          ),
        )
      const before = await count()
      const { challenge, ...rest } = await signInOptions(service)
      assert.deepEqual(rest, {
        rpId: 'localhost',
        timeout: 300_000,
        userVerification: 'required',
        allowCredentials: [],
      })
      assert.equal(Buffer.from(challenge, 'base64url').length, 16 + 6 + 32)
      assert.notEqual((await signInOptions(service)).challenge, challenge)
      assert.deepEqual(await count(), before)
    })

    test('Options need no body, and accept one', async () => {
      assert.equal((await service.request('/passkey/options', { method: 'POST' })).status, 200)
      assert.equal((await service.post('/passkey/options', {})).status, 200)
    })

    for (const algorithm of ['ES256', 'EdDSA', 'RS256'] satisfies Algorithm[])
      test(`A passkey with ${algorithm} is added, and signs in`, async () => {
        const { device, userId, passkeyId, email } = await withPasskey({ algorithm })
        const reply = await passkeySignIn(service, device)
        const { user, token_type, expires_in, refresh_token, access_token, ...rest } = ok(reply)
        assert.deepEqual([user.userId, user.email, token_type, expires_in], [userId, email, 'Bearer', 900])
        assert.deepEqual(rest, {})
        assert.equal((await service.post('/session/refresh', { refresh_token })).status, 200)
        assert.equal((await service.request('/veterinarian/me', { token: access_token })).status, 200)
        const [passkey] = await list(access_token)
        assert.equal(passkey.passkeyId, passkeyId)
        assert.equal(passkey.lastUsedAt, new Date(service.clock.now()).toISOString())
      })

    test('Creation options ask for a resident key with user verification and no attestation', async () => {
      const email = freshAddress()
      const { access, userId } = await signIn(email)
      const { challenge: _, user, excludeCredentials, ...options } = await addOptions(service, access)
      assert.deepEqual(options, {
        rp: { id: 'localhost', name: 'Chiron' },
        pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
        timeout: 300_000,
        attestation: 'none',
        authenticatorSelection: {
          residentKey: 'required',
          requireResidentKey: true,
          userVerification: 'required',
        },
      })
      assert.deepEqual(excludeCredentials, [])
      assert.equal(user.name, `${email} (veterinarian)`)
      assert.equal(user.displayName, 'Ada Marsh (veterinarian)')
      assert.equal(Buffer.from(user.id, 'base64url').length, 32)
      assert.ok(!user.id.includes(userId))
      const device = newAuthenticator(service)
      ok(await addPasskey(service, access, device), 201)
      const again = await addOptions(service, access)
      assert.equal(again.user.id, user.id)
      assert.deepEqual(again.excludeCredentials, [
        {
          type: 'public-key',
          id: device.credentials[0]!.id.toString('base64url'),
          transports: ['internal', 'hybrid'],
        },
      ])
    })

    test('A passkey is listed, renamed and removed', async () => {
      const { access, device, passkeyId, userId } = await withPasskey({ backsUp: true })
      const createdAt = new Date(service.clock.now()).toISOString()
      const expected = {
        passkeyId,
        name: 'Node.js',
        provider: null,
        createdAt,
        lastUsedAt: null,
        backedUp: true,
      }
      assert.deepEqual(await list(access), [expected])
      const path = `/passkey/${passkeyId}`
      const renamed = await service.request(path, {
        method: 'PATCH',
        token: access,
        body: { name: '  My phone ' },
      })
      assert.deepEqual(ok(renamed), { ...expected, name: 'My phone' })
      for (const name of ['', ' ', 'x'.repeat(101), 'a\u202eb'])
        assert.equal(
          problem(await service.request(path, { method: 'PATCH', token: access, body: { name } })),
          '400 invalid-request',
        )
      assert.equal((await service.request(path, { method: 'DELETE', token: access })).status, 204)
      assert.deepEqual(await list(access), [])
      const refused = await passkeySignIn(service, device)
      assert.equal(problem(refused), unusable)
      assert.equal(refused.json.known, false)
      const [added, removed] = await events(userId, 'passkey.added', 'passkey.removed')
      for (const event of [added, removed]) {
        assert.deepEqual(JSON.parse(event!.data), { passkeyId })
        assert.equal(event!.actor, 'self')
        assert.ok(event!.session_id)
      }
    })

    test('A name can be given, and otherwise comes from the provider', async () => {
      const { access } = await signIn()
      const named = newAuthenticator(service)
      assert.equal(ok(await addPasskey(service, access, named, { name: 'Büro' }), 201).name, 'Büro')
      service.clock.advance(1)
      const iCloud = newAuthenticator(service, { aaguid: 'fbfc3007-154e-4ecc-8c0b-6e020557d7bd' })
      assert.equal(ok(await addPasskey(service, access, iCloud), 201).name, 'iCloud Keychain')
      assert.equal((await list(access))[1].provider, 'iCloud Keychain')
    })

    test('Nobody sees, renames or removes the passkey of somebody else', async () => {
      const { passkeyId, access } = await withPasskey()
      const other = await signIn()
      assert.deepEqual(await list(other.access), [])
      const path = `/passkey/${passkeyId}`
      const renaming = { method: 'PATCH', token: other.access, body: { name: 'Mine' } }
      assert.equal(problem(await service.request(path, renaming)), '404 not-found')
      const removing = { method: 'DELETE', token: other.access }
      assert.equal(problem(await service.request(path, removing)), '404 not-found')
      assert.equal(problem(await service.request('/passkey/none', removing)), '404 not-found')
      assert.equal((await list(access)).length, 1)
    })

    test('The owner gets a mail when a passkey is added and when it is removed, in their language', async () => {
      const email = freshAddress()
      const { access } = await signIn(email)
      const device = newAuthenticator(service)
      const headers = { 'accept-language': 'fr' }
      const { passkeyId } = ok(await addPasskey(service, access, device, { name: 'Bureau', headers }), 201)
      const { mail: added } = await service.mail.mailTo(email, 2)
      assert.equal(added.subject, 'Une clé d’accès a été ajoutée à votre compte')
      assert.doesNotMatch(added.text!, /Bureau/)
      await service.request(`/passkey/${passkeyId}`, { method: 'DELETE', token: access })
      const { mail: removed } = await service.mail.mailTo(email, 3)
      assert.equal(removed.subject, 'A passkey was removed from your account')
    })

    test('The same authenticator again is 409, also for somebody else', async () => {
      const { access, device } = await withPasskey()
      const other = await signIn()
      for (const token of [access, other.access]) {
        const credential = device.createAgain(device.credentials[0]!, await addOptions(service, token))
        const reply = await service.request('/passkey', { method: 'POST', token, body: { credential } })
        assert.equal(problem(reply), '409 passkey-exists')
      }
    })

    test('Of two people who add one authenticator at once, one has it', async () => {
      const [one, other] = [await signIn(), await signIn()]
      const device = newAuthenticator(service)
      const add = async (token: string, body: object) =>
        problem(await service.request('/passkey', { method: 'POST', token, body }))
      const first = { credential: device.create(await addOptions(service, one.access)) }
      const options = await addOptions(service, other.access)
      const second = { credential: device.createAgain(device.credentials[0]!, options) }
      const replies = await Promise.all([add(one.access, first), add(other.access, second)])
      assert.deepEqual(replies.sort(), ['201 undefined', '409 passkey-exists'])
    })

    test('An account has ten passkeys at most, also if many are added at once', async () => {
      const { access } = await signIn()
      const devices = Array.from({ length: 12 }, () => newAuthenticator(service))
      const bodies = await Promise.all(
        devices.map(async (device) => ({ credential: device.create(await addOptions(service, access)) })),
      )
      const replies = await Promise.all(
        bodies.map((body) => service.request('/passkey', { method: 'POST', token: access, body })),
      )
      assert.deepEqual(replies.map(problem).sort(), [
        ...Array(10).fill('201 undefined'),
        ...Array(2).fill('409 conflict'),
      ])
      assert.equal((await list(access)).length, 10)
      const options = { method: 'POST', token: access }
      assert.equal(problem(await service.request('/passkey/add-options', options)), '409 conflict')
    })

    test('Adding and removing need a proof at most ten minutes old; listing and renaming do not', async () => {
      const { access, passkeyId, device } = await withPasskey()
      const options = await addOptions(service, access)
      service.clock.advance(10 * minute + 1)
      const path = `/passkey/${passkeyId}`
      const credential = newAuthenticator(service).create(options)
      const refused = [
        await service.request('/passkey/add-options', { method: 'POST', token: access }),
        await service.request('/passkey', { method: 'POST', token: access, body: { credential } }),
        await service.request(path, { method: 'DELETE', token: access }),
      ]
      for (const reply of refused) {
        assert.equal(problem(reply), '403 recent-sign-in-required')
        assert.equal(reply.json.within, 600)
        assert.deepEqual(reply.json.methods, ['passkey', 'code'])
      }
      assert.equal((await list(access)).length, 1)
      const renaming = { method: 'PATCH', token: access, body: { name: 'Still mine' } }
      assert.equal((await service.request(path, renaming)).status, 200)
      ok(await stepUp(service, access, device))
      assert.equal((await service.request(path, { method: 'DELETE', token: access })).status, 204)
    })

    const wrongs: [how: string, wrong: (service: Service) => Wrongs][] = [
      ['does not verify its user', () => ({ isVerified: false })],
      ['notices nobody', () => ({ isPresent: false })],
      ['is on a page of another origin', () => ({ origin: 'https://evil.example' })],
      ['is on another port', () => ({ origin: 'http://localhost:1' })],
      ['is on a page within another page', () => ({ crossOrigin: true })],
      [
        'is on a page within another page that it names',
        () => ({ crossOrigin: true, topOrigin: 'https://evil.example' }),
      ],
      ['answers for another RP ID', () => ({ rpId: 'evil.example' })],
      ['answers another challenge', () => ({ challenge: 'A'.repeat(72) })],
      ['answers no challenge', () => ({ challenge: '' })],
    ]
    for (const [how, wrong] of wrongs) {
      test(`An authenticator that ${how} does not sign in`, async () => {
        const { device, userId } = await withPasskey()
        const before = await sessionsOf(userId)
        const reply = await passkeySignIn(service, device, { wrong: wrong(service) })
        assert.equal(problem(reply), unusable)
        assert.equal(reply.json.known, undefined)
        assert.match(reply.headers.get('www-authenticate') ?? '', /\w/)
        assert.equal(await sessionsOf(userId), before)
        ok(await passkeySignIn(service, device))
      })

      test(`An authenticator that ${how} is not added`, async () => {
        const { access } = await signIn()
        const reply = await addPasskey(service, access, newAuthenticator(service), { wrong: wrong(service) })
        assert.equal(problem(reply), unusable)
        assert.deepEqual(await list(access), [])
      })
    }

    test('A wrong signature, type, user handle or credential id does not sign in', async () => {
      const { device } = await withPasskey()
      const other = await withPasskey()
      const stranger = keyPair('ES256').privateKey
      for (const wrong of [
        { key: stranger },
        { type: 'webauthn.create' },
        { userHandle: other.device.credentials[0]!.userHandle },
      ])
        assert.equal(problem(await passkeySignIn(service, device, { wrong })), unusable)
      const credential = device.get(await signInOptions(service))
      const id = other.device.credentials[0]!.id.toString('base64url')
      const swapped = await service.post('/passkey/validate', {
        credential: { ...credential, id, rawId: id },
      })
      assert.equal(problem(swapped), unusable)
      const differing = await service.post('/passkey/validate', { credential: { ...credential, rawId: id } })
      assert.equal(problem(differing), unusable)
    })

    test('An authenticator that sends no user handle signs in all the same', async () => {
      const { device, userId } = await withPasskey()
      const { user } = ok(await passkeySignIn(service, device, { wrong: { userHandle: null } }))
      assert.equal(user.userId, userId)
    })

    test('A credential that nobody has is 401 with known: false', async () => {
      const device = newAuthenticator(service)
      device.create({ ...(await signInOptions(service)), rp: { id: 'localhost' }, user: { id: 'AAAA' } })
      const reply = await passkeySignIn(service, device)
      assert.equal(problem(reply), unusable)
      assert.equal(reply.json.known, false)
    })

    test('A body that is no credential is 400', async () => {
      const { device } = await withPasskey()
      const credential = device.get(await signInOptions(service))
      for (const body of [
        {},
        { credential: 'x' },
        { credential: { ...credential, id: 'a b' } },
        { credential: { ...credential, type: 'password' } },
        { credential: { ...credential, response: {} } },
        { credential: { ...credential, response: { ...credential.response, signature: 1 } } },
      ])
        assert.equal(problem(await service.post('/passkey/validate', body)), '400 invalid-request')
    })

    test('A challenge is good for five minutes', async () => {
      const { device } = await withPasskey()
      const [inTime, late] = [await signInOptions(service), await signInOptions(service)]
      service.clock.advance(5 * minute)
      ok(await service.post('/passkey/validate', { credential: device.get(inTime) }))
      service.clock.advance(1)
      const reply = await service.post('/passkey/validate', { credential: device.get(late) })
      assert.equal(problem(reply), unusable)
    })

    test('A challenge is good once, also after its answer was swept, and if the clock is set back', async () => {
      const { device } = await withPasskey({ counts: false })
      const options = await signInOptions(service)
      ok(await service.post('/passkey/validate', { credential: device.get(options) }))
      for (const ms of [0, 4 * minute, -2 * minute]) {
        service.clock.jump(ms)
        for (const statement of [service.app.parts.passkeys.sweep(service.clock.now())])
          await service.app.parts.db.tx(statement)
        const reply = await service.post('/passkey/validate', { credential: device.get(options) })
        assert.equal(problem(reply), unusable)
      }
      service.clock.jump(-2 * minute)
    })

    test('Answered challenges are deleted after an hour', async () => {
      const { device } = await withPasskey()
      ok(await passkeySignIn(service, device))
      service.clock.advance(61 * minute)
      await service.app.parts.db.tx(service.app.parts.passkeys.sweep(service.clock.now()))
      assert.deepEqual(await service.rows('select digest from passkey_challenge'), [])
    })

    test('A forged or changed challenge is refused', async () => {
      const { device } = await withPasskey()
      const { challenge, ...rest } = await signInOptions(service)
      const bytes = Buffer.from(challenge, 'base64url')
      for (const at of [0, 15, 16, 21, 22, 53]) {
        const changed = Buffer.from(bytes)
        changed[at]! ^= 1
        const options = { ...rest, challenge: changed.toString('base64url') }
        assert.equal(
          problem(await service.post('/passkey/validate', { credential: device.get(options) })),
          unusable,
        )
      }
    })

    test('A challenge of another purpose or session is refused', async () => {
      const { access, device, email } = await withPasskey()
      const other = await signIn(email)
      const all = {
        'sign-in': await signInOptions(service),
        add: await addOptions(service, access),
        'step-up': await stepUpOptions(service, access),
        'step-up elsewhere': await stepUpOptions(service, other.access),
        'add elsewhere': await addOptions(service, other.access),
      }
      const adding = await addOptions(service, access)
      for (const [purpose, { challenge }] of Object.entries(all)) {
        const options = { ...adding, challenge }
        if (purpose !== 'sign-in')
          assert.equal(
            problem(await service.post('/passkey/validate', { credential: device.get(options) })),
            unusable,
            `sign-in with ${purpose}`,
          )
        if (purpose !== 'step-up') {
          const body = { credential: device.get(options) }
          const reply = await service.request('/session/step-up', { method: 'POST', token: access, body })
          assert.equal(problem(reply), unusable, `step-up with ${purpose}`)
        }
        if (purpose !== 'add') {
          const body = { credential: newAuthenticator(service).create(options) }
          const reply = await service.request('/passkey', { method: 'POST', token: access, body })
          assert.equal(problem(reply), unusable, `add with ${purpose}`)
        }
      }
    })

    test('Of a hundred uses of one answer, one starts a session', async () => {
      const { device, userId } = await withPasskey()
      const before = await sessionsOf(userId)
      const credential = device.get(await signInOptions(service))
      const replies = await Promise.all(
        Array.from({ length: 100 }, () => service.post('/passkey/validate', { credential })),
      )
      assert.deepEqual(replies.map(problem).sort(), ['200 undefined', ...Array(99).fill(unusable)])
      assert.equal(await sessionsOf(userId), before + 1)
      assert.deepEqual(await events(userId, 'passkey.cloned'), [])
      const starts = await events(userId, 'session.started')
      assert.deepEqual(starts.map(({ data }) => JSON.parse(data).method).sort(), ['code', 'passkey'])
    })

    test('Of many people who answer one challenge at once, one signs in', async () => {
      const people = []
      for (let i = 0; i < 5; i++) people.push(await withPasskey())
      const options = await signInOptions(service)
      const replies = await Promise.all(
        people.map(({ device }) => service.post('/passkey/validate', { credential: device.get(options) })),
      )
      assert.deepEqual(replies.map(problem).sort(), ['200 undefined', ...Array(4).fill(unusable)])
    })

    test('With one Idempotency-Key a hundred uses get the tokens of one session, for two minutes', async () => {
      const { device, userId } = await withPasskey()
      const before = await sessionsOf(userId)
      const credential = device.get(await signInOptions(service))
      const send = (key?: string) =>
        service.post('/passkey/validate', { credential }, key === undefined ? {} : { 'idempotency-key': key })
      const replies = await Promise.all(Array.from({ length: 100 }, () => send('lost')))
      const refresh = new Set(replies.map((reply) => ok(reply).refresh_token))
      assert.equal(refresh.size, 1)
      assert.equal(await sessionsOf(userId), before + 1)
      assert.equal(problem(await send('another')), unusable)
      assert.equal(problem(await send()), unusable)
      service.clock.advance(2 * minute)
      ok(await send('lost'))
      service.clock.advance(1)
      assert.equal(problem(await send('lost')), unusable)
    })

    test('A lost reply can be repeated after the challenge has expired', async () => {
      const { device } = await withPasskey()
      const credential = device.get(await signInOptions(service))
      const headers = { 'idempotency-key': 'late' }
      service.clock.advance(5 * minute)
      const first = ok(await service.post('/passkey/validate', { credential }, headers))
      service.clock.advance(minute)
      const again = ok(await service.post('/passkey/validate', { credential }, headers))
      assert.equal(again.refresh_token, first.refresh_token)
    })

    test('A counter that goes back is refused, and recorded once for each try', async () => {
      const { device, userId, passkeyId } = await withPasskey()
      ok(await passkeySignIn(service, device, { wrong: { signCount: 5 } }))
      const before = await sessionsOf(userId)
      for (const signCount of [5, 4, 0]) {
        const credential = device.get(await signInOptions(service), { signCount })
        for (let i = 0; i < 2; i++)
          assert.equal(problem(await service.post('/passkey/validate', { credential })), unusable)
      }
      assert.equal(await sessionsOf(userId), before)
      const cloned = await events(userId, 'passkey.cloned')
      assert.deepEqual(
        cloned.map(({ data, actor }) => [JSON.parse(data), actor]),
        Array(3).fill([{ passkeyId }, 'system']),
      )
      ok(await passkeySignIn(service, device, { wrong: { signCount: 6 } }))
    })

    test('Of two answers with the same count at once, one is a copy', async () => {
      const { device, userId } = await withPasskey()
      const credentials = await Promise.all(
        [1, 2].map(async () => device.get(await signInOptions(service), { signCount: 7 })),
      )
      const replies = await Promise.all(
        credentials.map((credential) => service.post('/passkey/validate', { credential })),
      )
      assert.deepEqual(replies.map(problem).sort(), ['200 undefined', unusable])
      assert.equal((await events(userId, 'passkey.cloned')).length, 1)
    })

    test('An authenticator without a counter signs in again and again', async () => {
      const { device } = await withPasskey({ counts: false })
      for (let i = 0; i < 3; i++) ok(await passkeySignIn(service, device))
    })

    test('A passkey of a suspended person does not sign in, and does again after that', async () => {
      const { device, userId } = await withPasskey()
      const admin = await newStaff(service, 'admin')
      const act = (what: string) =>
        service.request(`/staff/people/${userId}/${what}`, {
          method: 'POST',
          token: admin.access,
          body: { reason: 'a test' },
        })
      assert.equal((await act('suspend')).status, 204)
      assert.equal(problem(await passkeySignIn(service, device)), unusable)
      assert.equal((await act('reactivate')).status, 204)
      ok(await passkeySignIn(service, device))
    })

    test('Closing an account removes its passkeys', async () => {
      const { access, device } = await withPasskey()
      assert.equal(
        (await service.request('/veterinarian/me', { method: 'DELETE', token: access })).status,
        204,
      )
      const reply = await passkeySignIn(service, device)
      assert.equal(problem(reply), unusable)
      assert.equal(reply.json.known, false)
    })

    test('Sessions show how and when their owner proved who they are', async () => {
      const { access, device, userId } = await withPasskey()
      service.clock.advance(minute)
      const reply = ok(await passkeySignIn(service, device))
      const { sessions } = ok(await service.request('/session', { token: reply.access_token }))
      assert.deepEqual(
        sessions.map((one: Reply['json']) => [one.method, one.authenticatedAt === one.startedAt]),
        [
          ['passkey', true],
          ['code', true],
        ],
      )
      const exported = ok(await service.request('/veterinarian/me/export', { token: access }))
      assert.deepEqual(
        exported.sessions.map((one: Reply['json']) => one.method),
        ['passkey', 'code'],
      )
      assert.equal(exported.passkeys.length, 1)
      const staff = await newStaff(service, 'support')
      const person = ok(await service.request(`/staff/people/${userId}`, { token: staff.access }))
      assert.deepEqual(person.passkeys, exported.passkeys)
    })

    test('In the portal the refresh token is only in the cookie, and foreign pages are refused', async () => {
      const { device, userId } = await withPasskey()
      const send = async (headers: Record<string, string>) => {
        const credential = device.get(await signInOptions(service))
        return service.post('/portal/passkey/validate', { credential }, headers)
      }
      const reply = await send({ origin: originOf(service), 'sec-fetch-site': 'same-origin' })
      const { user, refresh_token } = ok(reply)
      assert.equal(user.userId, userId)
      assert.equal(refresh_token, undefined)
      assert.match(reply.headers.get('set-cookie') ?? '', /chiron_refresh=[^;]+; .*HttpOnly; SameSite=Strict/)
      const cookie = cookieOf(reply)
      assert.equal(
        (await service.request('/portal/refresh', { method: 'POST', headers: { cookie } })).status,
        200,
      )
      const foreign: Record<string, string>[] = [
        { origin: 'https://evil.example' },
        { 'sec-fetch-site': 'cross-site' },
      ]
      for (const headers of foreign) assert.equal(problem(await send(headers)), '403 forbidden')
    })

    test('Password managers find the page of passkeys', async () => {
      const reply = await service.request('/.well-known/passkey-endpoints')
      const page = `${originOf(service)}/#/passkeys`
      assert.deepEqual(ok(reply), { enroll: page, manage: page })
    })

    test('Nothing about a credential, and no challenge, is in the log', async () => {
      const { device } = await withPasskey()
      const options = await signInOptions(service)
      const credential = device.get(options)
      ok(await service.post('/passkey/validate', { credential }))
      await service.post('/passkey/validate', { credential })
      const log = service.log.join('')
      for (const secret of [options.challenge, credential.id, credential.response.signature])
        assert.ok(!log.includes(secret))
      assert.doesNotMatch(log, /ML-DSA|ExperimentalWarning/)
    })
  })
}
