/** The third role: sign-in, sessions, rights, and who may change them. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { bulk } from './support/roster-school.ts'
import { rosterOf, signInStudent } from './support/roster-world.ts'
import { outcome, type Service, serviceFor, startService } from './support/service.ts'
import { addStaff, newStaff, signInStaff } from './support/staff.ts'
import { studentSchool } from './support/student-school.ts'

/** Which right each endpoint for staff needs. An endpoint that is missing here fails the test below. */
const needs: Record<string, 'support' | 'registrar' | 'admin' | 'any'> = {
  'GET /staff/me': 'any',
  'GET /staff/overview': 'any',
  'GET /staff/people': 'support',
  'GET /staff/people/{userId}': 'support',
  'POST /staff/people/{userId}/suspend': 'support',
  'POST /staff/people/{userId}/reactivate': 'support',
  'POST /staff/people/{userId}/sign-out': 'support',
  'POST /staff/people/{userId}/verify': 'support',
  'POST /staff/people/{userId}/unverify': 'support',
  'POST /staff/people/{userId}/change-address': 'support',
  'POST /staff/people/{userId}/close': 'support',
  'GET /staff/deliveries': 'support',
  'GET /staff/school-refusals': 'support',
  'POST /staff/mail/test': 'support',
  'POST /staff/roster/plans': 'registrar',
  'GET /staff/roster/plans': 'registrar',
  'GET /staff/roster/plans/{planId}': 'registrar',
  'GET /staff/roster/plans/{planId}/changes': 'registrar',
  'GET /staff/roster/plans/{planId}/changes.csv': 'registrar',
  'DELETE /staff/roster/plans/{planId}': 'registrar',
  'POST /staff/roster/plans/{planId}/apply': 'registrar',
  'GET /staff/roster/imports': 'registrar',
  'GET /staff/roster/imports/{number}': 'registrar',
  'GET /staff/roster/imports/{number}/changes': 'registrar',
  'GET /staff/roster/imports/{number}/changes.csv': 'registrar',
  'GET /staff/roster/undo': 'registrar',
  'POST /staff/roster/undo': 'registrar',
  'GET /staff/events': 'admin',
  'GET /staff/members': 'admin',
  'POST /staff/members': 'admin',
  'PATCH /staff/members/{userId}': 'admin',
  'DELETE /staff/members/{userId}': 'admin',
  'GET /staff/webhooks': 'admin',
  'POST /staff/webhooks': 'admin',
  'PATCH /staff/webhooks/{webhookId}': 'admin',
  'DELETE /staff/webhooks/{webhookId}': 'admin',
  'POST /staff/webhooks/{webhookId}/rotate': 'admin',
  'POST /staff/webhooks/{webhookId}/replay': 'admin',
  'POST /staff/webhooks/{webhookId}/test': 'admin',
  'GET /staff/webhooks/{webhookId}/deliveries': 'admin',
  'GET /staff/providers': 'admin',
  'POST /staff/providers': 'admin',
  'PATCH /staff/providers/{providerId}': 'admin',
  'DELETE /staff/providers/{providerId}': 'admin',
  'POST /staff/providers/{providerId}/test': 'admin',
  'POST /staff/people/{userId}/disconnect-school-account': 'support',
  'GET /staff/clients': 'admin',
  'POST /staff/clients': 'admin',
  'GET /staff/clients/{clientId}': 'admin',
  'PATCH /staff/clients/{clientId}': 'admin',
  'DELETE /staff/clients/{clientId}': 'admin',
  'POST /staff/clients/{clientId}/rotate': 'admin',
  'POST /staff/clients/{clientId}/sign-out': 'admin',
  'GET /staff/clients/{clientId}/people': 'admin',
}
/** What changes nothing here, where an empty body would. */
const harmless: Record<string, object> = { 'POST /staff/roster/undo': { to: 99 } }
/** These need a sign-in at most 30 minutes old. */
const grave = [
  'POST /staff/roster/undo',
  'POST /staff/people/{userId}/suspend',
  'POST /staff/people/{userId}/change-address',
  'POST /staff/people/{userId}/close',
  'POST /staff/members',
  'PATCH /staff/members/{userId}',
  'DELETE /staff/members/{userId}',
  'POST /staff/webhooks',
  'PATCH /staff/webhooks/{webhookId}',
  'DELETE /staff/webhooks/{webhookId}',
  'POST /staff/webhooks/{webhookId}/rotate',
  'POST /staff/webhooks/{webhookId}/replay',
  'POST /staff/providers',
  'PATCH /staff/providers/{providerId}',
  'DELETE /staff/providers/{providerId}',
  'POST /staff/people/{userId}/disconnect-school-account',
  'POST /staff/clients',
  'PATCH /staff/clients/{clientId}',
  'DELETE /staff/clients/{clientId}',
  'POST /staff/clients/{clientId}/rotate',
  'POST /staff/clients/{clientId}/sign-out',
]

for (const engine of engines) {
  suite(`Staff on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
      await rosterOf(service).import(bulk(studentSchool([])))
    })
    after(() => service.stop())

    const get = (path: string, token: string) => service.request(path, { token })
    const call = (name: string, token?: string, body?: unknown) => {
      const [method, path] = name.split(' ') as [string, string]
      const url = path.replace(/\{[^}]+\}/, 'AAAAAAAAAAAAAAAAAAAAAA')
      const sent = method === 'GET' ? undefined : (body ?? harmless[name] ?? {})
      return service.request(url, {
        method,
        ...(token !== undefined && { token }),
        ...(sent !== undefined && { body: sent }),
        headers: freshNetwork(),
      })
    }

    test('Staff sign in with a code, and read who they are and what they may', async () => {
      const { email, userId } = await addStaff(service, ['registrar', 'support'])
      const { access } = await signInStaff(service, email)
      const me = await get('/staff/me', access)
      assert.equal(me.status, 200)
      assert.deepEqual(me.json, {
        userId,
        firstname: 'Grace',
        lastname: 'Hopper',
        email,
        may: ['support', 'registrar'],
      })
      assert.equal(me.headers.get('cache-control'), 'no-store')
      const claims = JSON.parse(Buffer.from(access.split('.')[1]!, 'base64url').toString())
      assert.deepEqual(claims.roles, ['staff'])
    })

    test('In the portal the refresh token of staff is in the cookie', async () => {
      const { email } = await addStaff(service, ['support'])
      const { json } = await service.post('/staff/send-otp', { email }, freshNetwork())
      const { code } = await service.mail.mailTo(email, 1)
      const answer = { email, otp_code: code, sessionId: json.sessionId }
      const reply = await service.post('/portal/staff/validate-otp', answer, freshNetwork())
      assert.equal(reply.status, 200)
      assert.equal(reply.json.refresh_token, undefined)
      assert.match(reply.headers.get('set-cookie') ?? '', /chiron_refresh=.*HttpOnly/)
      assert.deepEqual(reply.json.user.may, ['support'])
    })

    test('An address of no member of staff gets the same reply, and a mail that says so', async () => {
      const email = freshAddress('nobody')
      const sent = await service.post('/staff/send-otp', { email }, freshNetwork())
      assert.equal(sent.status, 202)
      const mail = await service.mail.mailTo(email, 1)
      assert.equal(mail.code, null)
      assert.match(mail.mail.text ?? '', /does not belong to a member of staff/)
    })

    test('A veterinarian’s code does not sign in staff with the same address', async () => {
      const { email } = await addStaff(service, ['admin'])
      await service.register(email)
      const { sessionId, code } = await service.code(email, freshNetwork())
      const answer = { email, otp_code: code, sessionId }
      assert.deepEqual(outcome(await service.post('/staff/validate-otp', answer, freshNetwork())), [
        401,
        'otp-unusable',
      ])
    })

    test('A session of staff ends after an hour without use', async () => {
      const used = await newStaff(service, 'support')
      const unused = await newStaff(service, 'support')
      for (let i = 0; i < 5; i++) {
        service.clock.advance(14 * minute)
        assert.equal((await get('/staff/me', used.access)).status, i === 0 ? 200 : 401)
        if (i === 0) break
      }
      service.clock.advance(45.5 * minute)
      const refreshed = await service.post('/session/refresh', { refresh_token: used.refresh })
      assert.equal(refreshed.status, 200, 'used 45 minutes ago')
      service.clock.advance(minute)
      const gone = await service.post('/session/refresh', { refresh_token: unused.refresh })
      assert.deepEqual(outcome(gone), [401, 'session-ended'])
    })

    test('A session of staff ends after twelve hours, however much it is used', async () => {
      let { refresh } = await newStaff(service, 'support')
      for (let i = 0; i < 14; i++) {
        service.clock.advance(50 * minute)
        const reply = await service.post('/session/refresh', { refresh_token: refresh })
        assert.equal(reply.status, 200)
        refresh = reply.json.refresh_token
      }
      service.clock.advance(21 * minute)
      const late = await service.post('/session/refresh', { refresh_token: refresh })
      assert.deepEqual(outcome(late), [401, 'session-ended'])
    })

    test('Every endpoint for staff is in the table of rights', async () => {
      const { json } = await service.request('/openapi.json')
      const found = Object.entries<Record<string, { security?: unknown[] }>>(json.paths).flatMap(
        ([path, methods]) =>
          path.startsWith('/staff/') && !/otp$/.test(path)
            ? Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
            : [],
      )
      assert.deepEqual(found.sort(), Object.keys(needs).sort())
    })

    test('Nobody without a token, and no veterinarian or student, gets in anywhere', async () => {
      const veterinarian = await service.signIn(freshAddress('vet'), freshNetwork())
      const student = await signInStudent(service, 'ada.byron@school.example')
      for (const name of Object.keys(needs)) {
        assert.deepEqual(outcome(await call(name)), [401, 'unauthenticated'], name)
        for (const { access } of [veterinarian, student]) {
          const reply = await call(name, access)
          assert.deepEqual(outcome(reply), [403, 'forbidden'], name)
          assert.equal(reply.headers.get('www-authenticate'), 'Bearer error="insufficient_scope"')
        }
      }
    })

    test('Each right opens its own endpoints and no others; an admin has all', async () => {
      for (const right of ['support', 'registrar', 'admin'] as const) {
        const { access } = await newStaff(service, right)
        for (const [name, needed] of Object.entries(needs)) {
          const { status, json } = await call(name, access)
          const isOpen = right === 'admin' || needed === 'any' || needed === right
          if (isOpen) assert.ok(![401, 403, 500].includes(status), `${right}: ${name} gave ${status}`)
          else assert.deepEqual([status, json.code], [403, 'forbidden'], `${right}: ${name}`)
        }
      }
    })

    test('Staff get nothing that belongs to veterinarians and students', async () => {
      const { access } = await newStaff(service, 'admin')
      for (const path of [
        '/veterinarian/me',
        '/student/me',
        '/student/me/classes',
        '/veterinarian/me/export',
      ])
        assert.deepEqual(outcome(await get(path, access)), [403, 'forbidden'], path)
    })

    test('Actions that are hard to undo need a sign-in at most 30 minutes old', async () => {
      const { email } = await addStaff(service, ['admin'])
      const { refresh } = await signInStaff(service, email)
      service.clock.advance(30 * minute + 1)
      const { json } = await service.post('/session/refresh', { refresh_token: refresh })
      for (const name of Object.keys(needs)) {
        const { status, json: problem } = await call(name, json.access_token)
        const refused = status === 403 && problem.code === 'recent-sign-in-required'
        assert.equal(refused, grave.includes(name), name)
      }
      const fresh = await signInStaff(service, email)
      for (const name of grave) assert.notEqual((await call(name, fresh.access)).status, 403, name)
    })

    test('An admin adds, lists, changes and removes members, and each is an event', async () => {
      const admin = await newStaff(service, 'admin')
      const email = freshAddress('member')
      const body = { email, firstname: 'Mary', lastname: 'Jackson', may: ['support'] }
      const added = await service.request('/staff/members', { method: 'POST', body, token: admin.access })
      assert.equal(added.status, 201)
      const { userId, createdAt, ...rest } = added.json
      assert.deepEqual(rest, { ...body })
      assert.match(createdAt, /^2026-/)
      const again = await service.request('/staff/members', { method: 'POST', body, token: admin.access })
      assert.deepEqual(outcome(again), [409, 'conflict'])
      assert.match(again.json.detail, /member of staff already has this address/)

      const member = await signInStaff(service, email)
      const path = `/staff/members/${userId}`
      service.clock.advance(1)
      const change = { method: 'PATCH', body: { may: ['registrar'] }, token: admin.access }
      assert.deepEqual((await service.request(path, change)).json.may, ['registrar'])
      assert.deepEqual((await get('/staff/me', member.access)).json.may, ['registrar'], 'at once')
      assert.deepEqual(outcome(await get('/staff/people', member.access)), [403, 'forbidden'])

      const listed = await get('/staff/members', admin.access)
      assert.ok(listed.json.members.some((one: { email: string }) => one.email === email))
      service.clock.advance(1)
      const removed = await service.request(path, { method: 'DELETE', token: admin.access })
      assert.equal(removed.status, 204)
      assert.deepEqual(outcome(await get('/staff/me', member.access)), [401, 'session-ended'])
      assert.deepEqual(outcome(await service.request(path, { ...change })), [404, 'not-found'])
      const { json } = await get(`/staff/events?person=${userId}`, admin.access)
      const events: { type: string; actor: string; requestId: string | null }[] = json.events
      assert.deepEqual(
        events.filter(({ type }) => type.startsWith('staff.')).map(({ type, actor }) => [type, actor]),
        [
          ['staff.added', admin.userId],
          ['staff.changed', admin.userId],
          ['staff.removed', admin.userId],
        ],
      )
      assert.ok(events.every(({ type, requestId }) => !type.startsWith('staff.') || requestId))
      await addStaff(service, ['support'], email)
    })

    test('The feed is read back from the newest with `before`, and misses none', async () => {
      const { access } = await newStaff(service, 'admin')
      for (let i = 0; i < 3; i++) await addStaff(service, ['support'])
      const read = async (query: string): Promise<number[]> => {
        const { status, json } = await get(`/staff/events?types=staff.added&${query}`, access)
        assert.equal(status, 200)
        return json.events.map(({ number }: { number: number }) => number)
      }
      const all = await read('limit=1000')
      const newest = await read(`before=${Number.MAX_SAFE_INTEGER}&limit=2`)
      assert.deepEqual(newest, all.toReversed().slice(0, 2))
      assert.deepEqual(await read(`before=${newest[1]}&limit=1`), [all.at(-3)])
      assert.deepEqual(await read('before=0'), [])
      const wrong = await get('/staff/events?before=new', access)
      assert.deepEqual(outcome(wrong), [400, 'invalid-request'])
    })

    test('Rights that do not exist, none at all and bad names are refused', async () => {
      const { access: token } = await newStaff(service, 'admin')
      const good = { email: freshAddress('bad'), firstname: 'Mary', lastname: 'Jackson', may: ['support'] }
      for (const wrong of [
        { may: [] },
        { may: ['owner'] },
        { may: 'admin' },
        { firstname: 'a@b' },
        { email: 'x' },
      ]) {
        const reply = await service.request('/staff/members', {
          method: 'POST',
          body: { ...good, ...wrong },
          token,
        })
        assert.deepEqual(outcome(reply), [400, 'invalid-request'], JSON.stringify(wrong))
      }
    })

    test('The last admin stays one, also when two remove each other at once', async (t) => {
      const own = await serviceFor(t, engine)
      const [one, two] = [await newStaff(own, 'admin'), await newStaff(own, 'admin')]
      const removals = [
        own.request(`/staff/members/${two.userId}`, { method: 'DELETE', token: one.access }),
        own.request(`/staff/members/${one.userId}`, { method: 'DELETE', token: two.access }),
      ]
      const statuses = (await Promise.all(removals)).map(({ status }) => status).sort()
      assert.equal(statuses[0], 204)
      assert.ok(statuses[1] === 409 || statuses[1] === 401, String(statuses[1]))
      const [last] = await own.app.parts.staff.list()
      assert.deepEqual(last!.may, ['admin'])
      const refused = { code: 'conflict', message: /the last admin/ }
      await assert.rejects(own.app.parts.staff.remove(last!.userId, byOperator), refused)
      const support = own.app.parts.staff.change(last!.userId, { may: ['support'] }, byOperator)
      await assert.rejects(support, refused)
      assert.equal((await own.app.parts.staff.list()).length, 1)
    })
  })
}
