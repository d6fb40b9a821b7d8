import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { day, minute } from '../src/platform/lib/clock.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { rowsHolding } from './support/tables.ts'
import { until } from './support/wait.ts'

for (const engine of engines) {
  suite(`Veterinarians on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const register = (email: string, firstname = 'Ada', lastname = 'Marsh', network = freshNetwork()) =>
      service.post('/veterinarian/register', { firstname, lastname, email }, network)
    const statusOf = async (email: string) => {
      await service.app.parts.veterinarians.settle()
      const [row] = await service.rows<{ id: string; status: string; firstname: string }>(
        "select id, status, firstname from person where role = 'veterinarian' and email_key = $1",
        [email.toLowerCase()],
      )
      return row
    }
    const me = (token: string, method = 'GET', body?: object) =>
      service.request('/veterinarian/me', { method, token, ...(body && { body }) })

    test('Registering answers 202 with the address as sent and a date seven days ahead', async () => {
      const email = freshAddress('First.One')
      const reply = await register(email)
      assert.equal(reply.status, 202)
      assert.deepEqual(reply.json, {
        email,
        confirmBefore: new Date(service.clock.now() + 7 * day).toISOString(),
      })
      assert.equal((await statusOf(email))?.status, 'pending')
    })

    test('Registering answers alike for unknown, pending, active, suspended and closed addresses', async () => {
      const [unknown, pending, active, suspended, closed] = [1, 2, 3, 4, 5].map((n) => freshAddress(`k${n}x`))
      await register(pending!)
      await service.signIn(active!, freshNetwork())
      const locked = await service.signIn(suspended!, freshNetwork())
      await service.app.parts.support.suspend(locked.userId, 'a test', byOperator)
      const gone = await service.signIn(closed!, freshNetwork())
      assert.equal((await me(gone.access, 'DELETE')).status, 204)

      const shape = (reply: Reply, email: string) => ({
        status: reply.status,
        body: reply.text.replace(email, '…'),
        headers: Object.fromEntries(
          [...reply.headers]
            .filter(([name]) => !['request-id', 'date', 'content-length'].includes(name))
            .sort(([a], [b]) => a.localeCompare(b)),
        ),
      })
      // Registrations of one millisecond have no order among themselves.
      service.clock.advance(1)
      const replies = []
      for (const email of [unknown, pending, active, suspended, closed]) {
        const reply = await register(email!, 'Mallory', 'Intruder')
        assert.equal(reply.json.email, email)
        replies.push(shape(reply, email!))
      }
      for (const reply of replies) assert.deepEqual(reply, replies[0])

      assert.equal((await statusOf(unknown!))?.status, 'pending')
      assert.equal((await statusOf(pending!))?.firstname, 'Mallory')
      assert.deepEqual(
        [(await statusOf(active!))?.status, (await statusOf(active!))?.firstname],
        ['active', 'Ada'],
      )
      assert.deepEqual(
        [(await statusOf(suspended!))?.status, (await statusOf(suspended!))?.firstname],
        ['suspended', 'Ada'],
      )
      assert.equal((await statusOf(closed!))?.status, 'pending')
    })

    test('A registration does one durable write before its reply', async () => {
      const email = freshAddress('durable')
      await register(email)
      const appended = await service.rows('select id from registration where email_key = $1', [email])
      assert.equal(appended.length === 1 || (await statusOf(email)) !== undefined, true)
    })

    test('A pending veterinarian takes the new names and the new date, and keeps the id', async () => {
      const email = freshAddress('again')
      await register(email, 'Ada', 'Marsh')
      const first = await statusOf(email)
      service.clock.advance(6 * day)
      const again = await register(email.toUpperCase(), 'Bea', 'Lake')
      assert.equal(again.json.confirmBefore, new Date(service.clock.now() + 7 * day).toISOString())
      service.clock.advance(6 * day)
      const { sessionId, code } = await service.code(email, freshNetwork())
      const reply = await service.post(
        '/veterinarian/validate-otp',
        { email, otp_code: code, sessionId },
        freshNetwork(),
      )
      assert.equal(reply.status, 200)
      assert.deepEqual(
        [reply.json.user.userId, reply.json.user.firstname, reply.json.user.lastname, reply.json.user.status],
        [first?.id, 'Bea', 'Lake', 'active'],
      )
    })

    test('A pending registration lapses at confirmBefore', async () => {
      const email = freshAddress('lapses')
      const { json } = await register(email)
      const before = await statusOf(email)
      service.clock.advance(7 * day - 1)
      await service.app.parts.sweeper.sweep()
      assert.ok(await statusOf(email))
      service.clock.advance(1)
      assert.equal(json.confirmBefore, new Date(service.clock.now()).toISOString())
      await service.app.parts.sweeper.sweep()
      assert.equal(await statusOf(email), undefined)
      assert.deepEqual(await rowsHolding(service, email), [])
      const again = await service.signIn(email, freshNetwork())
      assert.notEqual(again.userId, before?.id)
    })

    test('A code for a registration that has since lapsed no longer works', async () => {
      const email = freshAddress('lapses.late')
      await register(email)
      service.clock.advance(7 * day - minute)
      const { sessionId, code } = await service.code(email, freshNetwork())
      service.clock.advance(2 * minute)
      const reply = await service.post(
        '/veterinarian/validate-otp',
        { email, otp_code: code, sessionId },
        freshNetwork(),
      )
      assert.deepEqual([reply.status, reply.json.code], [401, 'otp-incorrect'])
    })

    test('No mail is sent on registering', async () => {
      const email = freshAddress('no.mail')
      await register(email)
      await register(email)
      await service.app.parts.veterinarians.settle()
      assert.deepEqual(await service.rows('select id from outbox where email = $1', [email]), [])
      await service.signIn(freshAddress(), freshNetwork())
      assert.deepEqual(
        service.mail.received.filter((mail) => mail.to === email),
        [],
      )
    })

    test('GET /veterinarian/me has exactly its members', async () => {
      const email = freshAddress('Own.Profile')
      const registeredAt = service.clock.now()
      await register(email, 'Zoë', 'Ferreira')
      service.clock.advance(minute)
      const signedIn = await service.signIn(email, freshNetwork())
      const reply = await me(signedIn.access)
      assert.equal(reply.status, 200)
      assert.deepEqual(reply.json, {
        userId: signedIn.userId,
        firstname: 'Ada',
        lastname: 'Marsh',
        email,
        status: 'active',
        confirmed: false,
        verified: false,
        createdAt: new Date(registeredAt).toISOString(),
        updatedAt: new Date(service.clock.now()).toISOString(),
      })
    })

    const changes: [name: string, body: object, names: [string, string]][] = [
      ['the first name', { firstname: ' Bea ' }, ['Bea', 'Marsh']],
      ['the last name', { lastname: 'Zoe\u0308' }, ['Ada', 'Zo\u00eb']],
      ['both names', { firstname: 'Cleo', lastname: 'Lake' }, ['Cleo', 'Lake']],
    ]
    for (const [name, body, [firstname, lastname]] of changes) {
      test(`PATCH changes ${name}`, async () => {
        const signedIn = await service.signIn(freshAddress(), freshNetwork())
        service.clock.advance(1_000)
        const reply = await me(signedIn.access, 'PATCH', body)
        assert.equal(reply.status, 200)
        assert.deepEqual([reply.json.firstname, reply.json.lastname], [firstname, lastname])
        assert.equal(reply.json.updatedAt, new Date(service.clock.now()).toISOString())
        assert.deepEqual((await me(signedIn.access)).json, reply.json)
        const shown = await service.request(`/veterinarian/${signedIn.userId}`)
        assert.deepEqual(shown.json, { userId: signedIn.userId, firstname, lastname, verified: false })
      })
    }

    test('Names are confirmed once they were set, or sent as they are, while signed in', async () => {
      for (const body of [{ firstname: 'Ada' }, { lastname: 'Marsh' }, { firstname: 'Bea' }]) {
        const email = freshAddress('confirms')
        const { access, refresh } = await service.signIn(email, freshNetwork())
        assert.equal((await me(access)).json.confirmed, false)
        const reply = await me(access, 'PATCH', body)
        assert.deepEqual([reply.status, reply.json.confirmed], [200, true])
        assert.equal((await me(access)).json.confirmed, true)
        const renewed = await service.post('/session/refresh', { refresh_token: refresh })
        assert.equal(renewed.json.user.confirmed, true)
      }
    })

    test('Sending the same names again changes nothing', async () => {
      const { access } = await service.signIn(freshAddress('same'), freshNetwork())
      const { json } = await me(access, 'PATCH', { firstname: 'Ada' })
      service.clock.advance(minute)
      assert.deepEqual((await me(access, 'PATCH', { firstname: 'Ada', lastname: 'Marsh' })).json, json)
    })

    test('PATCH refuses names that break the rules, and an empty change', async () => {
      const { access } = await service.signIn(freshAddress(), freshNetwork())
      const before = (await me(access)).json
      const bodies: [body: object, pointers: string[]][] = [
        [{}, ['#']],
        [{ email: 'other@clinic.example' }, ['#']],
        [{ firstname: '' }, ['#/firstname']],
        [{ firstname: null }, ['#/firstname']],
        [{ lastname: 'x'.repeat(101) }, ['#/lastname']],
        [{ firstname: '\u3164', lastname: 'read www.x.example' }, ['#/firstname', '#/lastname']],
        [{ firstname: 'Bea', lastname: '\u202e' }, ['#/lastname']],
        [{ firstname: 7, lastname: [] }, ['#/firstname', '#/lastname']],
      ]
      for (const [body, pointers] of bodies) {
        const reply = await me(access, 'PATCH', body)
        assert.deepEqual([reply.status, reply.json.code], [400, 'invalid-request'])
        assert.deepEqual(
          reply.json.errors.map((error: { pointer: string }) => error.pointer),
          pointers,
        )
      }
      assert.deepEqual((await me(access)).json, before)
    })

    test('The export holds the profile, the sessions and the events of the caller, and nobody else’s', async () => {
      const email = freshAddress('export')
      const other = await service.signIn(freshAddress('export.other'), freshNetwork())
      const first = await service.signIn(email, freshNetwork())
      const second = await service.signIn(email, freshNetwork())
      assert.equal((await service.request('/session', { method: 'DELETE', token: first.access })).status, 204)
      const reply = await service.request('/veterinarian/me/export', { token: second.access })
      assert.equal(reply.status, 200)
      assert.match(reply.headers.get('content-type') ?? '', /^application\/json/)
      assert.deepEqual(reply.json.profile, (await me(second.access)).json)
      assert.equal(reply.json.exportedAt, new Date(service.clock.now()).toISOString())
      const sessions = new Map(
        reply.json.sessions.map((session: { sessionId: string }) => [session.sessionId, session]),
      ) as Map<string, { endedAt: string | null; endReason: string | null }>
      assert.deepEqual([...sessions.keys()].sort(), [first.sessionId, second.sessionId].sort())
      assert.equal(sessions.get(first.sessionId)?.endReason, 'signed-out')
      assert.equal(sessions.get(second.sessionId)?.endedAt, null)
      const types = reply.json.events.map((event: { type: string }) => event.type).sort()
      assert.deepEqual(types, [
        'session.ended',
        'session.started',
        'session.started',
        'veterinarian.activated',
        'veterinarian.registered',
      ])
      assert.doesNotMatch(reply.text, new RegExp(`${other.userId}|${other.sessionId}`))
      assert.doesNotMatch(reply.text, /"\w*(hash|secret|refresh)\w*":/i)
    })

    test('Closing needs a sign-in at most ten minutes old, and a refresh does not count as one', async () => {
      const signedIn = await service.signIn(freshAddress(), freshNetwork())
      service.clock.advance(10 * minute + 1)
      const refreshed = await service.post('/session/refresh', { refresh_token: signedIn.refresh })
      for (const token of [signedIn.access, refreshed.json.access_token]) {
        const reply = await me(token, 'DELETE')
        assert.deepEqual([reply.status, reply.json.code], [403, 'recent-sign-in-required'])
      }
      assert.equal((await me(signedIn.access)).status, 200)
    })

    test('Closing is possible when the sign-in is exactly ten minutes old', async () => {
      const signedIn = await service.signIn(freshAddress(), freshNetwork())
      service.clock.advance(10 * minute)
      assert.equal((await me(signedIn.access, 'DELETE')).status, 204)
    })

    test('Closing ends every session, erases what is personal, and frees the address', async () => {
      const email = freshAddress('Closing.Person')
      await register(email, 'Evangelina', 'Quartermaine')
      const first = await service.signIn(email, freshNetwork())
      const second = await service.signIn(email, freshNetwork())
      await me(second.access, 'PATCH', { firstname: 'Wilhelmina', lastname: 'Quartermaine' })
      const { sessionId } = await service.code(email, freshNetwork())
      await service.app.parts.db.run(
        `insert into outbox (id, session_id, role, email, address_fingerprint, language, digits, reference, created_at, expires_at, attempts, next_at)
         select 'waiting', id, role, $1, address_fingerprint, 'en', digits, reference, created_at, expires_at, 0, expires_at - 1
         from challenge where id = $2`,
        [email, sessionId],
      )
      await register(email, 'Evangelina', 'Quartermaine')
      assert.notDeepEqual(await rowsHolding(service, email), [])
      assert.equal((await me(second.access, 'DELETE')).status, 204)

      for (const token of [first.access, second.access]) {
        const reply = await me(token)
        assert.deepEqual([reply.status, reply.json.code], [401, 'session-ended'])
      }
      for (const refresh_token of [first.refresh, second.refresh]) {
        const reply = await service.post('/session/refresh', { refresh_token })
        assert.deepEqual([reply.status, reply.json.code], [401, 'session-ended'])
      }
      assert.equal((await service.request(`/veterinarian/${first.userId}`)).status, 404)
      const traces = await until(
        () => rowsHolding(service, email, 'Evangelina', 'Wilhelmina', 'Quartermaine'),
        (rows) => rows.length === 0,
      )
      assert.deepEqual(traces, [])
      assert.equal((await me(second.access, 'DELETE')).status, 401)

      const again = await service.signIn(email, freshNetwork())
      assert.notEqual(again.userId, first.userId)
      assert.equal((await me(again.access)).json.email, email)
    })

    test('The public profile has exactly userId, firstname, lastname and verified, and needs no token', async () => {
      const { userId } = await service.signIn(freshAddress('public'), freshNetwork())
      const reply = await service.request(`/veterinarian/${userId}`)
      assert.equal(reply.status, 200)
      assert.deepEqual(reply.json, { userId, firstname: 'Ada', lastname: 'Marsh', verified: false })
      assert.doesNotMatch(reply.text, /@/)
      const withJunk = await service.request(`/veterinarian/${userId}`, { token: 'nonsense' })
      assert.equal(withJunk.status, 200)
    })

    test('The public profile says whether somebody was verified, and has another ETag then', async () => {
      const { userId } = await service.signIn(freshAddress('verified'), freshNetwork())
      const ask = (headers: Record<string, string> = {}) =>
        service.request(`/veterinarian/${userId}`, { headers })
      const etag = (await ask()).headers.get('etag')!
      assert.equal((await ask({ 'If-None-Match': etag })).status, 304)
      const { db } = service.app.parts
      await db.run('update person set verified_at = $1 where id = $2', [service.clock.now(), userId])
      const changed = await ask({ 'If-None-Match': etag })
      assert.deepEqual([changed.status, changed.json.verified], [200, true])
      assert.notEqual(changed.headers.get('etag'), etag)
    })

    test('A veterinarian can hide the public page, and show it again', async () => {
      const { userId, access } = await service.signIn(freshAddress('hide'), freshNetwork())
      const auth = { Authorization: `Bearer ${access}` }
      const mine = '/veterinarian/me/public-page'
      const show = (shown: unknown) =>
        service.request(mine, { method: 'PATCH', body: { shown }, headers: auth })
      const seen = async () => [
        (await service.request(`/veterinarian/${userId}`)).status,
        (await service.request(`/v/${userId}`)).text.includes('Ada Marsh'),
      ]
      const updates = async () =>
        (
          await service.rows("select id from event where type = 'veterinarian.updated' and person_id = $1", [
            userId,
          ])
        ).length
      assert.deepEqual((await service.request(mine, { headers: auth })).json, { shown: true })
      for (const again of [1, 2]) {
        const reply = await show(false)
        assert.deepEqual(
          [reply.status, reply.json, await updates()],
          [200, { shown: false }, 1],
          `time ${again}`,
        )
        assert.deepEqual((await service.request(mine, { headers: auth })).json, { shown: false })
        assert.deepEqual(await seen(), [404, false])
      }
      assert.equal((await show('no')).status, 400)
      assert.equal((await service.request(mine)).status, 401)
      assert.deepEqual(
        [(await show(true)).json, await updates(), await seen()],
        [{ shown: true }, 2, [200, true]],
      )
    })

    test('A public page is hidden from search engines and claims only what the school has checked', async () => {
      const { userId } = await service.signIn(freshAddress('page'), freshNetwork())
      const { db } = service.app.parts
      const read = async (id: string) => {
        const { text, headers } = await service.request(`/v/${id}`)
        assert.equal(headers.get('x-robots-tag'), 'noindex')
        assert.match(text, /<meta name="robots" content="noindex">/)
        return text.replace(/<template.*<\/template>/s, '')
      }
      await read('A'.repeat(22))
      const before = await read(userId)
      assert.match(before, /<title>Ada Marsh · Chiron<\/title>/)
      const unchecked = 'The school has not checked who this is. The name is the one they entered.'
      assert.ok(before.includes(`<meta name="description" content="${unchecked}">`))
      assert.ok(before.includes(`<meta property="og:description" content="${unchecked}">`))
      assert.doesNotMatch(before, /registered|verified|a veterinarian/i)
      await db.run('update person set verified_at = 1 where id = $1', [userId])
      const after = await read(userId)
      assert.ok(after.includes('content="A veterinarian, verified by the school."'))
      assert.doesNotMatch(after, /not checked/)
    })

    test('Pending, suspended, closed, lapsed and unknown veterinarians have no public profile', async () => {
      const pendingAddress = freshAddress()
      await register(pendingAddress)
      const pending = await statusOf(pendingAddress)
      const suspended = await service.signIn(freshAddress(), freshNetwork())
      await service.app.parts.support.suspend(suspended.userId, 'a test', byOperator)
      const closed = await service.signIn(freshAddress(), freshNetwork())
      await me(closed.access, 'DELETE')
      const ids = [pending!.id, suspended.userId, closed.userId, closed.sessionId, 'A'.repeat(22)]
      const replies = []
      for (const id of ids) replies.push(await service.request(`/veterinarian/${id}`))
      for (const reply of replies) {
        assert.equal(reply.status, 404)
        assert.equal(reply.json.code, 'not-found')
        assert.equal(reply.text.length, replies[0]!.text.length)
        assert.equal(reply.headers.get('etag'), null)
      }
    })

    test('A student has no public profile', async () => {
      const now = service.clock.now()
      await service.app.parts.db.run(
        `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at)
         values ($1, 'student', 'active', $2, $2, 'Sam', 'Reed', $3, $3)`,
        ['StudentStudentStudentS', freshAddress('student'), now],
      )
      assert.equal((await service.request('/veterinarian/StudentStudentStudentS')).status, 404)
    })

    for (const id of ['1', 'me%20', 'a b', '%F0%9F%90%B4', "' or 1=1 --", 'A'.repeat(21), 'A'.repeat(23)]) {
      test(`The malformed id ${id} is 404`, async () => {
        const reply = await service.request(`/veterinarian/${encodeURIComponent(decodeURIComponent(id))}`)
        assert.equal(reply.status, 404)
      })
    }
  })
}
