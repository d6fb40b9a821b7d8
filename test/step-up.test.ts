import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createApp } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { minute, second } from '../src/platform/lib/clock.ts'
import { createLog } from '../src/platform/log.ts'
import { type Engine, engines, migratedStore } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import {
  addPasskey,
  newAuthenticator,
  ok,
  passkeySignIn,
  requiring,
  startRequiringPasskeys,
  stepUp,
  stepUpOptions,
} from './support/passkeys.ts'
import { bulk, change, drop, edited } from './support/roster-school.ts'
import { rosterOf, signInStudent } from './support/roster-world.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { addStaff, newStaff, signInStaff } from './support/staff.ts'
import { studentSchool } from './support/student-school.ts'

const problem = ({ status, json }: Reply) => `${status} ${json?.code}`

for (const engine of engines) {
  suite(`Step-up on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const signIn = async () => {
      const email = freshAddress()
      return { email, ...(await service.signIn(email, freshNetwork())) }
    }
    const post = (path: string, token: string, body?: unknown, headers: Record<string, string> = {}) =>
      service.request(path, { method: 'POST', token, headers, ...(body !== undefined && { body }) })
    const close = (token: string) => service.request('/veterinarian/me', { method: 'DELETE', token })
    const sendCode = async (token: string, email: string) => {
      const sent = ok(await post('/session/step-up/send-otp', token, {}, freshNetwork()), 202)
      const { code, mail } = await service.mail.mailWith(email, sent.reference)
      return { sessionId: sent.sessionId as string, otp_code: code!, mail, sent }
    }
    const validate = (token: string, body: unknown) =>
      post('/session/step-up/validate-otp', token, body, freshNetwork())
    const refreshed = async (refresh_token: string): Promise<string> =>
      ok(await service.post('/session/refresh', { refresh_token })).access_token
    const steps = (userId: string) =>
      service.rows<{ data: string; session_id: string }>(
        "select data, session_id from event where person_id = $1 and type = 'session.stepped-up'",
        [userId],
      )

    test('A passkey renews the proof in the same session', async () => {
      const { access, userId, sessionId } = await signIn()
      const device = newAuthenticator(service)
      ok(await addPasskey(service, access, device), 201)
      service.clock.advance(11 * minute)
      const refused = await close(access)
      assert.equal(problem(refused), '403 recent-sign-in-required')
      assert.deepEqual([refused.json.within, refused.json.methods], [600, ['passkey', 'code']])
      const { authenticatedAt, ...rest } = ok(await stepUp(service, access, device))
      assert.deepEqual(rest, {})
      assert.equal(authenticatedAt, new Date(service.clock.now()).toISOString())
      const { sessions } = ok(await service.request('/session', { token: access }))
      assert.deepEqual(
        sessions.map((one: Reply['json']) => [one.sessionId, one.authenticatedAt, one.method]),
        [[sessionId, authenticatedAt, 'passkey']],
      )
      const [event] = await steps(userId)
      assert.deepEqual([JSON.parse(event!.data), event!.session_id], [{ method: 'passkey' }, sessionId])
      assert.equal((await close(access)).status, 204)
    })

    test('A code to the address on record renews the proof in the same session', async () => {
      const { access, email, userId, sessionId } = await signIn()
      service.clock.advance(11 * minute)
      const refused = await close(access)
      assert.deepEqual(refused.json.methods, ['code'])
      const { mail, sent, ...answer } = await sendCode(access, email)
      assert.equal(sent.digits, 6)
      assert.match(mail.subject!, /^Confirm that it is you/)
      const { authenticatedAt } = ok(await validate(access, answer))
      assert.equal(authenticatedAt, new Date(service.clock.now()).toISOString())
      const [event] = await steps(userId)
      assert.deepEqual([JSON.parse(event!.data), event!.session_id], [{ method: 'code' }, sessionId])
      assert.equal(problem(await validate(access, answer)), '401 otp-unusable')
      assert.equal((await close(access)).status, 204)
    })

    test('It works without a body, and a code can be sent again', async () => {
      const { access, email } = await signIn()
      const network = freshNetwork()
      const sent = ok(await post('/session/step-up/send-otp', access, undefined, network), 202)
      const again = () => post('/session/step-up/send-otp', access, { sessionId: sent.sessionId }, network)
      assert.equal(problem(await again()), '429 too-many-requests')
      service.clock.advance(30 * second)
      assert.equal(ok(await again(), 202).reference, sent.reference)
      const [first, second_] = [await service.mail.mailTo(email, 2), await service.mail.mailTo(email, 3)]
      assert.equal(first.code, second_.code)
    })

    test('Wrong codes are counted as in a sign-in', async () => {
      const { access, email } = await signIn()
      const { sessionId, otp_code } = await sendCode(access, email)
      const wrong = { sessionId, otp_code: otp_code === 100_000 ? 100_001 : 100_000 }
      for (const left of [4, 3, 2, 1, 0]) {
        const reply = await validate(access, wrong)
        assert.equal(problem(reply), '401 otp-incorrect')
        assert.equal(reply.json.attemptsLeft, left)
      }
      assert.equal(problem(await validate(access, { sessionId, otp_code })), '401 otp-unusable')
    })

    test('Its codes count as codes for that address', async () => {
      const { access, email } = await signIn()
      const network = freshNetwork()
      for (let i = 0; i < 5; i++) ok(await post('/session/step-up/send-otp', access, {}, network), 202)
      assert.equal(
        problem(await post('/session/step-up/send-otp', access, {}, network)),
        '429 too-many-requests',
      )
      const reply = await service.post('/veterinarian/send-otp', { email }, network)
      assert.equal(problem(reply), '429 too-many-requests')
    })

    test('A code works only where it was asked for, and for what', async () => {
      const { access, email } = await signIn()
      const elsewhere = (await service.signIn(email, freshNetwork())).access
      const stranger = await signIn()
      const { sessionId, otp_code } = await sendCode(access, email)
      const answer = { sessionId, otp_code }
      for (const token of [elsewhere, stranger.access])
        assert.equal(problem(await validate(token, answer)), '401 otp-unusable')
      const signIn_ = await service.post('/veterinarian/validate-otp', { ...answer, email }, freshNetwork())
      assert.equal(problem(signIn_), '401 otp-unusable')
      assert.equal(problem(await post('/veterinarian/me/email/confirm', access, answer)), '401 otp-unusable')

      const signInCode = await service.code(email, freshNetwork())
      const ofSignIn = { sessionId: signInCode.sessionId, otp_code: signInCode.code }
      assert.equal(problem(await validate(access, ofSignIn)), '401 otp-unusable')
      const moving = freshAddress('new')
      const sent = ok(await post('/veterinarian/me/email', access, { email: moving }, freshNetwork()), 202)
      const { code } = await service.mail.mailWith(moving, sent.reference)
      const ofMove = { sessionId: sent.sessionId, otp_code: code! }
      assert.equal(problem(await validate(access, ofMove)), '401 otp-unusable')
      ok(await validate(access, answer))
    })

    test('Of a hundred right answers, one renews the proof', async () => {
      const { access, email, userId } = await signIn()
      const { sessionId, otp_code } = await sendCode(access, email)
      await Promise.all(Array.from({ length: 100 }, () => validate(access, { sessionId, otp_code })))
      assert.equal((await steps(userId)).length, 1)
    })

    test('A passkey of somebody else, or of the same person in another role, proves nothing', async () => {
      const email = freshAddress('both')
      const vet = await service.signIn(email, freshNetwork())
      await addStaff(service, ['admin'], email)
      const staff = await signInStaff(service, email)
      const ofStaff = newAuthenticator(service)
      ok(await addPasskey(service, staff.access, ofStaff), 201)
      assert.equal(problem(await stepUp(service, vet.access, ofStaff)), '401 passkey-unusable')
      assert.equal(ok(await passkeySignIn(service, ofStaff)).user.userId, staff.userId)
    })

    test('One answer renews the proof once, and not for another session', async () => {
      const { access, email } = await signIn()
      const device = newAuthenticator(service)
      ok(await addPasskey(service, access, device), 201)
      const elsewhere = (await service.signIn(email, freshNetwork())).access
      const credential = device.get(await stepUpOptions(service, access))
      const send = (token: string) => post('/session/step-up', token, { credential })
      assert.equal(problem(await send(elsewhere)), '401 passkey-unusable')
      const replies = await Promise.all(Array.from({ length: 50 }, () => send(access)))
      assert.equal(replies.filter(({ status }) => status === 200).length, 1)
      assert.equal(problem(await service.post('/passkey/validate', { credential })), '401 passkey-unusable')
    })

    test('Every call needs a token', async () => {
      for (const path of ['options', 'send-otp', 'validate-otp', ''])
        assert.equal(
          problem(await service.post(`/session/step-up/${path}`.replace(/\/$/, ''), {})),
          '401 unauthenticated',
        )
    })

    test('Staff prove it again for what cannot be undone, within 30 minutes', async () => {
      const admin = await newStaff(service, 'admin')
      const device = newAuthenticator(service)
      ok(await addPasskey(service, admin.access, device), 201)
      service.clock.advance(30 * minute + 1)
      const access = await refreshed(admin.refresh)
      const add = () =>
        post('/staff/members', access, {
          email: freshAddress('staff'),
          firstname: 'Grace',
          lastname: 'Hopper',
          may: ['support'],
        })
      const refused = await add()
      assert.equal(problem(refused), '403 recent-sign-in-required')
      assert.deepEqual([refused.json.within, refused.json.methods], [1_800, ['passkey', 'code']])
      ok(await stepUp(service, access, device))
      ok(await add(), 201)
    })
  })

  suite(`Passkeys of students on ${engine}`, () => {
    test('A student who left the roster cannot sign in, and can again after coming back', async (t) => {
      const service = await startService(engine)
      t.after(() => service.stop())
      const roster = rosterOf(service)
      const school = studentSchool([])
      await roster.import(bulk(school))
      const { access, userId } = await signInStudent(service, 'ada.byron@school.example')
      const device = newAuthenticator(service)
      ok(await addPasskey(service, access, device), 201)
      const { user } = ok(await passkeySignIn(service, device))
      assert.deepEqual([user.userId, user.studentNumber], [userId, 'S100'])
      const { passkeys } = ok(await service.request('/student/me/export', { token: access }))
      assert.equal(passkeys.length, 1)
      service.clock.advance(1_000)
      await roster.undo()
      assert.equal(problem(await passkeySignIn(service, device)), '401 passkey-unusable')
      service.clock.advance(1_000)
      await roster.import(bulk(school))
      ok(await passkeySignIn(service, device))
    })

    for (const [what, between] of [
      ['is corrected', null],
      ['goes to somebody else after the student has left', 'left'],
    ] as const)
      test(`A passkey ends when the address on the roster ${what}`, async (t) => {
        const service = await startService(engine)
        t.after(() => service.stop())
        const roster = rosterOf(service)
        const school = studentSchool([])
        await roster.import(bulk(school))
        const { access, userId } = await signInStudent(service, 'ada.byron@school.example')
        const device = newAuthenticator(service)
        ok(await addPasskey(service, access, device), 201)
        service.clock.advance(1_000)
        if (between) await roster.import(bulk(edited(school, (s) => drop(s, 'ada'))))
        service.clock.advance(1_000)
        const moved = edited(school, (s) => change(s.users, 'ada', { email: 'other@school.example' }))
        await roster.import(bulk(moved))
        assert.equal(problem(await passkeySignIn(service, device)), '401 passkey-unusable')
        const owner = await signInStudent(service, 'other@school.example')
        assert.equal(owner.userId, userId)
        assert.deepEqual(ok(await service.request('/passkey', { token: owner.access })).passkeys, [])
        await service.app.parts.sweeper.sweep()
        assert.deepEqual(await service.rows('select id from passkey'), [])
      })
  })

  suite(`Staff who must use a passkey on ${engine}`, () => {
    test('The service does not start while no admin has a passkey', async () => {
      const store = await migratedStore(engine as Engine)
      const config = loadConfig({
        ...requiring,
        CHIRON_PORT: '0',
        CHIRON_DATABASE_URL: store.url,
        CHIRON_SECRET: 'a secret for tests that is long enough',
      })
      const starting = createApp(config, createLog(false, { write() {} }))
      await assert.rejects(starting, /CHIRON_STAFF_PASSKEY cannot be required: no admin has a passkey/)
      await store.remove()
    })

    test('A code opens nothing to them but adding the first passkey', async (t) => {
      const { service, stop } = await startRequiringPasskeys(engine)
      t.after(stop)
      const { email } = await addStaff(service, ['admin'])
      const { access } = await signInStaff(service, email)
      const refused: [method: string, path: string][] = [
        ['GET', '/staff/me'],
        ['GET', '/staff/people'],
        ['GET', '/session'],
        ['DELETE', '/session/all'],
        ['POST', '/session/step-up/send-otp'],
      ]
      for (const [method, path] of refused)
        assert.equal(problem(await service.request(path, { method, token: access })), '403 forbidden', path)
      const device = newAuthenticator(service)
      const { passkeyId } = ok(await addPasskey(service, access, device), 201)
      assert.equal(problem(await service.request('/staff/me', { token: access })), '403 forbidden')
      const removing = { method: 'DELETE', token: access }
      assert.equal(problem(await service.request(`/passkey/${passkeyId}`, removing)), '403 forbidden')
      ok(await stepUp(service, access, device))
      ok(await service.request('/staff/me', { token: access }))
      assert.equal(
        problem(await service.request('/session/step-up/send-otp', { method: 'POST', token: access })),
        '403 forbidden',
      )
    })

    test('A code adds no second passkey, so a mailbox is not enough', async (t) => {
      const { service, email, device, stop } = await startRequiringPasskeys(engine)
      t.after(stop)
      const { access } = await signInStaff(service, email)
      const options = { method: 'POST', token: access }
      assert.equal(problem(await service.request('/passkey/add-options', options)), '403 forbidden')
      const { access_token, refresh_token } = ok(await passkeySignIn(service, device))
      ok(await service.request('/staff/me', { token: access_token }))
      ok(await addPasskey(service, access_token, newAuthenticator(service)), 201)
      service.clock.advance(31 * minute)
      const { access_token: token } = ok(await service.post('/session/refresh', { refresh_token }))
      const stale = await service.request('/staff/roster/undo', { method: 'POST', token, body: { to: 1 } })
      assert.deepEqual(stale.json.methods, ['passkey'])
    })
  })
}

suite('Passkeys that are off', () => {
  test('Nothing offers them, and a code still renews a session', async (t) => {
    const service = await startService('sqlite', { env: { CHIRON_PASSKEYS: 'off' } })
    t.after(() => service.stop())
    const { access } = await service.signIn(freshAddress())
    for (const path of ['/passkey/options', '/passkey/validate', '/passkey'])
      assert.equal(
        problem(await service.request(path, { method: 'POST', token: access, body: {} })),
        '404 not-found',
      )
    assert.equal((await service.request('/.well-known/passkey-endpoints')).status, 404)
    ok(await service.request('/session/step-up/send-otp', { method: 'POST', token: access }), 202)
  })
})
