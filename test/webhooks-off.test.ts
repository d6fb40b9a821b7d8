/** Endpoints that take nothing for three days, or answer 410, are switched off, and admins are told. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { eventHappened } from '../src/messages/events/events.ts'
import { mailTexts } from '../src/messages/mail/templates/languages.ts'
import { bySystem } from '../src/platform/lib/by.ts'
import { day, hour, minute } from '../src/platform/lib/clock.ts'
import { everyLanguage } from '../src/platform/lib/languages.ts'
import { newId } from '../src/platform/lib/random.ts'
import { seal } from '../src/platform/lib/seal.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { engines } from './support/engines.ts'
import { type Receiver, startReceiver, status } from './support/receiver.ts'
import { type Service, startService } from './support/service.ts'
import { addStaff, newStaff } from './support/staff.ts'
import { eventually } from './support/wait.ts'

const allow = { CHIRON_WEBHOOK_ALLOW: '127.0.0.1' }

async function happen(service: Service, ...people: string[]): Promise<string[]> {
  const ids = people.map(() => newId())
  const at = service.clock.now()
  await service.app.parts.db.tx(
    people.map((personId, i) =>
      eventHappened('veterinarian.updated', bySystem, { id: ids[i]!, at, personId }),
    ),
  )
  return ids
}

for (const engine of engines) {
  suite(`An endpoint that fails for days, on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine, { env: allow })
    })
    after(() => service.stop())

    const hooked = async (
      t: { after(done: () => Promise<void>): void },
      answer: Receiver['answer'],
      path = '',
    ) => {
      const receiver = await startReceiver(answer)
      const { webhooks } = service.app.parts
      const { id } = await webhooks.add({ url: receiver.url + path, events: ['veterinarian.updated'] })
      t.after(async () => {
        await webhooks.remove(id).catch(() => {})
        await receiver.close()
      })
      const state = async () => (await webhooks.list()).find((one) => one.id === id)!
      return { receiver, id, state }
    }
    type Hook = Awaited<ReturnType<typeof hooked>>

    /** Lets time pass until the next try, and waits for it. */
    const nextTry = async ({ receiver, id, state }: Hook) => {
      const [before, tried] = [(await state()).failures, receiver.received.length]
      const nextAt = async () =>
        (
          await service.rows<{ at: number }>(
            'select min(next_at) as at from webhook_line where webhook_id = $1',
            [id],
          )
        )[0]!.at
      const at = await eventually('it is released, or off', async () => {
        if (!(await state()).enabled) return null
        const next = await nextAt()
        return next > service.clock.now() && next
      })
      if (at === null) return
      service.clock.advance(Number(at) - service.clock.now())
      await eventually('a try', () => receiver.received.length > tried)
      await eventually('its outcome', async () => {
        const now = await state()
        return !now.enabled || now.failures > before
      })
    }
    const offMails = (email: string) =>
      service.mail.received
        .filter(({ to, mail }) => to === email && /switched off/.test(mail.subject ?? ''))
        .map(({ mail: { subject = '', text = '', html = '' } }) => ({ subject, text, html }))

    test('is switched off after three days without one success, and every admin is told once', async (t) => {
      const admins = [await addStaff(service, ['admin']), await addStaff(service, ['support', 'admin'])]
      const other = await addStaff(service, ['support', 'registrar'])
      const hook = await hooked(t, status(503), '/sesame?key=open')
      const { receiver, id, state } = hook
      await happen(service, 'ann')
      await eventually('the first failure', async () => (await state()).failures === 1)
      const since = service.clock.now()
      assert.equal((await state()).failingSince, new Date(since).toISOString())
      while ((await state()).enabled) {
        assert.ok(service.clock.now() - since < 82 * hour)
        await nextTry(hook)
      }
      assert.ok(service.clock.now() - since >= 72 * hour, 'not before three days')
      const off = await state()
      assert.deepEqual([off.disabledBecause, off.waiting], ['failing', 0])
      assert.equal(off.disabledAt, new Date(service.clock.now()).toISOString())

      for (const { email } of admins) {
        const mail = await eventually('a mail', () => offMails(email)[0])
        const { host } = new URL(receiver.url)
        assert.equal(mail.subject, `The webhook to ${host} has been switched off`)
        assert.match(mail.text, /has not accepted any event for three days/)
        assert.ok(mail.text.includes(id))
        assert.doesNotMatch(mail.text, /sesame|open/)
        assert.match(mail.html, /<a href="http:\/\/localhost:\d+\/console"/)
      }
      const lines = service.log.filter((line) => line.includes(id) && /switched off/.test(line))
      assert.equal(lines.length, 1)
      assert.doesNotMatch(service.log.join(''), /sesame/)

      const { access } = await newStaff(service, 'admin')
      const overview = await service.request('/staff/overview', { token: access })
      const { state: verdict, switchedOff } = overview.json.webhooks
      assert.deepEqual([verdict, switchedOff], ['wrong', 1])
      // Nothing piles up for it.
      await happen(service, 'ann', 'bob')
      service.clock.advance(4 * day)
      await service.app.parts.sweeper.sweep()
      const rows = await service.rows(
        'select 1 as one from webhook_delivery where webhook_id = $1 and ended_at is null',
        [id],
      )
      assert.deepEqual(rows, [])
      assert.deepEqual(
        await service.rows('select 1 as one from webhook_line where webhook_id = $1', [id]),
        [],
      )
      for (const { email } of admins) assert.equal(offMails(email).length, 1)
      assert.deepEqual(offMails(other.email), [])

      // Enabled again, it gets what happens from then on; the rest only by a replay.
      const tries = receiver.received.length
      receiver.answer = status(204)
      const { webhooks } = service.app.parts
      const on = await webhooks.change(id, { enabled: true })
      assert.deepEqual([on.enabled, on.failures, on.failingSince, on.waiting], [true, 0, null, 0])
      const [fresh] = await happen(service, 'ann')
      await receiver.until(tries + 1)
      assert.equal(receiver.received.at(-1)!.headers['webhook-id'], fresh)
      await eventually('nothing waits', async () => (await state()).waiting === 0)
      assert.equal(receiver.received.length, tries + 1)
      assert.equal(await webhooks.replay(id, since - 1), 4)
      await receiver.until(tries + 5)
    })

    test('stays on while one event succeeds now and then', async (t) => {
      const hook = await hooked(t, (response, one) =>
        status(one.event.userId === 'lucky' ? 204 : 503)(response, one),
      )
      await happen(service, 'unlucky')
      await eventually('the first failure', async () => (await hook.state()).failures === 1)
      for (let spent = 0; spent < 80 * hour; spent += 8 * hour) {
        service.clock.advance(8 * hour)
        await happen(service, 'lucky')
        await eventually('a success', async () => (await hook.state()).failures <= 1)
      }
      assert.equal((await hook.state()).enabled, true)
    })

    test('stays on after days in which the service did not run, or the clock was put forward', async (t) => {
      const hook = await hooked(t, status(503))
      await happen(service, 'ann')
      await eventually('the first failure', async () => (await hook.state()).failures === 1)
      service.clock.advance(10 * day)
      await eventually('the second failure', async () => (await hook.state()).failures === 2)
      assert.equal((await hook.state()).enabled, true)
      service.clock.jump(-20 * day)
      await service.app.parts.webhooks.change(hook.id, { url: `${hook.receiver.url}/new` })
      await eventually('the third failure', async () => (await hook.state()).failures === 3)
      assert.equal((await hook.state()).failingSince, new Date(service.clock.now()).toISOString())
    })

    test('by 410 is switched off at once, and admins are told once, also by two processes', async (t) => {
      const { email } = await addStaff(service, ['admin'])
      const second = await startService(engine, {
        env: allow,
        databaseUrl: service.databaseUrl,
        clock: service.clock,
        mail: service.mail,
      })
      t.after(() => second.stop())
      const { state } = await hooked(t, status(410))
      await happen(service, ...Array.from({ length: 40 }, (_, i) => `gone-${i}`))
      await eventually('it is off', async () => !(await state()).enabled)
      assert.equal((await state()).disabledBecause, 'gone')
      const mail = await eventually('a mail', () => offMails(email)[0])
      assert.match(mail.text, /answered 410 Gone/)
      await eventually(
        'no mail is waiting',
        async () => (await service.rows('select 1 as one from outbox')).length === 0,
      )
      assert.equal(offMails(email).length, 1)
    })

    test('whose secret cannot be read is switched off after three days', async (t) => {
      const { id, state } = await hooked(t, status(204))
      const sealed = seal(secretsFrom('another secret that is long enough', null), id, 'whsec_AAAA')
      await service.app.parts.db.run('update webhook set sealed = $1 where id = $2', [sealed, id])
      await happen(service, 'ann')
      await eventually('it is noticed', async () => (await state()).failingSince !== null)
      service.clock.advance(72 * hour - minute)
      await happen(service, 'ann')
      assert.equal((await state()).enabled, true)
      service.clock.advance(minute)
      await eventually('it is off', async () => !(await state()).enabled)
      assert.equal((await state()).disabledBecause, 'failing')
    })

    test('is disabled, enabled and removed in short transactions when thousands of deliveries wait', async (t) => {
      const { id } = await hooked(t, () => {})
      const { db, webhooks } = service.app.parts
      const backlog = 2_100
      const numbered =
        engine === 'sqlite'
          ? `(with recursive s (i) as (select 1 union all select i + 1 from s where i < ${backlog}) select i from s) s`
          : `(select i from generate_series(1, ${backlog}) i) s`
      const later = service.clock.now() + day
      await db.run(
        `insert into webhook_line (webhook_id, line, next_at) select '${id}', 'l' || i, ${later} from ${numbered}`,
      )
      await db.run(
        `insert into webhook_delivery (webhook_id, number, line) select '${id}', -i, 'l' || i from ${numbered}`,
      )
      const { tx } = db
      let most = 0
      Object.assign(db, {
        tx: async (statements: Parameters<typeof tx>[0]) => {
          const results = await tx(statements)
          most = Math.max(most, ...results.map(({ length }) => length))
          return results
        },
      })
      t.after(async () => void Object.assign(db, { tx }))
      const waiting = async () =>
        (
          await service.rows(
            'select 1 as one from webhook_delivery where webhook_id = $1 and ended_at is null',
            [id],
          )
        ).length
      const disabled = await webhooks.change(id, { enabled: false })
      assert.deepEqual([disabled.waiting, await waiting(), most], [0, 0, 500])
      await webhooks.change(id, { enabled: true })
      assert.equal(await waiting(), 0)
      most = 0
      await webhooks.remove(id)
      assert.equal(most, 500)
      for (const table of ['webhook_delivery', 'webhook_line'])
        assert.deepEqual(await service.rows(`select 1 as one from ${table} where webhook_id = $1`, [id]), [])
    })

    test('and was disabled by a process that died then is tidied up by the sweep', async (t) => {
      const { id } = await hooked(t, () => {})
      const { db, sweeper } = service.app.parts
      await db.run('insert into webhook_line (webhook_id, line, next_at) values ($1, $2, $3)', [
        id,
        'x',
        1e15,
      ])
      await db.run('insert into webhook_delivery (webhook_id, number, line) values ($1, -1, $2)', [id, 'x'])
      await db.run("update webhook set disabled_at = 1, disabled_because = 'operator' where id = $1", [id])
      await sweeper.sweep()
      const [row] = await service.rows<{ outcome: string }>(
        'select outcome from webhook_delivery where webhook_id = $1',
        [id],
      )
      assert.equal(row!.outcome, 'dropped')
      assert.deepEqual(
        await service.rows('select 1 as one from webhook_line where webhook_id = $1', [id]),
        [],
      )
    })
  })
}

test('The mail about a webhook is there in every language, for both reasons', () => {
  const off = { id: 'theid', host: 'hook.example', url: 'https://access.example/console' }
  const texts = everyLanguage.flatMap((language) =>
    (['gone', 'failing'] as const).map((because) => mailTexts[language].webhookOff({ ...off, because })),
  )
  assert.equal(new Set(texts.map(({ paragraphs }) => paragraphs.join('\n'))).size, texts.length)
  for (const { subject, paragraphs } of texts) {
    assert.ok(subject.includes(off.host))
    for (const part of [off.id, off.host, off.url]) assert.ok(paragraphs.join('\n').includes(part), part)
  }
})
