/** What programs of neighbouring releases leave in the store while both run. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { holdCodes } from '../src/school/roster/roster.ts'
import { addClient, signInAt } from './support/applications.ts'
import { engines } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { startReceiver } from './support/receiver.ts'
import { addUser, bulk, edited, newSchool } from './support/roster-school.ts'
import { contentOf, inWorld } from './support/roster-world.ts'
import { serviceFor } from './support/service.ts'
import { eventually } from './support/wait.ts'

for (const engine of engines) {
  suite(`With programs of other releases on ${engine}`, () => {
    test('a session that was started before proofs were kept is proved since its start', async (t) => {
      const service = await serviceFor(t, engine)
      const { access, sessionId } = await service.signIn(freshAddress())
      await service.app.parts.db.run("update session set auth_at = 0, method = 'code' where id = $1", [
        sessionId,
      ])
      const [session] = (await service.request('/session', { token: access })).json.sessions
      assert.equal(session.authenticatedAt, session.startedAt)
      const close = () => service.request('/veterinarian/me', { method: 'DELETE', token: access })
      service.clock.advance(11 * minute)
      assert.equal((await close()).json.code, 'recent-sign-in-required')
      service.clock.jump(-2 * minute)
      assert.equal((await close()).status, 204)
    })

    test('a session at an application ends with a session that an older program ended, and the application is told', async (t) => {
      const service = await serviceFor(t, engine, { env: { CHIRON_WEBHOOK_ALLOW: '127.0.0.1' } })
      const receiver = await startReceiver()
      t.after(() => receiver.close())
      const client = await addClient(service, { backchannelUri: receiver.url })
      const who = await service.signIn(freshAddress())
      const at = await signInAt(service, who, client)
      await service.app.parts.db.run(
        "update session set ended_at = $1, end_reason = 'signed-out' where id = $2",
        [service.clock.now(), who.sessionId],
      )
      assert.equal((await service.request('/oauth/userinfo', { token: at.access })).status, 401)
      await service.app.parts.sweeper.sweep()
      await receiver.until(1)
      const events = await service.rows<{ type: string }>(
        "select type from event where session_id = $1 and type = 'session.ended'",
        [at.sessionId],
      )
      assert.equal(events.length, 1)
    })

    test('a mail of a kind that is not known yet is left to the newer program until it expires', async (t) => {
      const service = await serviceFor(t, engine)
      const email = freshAddress()
      await service.signIn(email)
      const now = service.clock.now()
      await service.app.parts.db.run(
        `insert into outbox (id, session_id, role, email, address_fingerprint, language, digits, reference, created_at, expires_at, attempts, next_at, kind)
         values ('tomorrow', '', 'veterinarian', $1, '', 'en', 6, 'TMR', $2, $3, 0, $2, 'of-tomorrow')`,
        [email, now, now + 10 * minute],
      )
      await service.code(email)
      const waiting = () =>
        service.rows<{ attempts: number }>("select attempts from outbox where id = 'tomorrow'")
      assert.deepEqual(
        (await waiting()).map(({ attempts }) => attempts),
        [0],
      )
      service.clock.advance(11 * minute)
      service.app.parts.outbox.wake()
      await eventually('it is given up', async () => (await waiting()).length === 0)
      assert.equal(service.mail.received.filter(({ to }) => to === email).length, 2)
    })

    test('an import by a program that cannot redo leaves nothing to redo', () =>
      inWorld(engine, async (world) => {
        const first = newSchool(3)
        const third = edited(first, (school) => addUser(school, 'stu-9', 'student'))
        await world.import(bulk(first))
        await world.import(bulk(edited(first, (school) => addUser(school, 'stu-8', 'student'))))
        await world.undo()
        await world.import(bulk(third))
        await world.db.run('update roster_state set redo = 2')
        const before = await contentOf(world.db)
        await world.undo()
        const forward = await world.roster.planUndo(4)
        await world.roster.undo(forward, { allow: holdCodes, by: byOperator })
        assert.deepEqual(await contentOf(world.db), before)
      }))
  })
}
