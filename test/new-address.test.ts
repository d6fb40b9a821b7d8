/** A veterinarian changes their address by themselves, with a code sent to the new one. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { day, hour, minute, second } from '../src/platform/lib/clock.ts'
import { atLength, engines } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import {
  outcome,
  type Reply,
  type Service,
  type SignedIn,
  startService,
  wrongFor,
} from './support/service.ts'
import { outboxEmpty } from './support/wait.ts'

const unusable = [401, 'otp-unusable']
const incorrect = [401, 'otp-incorrect']

interface Vet extends SignedIn {
  readonly email: string
}

for (const engine of engines) {
  suite(`A new address on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const vet = async (email = freshAddress('vet')): Promise<Vet> => ({
      ...(await service.signIn(email, freshNetwork())),
      email,
    })
    const again = async ({ email }: Vet): Promise<Vet> => {
      const { sessionId, code } = await service.code(email, freshNetwork())
      const body = { email, otp_code: code, sessionId }
      const { json } = await service.post('/veterinarian/validate-otp', body, freshNetwork())
      return {
        ...{ email, sessionId, access: json.access_token },
        ...{ refresh: json.refresh_token, userId: json.user.userId },
      }
    }
    const ask = ({ access }: Vet, body: object, headers: Record<string, string> = freshNetwork()) =>
      service.request('/veterinarian/me/email', { method: 'POST', token: access, body, headers })
    const confirm = ({ access }: Vet, sessionId: string, otp_code: unknown) =>
      service.request('/veterinarian/me/email/confirm', {
        method: 'POST',
        token: access,
        body: { sessionId, otp_code },
        headers: freshNetwork(),
      })
    /** Asks for a code at the new address, and reads it there. */
    const codeAt = async (who: Vet, email: string) => {
      const before = service.mail.received.filter(({ to }) => to === email).length
      const reply = await ask(who, { email })
      assert.equal(reply.status, 202, reply.text)
      const { code, mail } = await service.mail.mailTo(email, before + 1)
      return { sessionId: reply.json.sessionId as string, code: code!, mail, sent: reply.json }
    }
    const me = ({ access }: SignedIn) => service.request('/veterinarian/me', { token: access })
    const mailsTo = (email: string) => service.mail.received.filter(({ to }) => to === email)
    const events = async ({ userId }: Vet, type: string) =>
      service.rows<{ actor: string; request_id: string | null; data: string }>(
        'select actor, request_id, data from event where person_id = $1 and type = $2',
        [userId, type],
      )

    test('The address changes with the code that was sent there, and the profile says so', async () => {
      const who = await vet()
      const email = freshAddress('New.One')
      const { sessionId, code, mail, sent } = await codeAt(who, email)
      assert.deepEqual(Object.keys(sent), ['sessionId', 'reference', 'digits', 'expiresAt', 'resendAt'])
      assert.equal(sent.expiresAt, new Date(service.clock.now() + 10 * minute).toISOString())
      assert.match(
        mail.subject ?? '',
        new RegExp(`^Confirm your new address \\(reference ${sent.reference}\\)$`),
      )
      assert.match(mail.text ?? '', /wants to use this address/)
      assert.doesNotMatch(mail.text ?? '', /Ada|Marsh/, 'nobody is named at an address that anybody may have')
      assert.equal((await me(who)).json.email, who.email, 'nothing changes before')
      service.clock.advance(second)
      const reply = await confirm(who, sessionId, code)
      assert.equal(reply.status, 200)
      const { json } = await me(who)
      assert.deepEqual(reply.json, json)
      assert.deepEqual([json.email, json.updatedAt], [email, new Date(service.clock.now()).toISOString()])
      assert.equal(json.userId, who.userId)
      assert.equal((await again({ ...who, email })).userId, who.userId, 'codes go there from now on')
    })

    test('Every other session ends, this one stays, and the old address is told in the language asked for', async () => {
      const who = await vet()
      const other = await again(who)
      const email = freshAddress('new')
      const { sessionId, code } = await codeAt(who, email)
      const reply = await service.request('/veterinarian/me/email/confirm', {
        method: 'POST',
        token: who.access,
        body: { sessionId, otp_code: code },
        headers: { ...freshNetwork(), 'accept-language': 'fr' },
      })
      assert.equal(reply.status, 200)
      assert.deepEqual(outcome(await me(other)), [401, 'session-ended'])
      assert.equal((await me(who)).status, 200)
      assert.equal((await service.post('/session/refresh', { refresh_token: who.refresh })).status, 200)
      await outboxEmpty(service)
      const told = mailsTo(who.email).at(-1)!
      assert.match(told.mail.subject ?? '', /autre adresse/)
      assert.equal(told.code, null)
      assert.ok(!told.raw.includes(email))
      const ended = await events(who, 'session.ended')
      assert.deepEqual(
        ended.map(({ actor, data }) => [actor, JSON.parse(data).reason]),
        [['self', 'account']],
      )
    })

    test('It is one event, by the veterinarian, without any address', async () => {
      const who = await vet()
      const { sessionId, code } = await codeAt(who, freshAddress('new'))
      const reply = await confirm(who, sessionId, code)
      const found = await events(who, 'veterinarian.address-changed')
      assert.deepEqual(
        found.map((event) => ({ ...event })),
        [{ actor: 'self', request_id: reply.headers.get('request-id'), data: '{}' }],
      )
    })

    test('The old address no longer signs in, not even with a code sent before', async () => {
      const who = await vet()
      const pending = await service.code(who.email, freshNetwork())
      const { sessionId, code } = await codeAt(who, freshAddress('new'))
      assert.equal((await confirm(who, sessionId, code)).status, 200)
      const body = { email: who.email, otp_code: pending.code, sessionId: pending.sessionId }
      const reply = await service.post('/veterinarian/validate-otp', body, freshNetwork())
      assert.deepEqual(outcome(reply), incorrect)
    })

    test('If somebody else has the address the reply is the same, the mail says so, and no code fits', async () => {
      const [who, owner] = [await vet(), await vet(freshAddress('Owner'))]
      const locked = await vet()
      await service.app.parts.support.suspend(locked.userId, 'a test', byOperator)
      const free = await ask(who, { email: freshAddress('free') })
      for (const { email } of [owner, locked]) {
        const before = mailsTo(email).length
        const reply = await ask(who, { email: email.toUpperCase() })
        assert.equal(reply.status, 202)
        assert.deepEqual(Object.keys(reply.json), Object.keys(free.json))
        const { mail, code } = await service.mail.mailTo(email, before + 1)
        assert.equal(code, null)
        assert.match(mail.subject ?? '', /^About your new address/)
        assert.match(mail.text ?? '', /veterinarian account already has it/)
        const answer = await confirm(who, reply.json.sessionId, 123456)
        assert.deepEqual([...outcome(answer), answer.json.attemptsLeft], [...incorrect, 4])
      }
      assert.equal((await me(who)).json.email, who.email)
      assert.equal((await me(owner)).json.email, owner.email)
    })

    test('The owner of the address is told at most once a day', async () => {
      const [who, owner] = [await vet(), await vet()]
      const before = mailsTo(owner.email).length
      for (let i = 0; i < 3; i++) assert.equal((await ask(who, { email: owner.email })).status, 202)
      await outboxEmpty(service)
      assert.equal(mailsTo(owner.email).length, before + 1)
    })

    test('An unconfirmed registration does not hold an address', async () => {
      const who = await vet()
      const email = freshAddress('squatted')
      await service.register(email, { firstname: 'Squatter' })
      await service.app.parts.veterinarians.settle()
      const { sessionId, code } = await codeAt(who, email)
      await service.register(email, { firstname: 'Another' })
      assert.equal((await confirm(who, sessionId, code)).status, 200)
      await service.app.parts.veterinarians.settle()
      assert.deepEqual(
        (await service.rows<{ id: string }>('select id from person where email_key = $1', [email])).map(
          ({ id }) => id,
        ),
        [who.userId],
      )
    })

    test('Wrong codes are counted as in validate-otp: five answers, then none fits', async () => {
      const who = await vet()
      const { sessionId, code } = await codeAt(who, freshAddress('new'))
      for (const left of [4, 3, 2, 1, 0]) {
        const reply = await confirm(who, sessionId, wrongFor(code))
        assert.deepEqual([...outcome(reply), reply.json.attemptsLeft], [...incorrect, left])
        assert.equal(reply.headers.get('www-authenticate'), 'OTP')
        assert.match(reply.headers.get('ratelimit') ?? '', /^"validate-otp";/)
      }
      assert.deepEqual(outcome(await confirm(who, sessionId, code)), unusable)
      const exhausted = await service.rows('select id from event where session_id = $1', [sessionId])
      assert.equal(exhausted.length, 1)
    })

    test('A code works once, and for ten minutes', async () => {
      const who = await vet()
      const first = await codeAt(who, freshAddress('new'))
      assert.equal((await confirm(who, first.sessionId, first.code)).status, 200)
      assert.deepEqual(outcome(await confirm(who, first.sessionId, first.code)), unusable)
      const late = await codeAt(who, freshAddress('late'))
      service.clock.advance(10 * minute)
      assert.deepEqual(outcome(await confirm(who, late.sessionId, late.code)), unusable)
    })

    test('An invalid code or session is refused', async () => {
      const who = await vet()
      const { sessionId, code } = await codeAt(who, freshAddress('new'))
      for (const otp_code of [String(code), code + 0.5, null, 99_999, 100_000_000])
        assert.deepEqual(outcome(await confirm(who, sessionId, otp_code)), [400, 'invalid-request'])
      for (const id of ['', 'x', 'A'.repeat(30), who.sessionId])
        assert.deepEqual(outcome(await confirm(who, id, code)), unusable, id)
    })

    test('The same code can be sent again, by whoever asked for it, to that address', async () => {
      const [who, stranger] = [await vet(), await vet()]
      const email = freshAddress('new')
      const { sessionId, code } = await codeAt(who, email)
      const early = await ask(who, { email, sessionId })
      assert.deepEqual(
        [...outcome(early), early.headers.has('retry-after')],
        [429, 'too-many-requests', true],
      )
      service.clock.advance(30 * second)
      for (const [by, to] of [
        [stranger, email],
        [who, freshAddress('elsewhere')],
      ] as const)
        assert.deepEqual(outcome(await ask(by, { email: to, sessionId })), unusable)
      const other = await service.post('/veterinarian/send-otp', { email, sessionId }, freshNetwork())
      assert.deepEqual(outcome(other), unusable, 'not by asking to sign in')
      const reply = await ask(who, { email, sessionId })
      assert.deepEqual([reply.status, reply.json.sessionId], [202, sessionId])
      assert.equal((await service.mail.mailTo(email, 2)).code, code)
    })

    test('A code works only for whoever asked for it, and not for signing in', async () => {
      const [who, stranger] = [await vet(), await vet()]
      const email = freshAddress('new')
      await service.register(email)
      const { sessionId, code } = await codeAt(who, email)
      assert.deepEqual(outcome(await confirm(stranger, sessionId, code)), unusable)
      const answer = { email, otp_code: code, sessionId }
      for (const path of ['/veterinarian/validate-otp', '/portal/veterinarian/validate-otp'])
        assert.deepEqual(outcome(await service.post(path, answer, freshNetwork())), unusable)
      const signIn = await service.code(email, freshNetwork())
      assert.deepEqual(outcome(await confirm(who, signIn.sessionId, signIn.code)), unusable)
      assert.equal((await confirm(who, sessionId, code)).status, 200, 'and none of that counted')
    })

    test('Asking needs a sign-in of the last ten minutes; answering does not', async () => {
      const who = await vet()
      const { sessionId, code } = await codeAt(who, freshAddress('new'))
      service.clock.advance(9 * minute)
      const email = freshAddress('newer')
      const later = await codeAt(who, email)
      service.clock.advance(minute + 1)
      assert.deepEqual(outcome(await ask(who, { email })), [403, 'recent-sign-in-required'])
      assert.deepEqual(outcome(await confirm(who, sessionId, code)), unusable)
      assert.equal((await confirm(who, later.sessionId, later.code)).status, 200)
    })

    test('It needs a token, and an address that is valid and not the current one', async () => {
      const who = await vet()
      for (const email of ['x', who.email, who.email.toUpperCase(), '']) {
        const reply = await ask(who, { email })
        assert.deepEqual(
          [...outcome(reply), reply.json.errors[0].pointer],
          [400, 'invalid-request', '#/email'],
        )
      }
      for (const path of ['/veterinarian/me/email', '/veterinarian/me/email/confirm'])
        assert.deepEqual(outcome(await service.post(path, {}, freshNetwork())), [401, 'unauthenticated'])
    })

    test('Of a hundred right answers at once one moves the account', async () => {
      const who = await vet()
      const email = freshAddress('new')
      const { sessionId, code } = await codeAt(who, email)
      const replies = await repeat(100, () => confirm(who, sessionId, code), 100)
      const counts = Object.groupBy(replies, (reply) => `${reply.status} ${reply.json.code ?? ''}`)
      assert.deepEqual(
        Object.entries(counts)
          .map(([what, list]) => [what, list!.length])
          .sort(),
        [
          ['200 ', 1],
          ['401 otp-unusable', 99],
        ],
      )
      assert.equal((await events(who, 'veterinarian.address-changed')).length, 1)
      await outboxEmpty(service)
      const told = mailsTo(who.email).filter(({ mail }) => /different address/.test(mail.subject ?? ''))
      assert.equal(told.length, 1)
    })

    test('Of two who prove the same address at once one has it', atLength, async () => {
      for (let round = 0; round < 10; round++) {
        const email = freshAddress('wanted')
        const people = [await vet(), await vet(), await vet()]
        const codes: { sessionId: string; code: number }[] = []
        for (const who of people) codes.push(await codeAt(who, email))
        const replies = await Promise.all(
          people.map((who, i) => confirm(who, codes[i]!.sessionId, codes[i]!.code)),
        )
        assert.deepEqual(
          replies.map(({ status }) => status).sort(),
          [200, 401, 401],
          replies.map(({ text }) => text).join(),
        )
        const rows = await service.rows<{ id: string }>('select id from person where email_key = $1', [email])
        assert.deepEqual(
          rows.map(({ id }) => id),
          people.filter((_, i) => replies[i]!.status === 200).map(({ userId }) => userId),
        )
      }
    })

    test('A registration at the same moment changes nothing', atLength, async () => {
      for (let round = 0; round < 10; round++) {
        const who = await vet()
        const email = freshAddress('raced')
        const { sessionId, code } = await codeAt(who, email)
        const [reply] = await Promise.all([
          confirm(who, sessionId, code),
          ...[1, 2, 3].map(() =>
            service.register(email).then(() => service.app.parts.veterinarians.settle()),
          ),
        ])
        assert.equal(reply.status, 200, reply.text)
        assert.equal((await me(who)).json.email, email)
      }
    })

    test('An address taken in the meantime stays taken, and the code no longer works', async () => {
      const who = await vet()
      const email = freshAddress('new')
      const { sessionId, code } = await codeAt(who, email)
      const owner = await vet(email)
      const reply = await confirm(who, sessionId, code)
      assert.deepEqual([...outcome(reply), reply.json.attemptsLeft], [...incorrect, 4])
      assert.equal((await me(owner)).json.email, email)
      assert.equal((await me(who)).json.email, who.email)
    })

    test('Nothing moves once the session, or the account, has ended', async () => {
      const ends: [name: string, end: (who: Vet) => Promise<unknown>][] = [
        ['signed out', ({ access }) => service.request('/session', { method: 'DELETE', token: access })],
        ['suspended', ({ userId }) => service.app.parts.support.suspend(userId, 'a test', byOperator)],
        ['closed', ({ userId }) => service.app.parts.support.close(userId, 'a test', byOperator)],
        [
          'moved by the school',
          ({ userId }) => {
            const email = freshAddress('desk')
            return service.app.parts.support.changeAddress(userId, { email, key: email }, null, byOperator)
          },
        ],
      ]
      for (const [name, end] of ends) {
        const who = await vet()
        const email = freshAddress('new')
        const { sessionId, code } = await codeAt(who, email)
        const [reply] = await Promise.all([confirm(who, sessionId, code), end(who)])
        if (reply.status === 200) continue
        assert.equal(reply.status, 401, name)
        assert.deepEqual(await service.rows('select id from person where email_key = $1', [email]), [], name)
        assert.equal((await confirm(who, sessionId, code)).json.code, 'session-ended', name)
      }
    })

    test('Two new addresses of one person at once: the account has one, and each address that it had is told', async () => {
      const who = await vet()
      const [first, then] = [await codeAt(who, freshAddress('a')), await codeAt(who, freshAddress('b'))]
      const replies = await Promise.all(
        [first, then].map(({ sessionId, code }) => confirm(who, sessionId, code)),
      )
      const moves = await events(who, 'veterinarian.address-changed')
      assert.equal(moves.length, replies.filter(({ status }) => status === 200).length)
      await outboxEmpty(service)
      const told = service.mail.received.filter(
        ({ to, mail }) =>
          /different address/.test(mail.subject ?? '') &&
          [who.email, first.mail.to?.[0]?.address, then.mail.to?.[0]?.address].includes(to),
      )
      assert.equal(new Set(told.map(({ to }) => to)).size, moves.length)
    })

    test('Codes are limited as in send-otp, for an address and a network', async () => {
      const people = [await vet(), await vet()]
      const email = freshAddress('flooded')
      const network = freshNetwork()
      const statuses: number[] = []
      for (let i = 0; i < 7; i++) statuses.push((await ask(people[i % 2]!, { email }, network)).status)
      assert.deepEqual(statuses, [202, 202, 202, 202, 202, 429, 429])
      const signIn = await service.post('/veterinarian/send-otp', { email }, network)
      assert.equal(signIn.status, 429, 'one limit for both')
      assert.equal((await ask(people[0]!, { email })).status, 202, 'from another network')
    })

    test('One person cannot have codes sent to many strangers', async () => {
      const who = await vet()
      const replies: Reply[] = []
      for (let i = 0; i < 12; i++) replies.push(await ask(who, { email: freshAddress('stranger') }))
      assert.deepEqual(
        replies.map(({ status }) => status),
        [...Array(10).fill(202), 429, 429],
      )
      assert.ok(Number(replies.at(-1)!.headers.get('retry-after')) > 60)
      const email = freshAddress('friend')
      assert.equal((await ask(await vet(), { email })).status, 202, 'others can')
    })

    test('One person can have codes sent to ten addresses in a quarter of an hour, and to twenty in a day', async () => {
      const restless = await vet()
      const asked = async (times: number) => {
        const who = await again(restless)
        const replies = await repeat(times, () => ask(who, { email: freshAddress('stranger') }), 1)
        return replies.map(({ status }) => status)
      }
      assert.deepEqual(await asked(10), Array(10).fill(202))
      service.clock.advance(14 * minute)
      assert.deepEqual(await asked(1), [429])
      service.clock.advance(minute + 1)
      assert.deepEqual(await asked(11), [...Array(10).fill(202), 429])
      service.clock.advance(hour)
      assert.deepEqual(await asked(1), [429])
      service.clock.advance(day)
      assert.deepEqual(await asked(1), [202])
    })

    test('Closing the account forgets the address that was asked for, and its mail', async () => {
      const who = await vet()
      const email = freshAddress('secret')
      await codeAt(who, email)
      assert.equal((await service.rows('select id from challenge where email = $1', [email])).length, 1)
      assert.equal(
        (await service.request('/veterinarian/me', { method: 'DELETE', token: who.access })).status,
        204,
      )
      assert.equal((await service.rows('select id from challenge where email = $1', [email])).length, 0)
    })
  })
}
