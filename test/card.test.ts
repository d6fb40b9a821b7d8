/** A student's card: that it says nothing itself, what the page behind it says, and that it opens nothing. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { minute } from '../src/platform/lib/clock.ts'
import { newId } from '../src/platform/lib/random.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { cookieOf } from './support/portal.ts'
import { change, drop } from './support/roster-school.ts'
import { signInStudent } from './support/roster-world.ts'
import { outcome, type Reply, type Service, startService } from './support/service.ts'
import { storeCells } from './support/store-text.ts'
import { type ServedSchool, schoolOfSuite } from './support/student-school.ts'
import { wire } from './support/wire.ts'

const emailOf = (name: string) => `${name}@school.example`
const headings = {
  active: 'Genuine: currently a student',
  inactive: 'Not currently a student',
  expired: 'This card has expired',
  none: 'Not a card of this school',
}

for (const engine of engines) {
  suite(`The student card on ${engine}`, () => {
    let service: Service
    let reimport: ServedSchool['reimport']
    schoolOfSuite(engine, ['locked', 'leaver', 'mover', 'plain'], (served) => {
      ;({ service, reimport } = served)
    })

    const cardOf = async (email: string) => {
      const { access, userId } = await signInStudent(service, email)
      const reply = await service.request('/student/me/card', { token: access })
      assert.equal(reply.status, 200)
      return { ...(reply.json as { card: string; url: string; expiresAt: string }), reply, access, userId }
    }
    const look = (card: string, headers: Record<string, string> = {}, method = 'GET') =>
      wire(service.url, `/c/${card}`, { method, headers: { ...freshNetwork(), ...headers } })
    const verdict = async (card: string) => {
      const { status, text } = await look(card)
      const heading = /<h1>(.*)<\/h1>/.exec(text)?.[1]
      return [status, Object.entries(headings).find(([, words]) => words === heading)?.[0]]
    }

    test('It is a short random id for five minutes, another one each time, and says nothing of the student', async () => {
      const { card, url, expiresAt, reply, access } = await cardOf('ada.byron@school.example')
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      assert.deepEqual(Object.keys(reply.json), ['card', 'url', 'expiresAt'])
      assert.match(card, /^[\w-]{22}$/)
      const { issuer } = (await service.request('/.well-known/oauth-authorization-server')).json
      assert.equal(url, `${issuer}/c/${card}`)
      assert.equal(expiresAt, new Date(service.clock.now() + 5 * minute).toISOString())
      const again = await service.request('/student/me/card', { token: access })
      assert.notEqual(again.json.card, card)
      assert.deepEqual(await verdict(card), [200, 'active'], 'the one before stays valid')
    })

    test('Any process of the service knows it at once', async (t) => {
      const { clock, mail, databaseUrl } = service
      const other = await startService(engine, { clock, mail, databaseUrl })
      t.after(() => other.app.stop())
      const { card } = await cardOf('ada.byron@school.example')
      const { status, text } = await wire(other.url, `/c/${card}`, { headers: freshNetwork() })
      assert.equal(status, 200)
      assert.match(text, /Ada Byron/)
    })

    test('The page says that it is genuine and valid, and that the student is one now', async () => {
      const { card } = await cardOf('ada.byron@school.example')
      const { status, text, headers } = await look(card)
      assert.equal(status, 200)
      assert.deepEqual(await verdict(card), [200, 'active'])
      for (const fact of [
        'Ada Byron',
        'S100',
        'School of Veterinary Medicine',
        '>4<',
        '09:05:00 UTC',
        '09:00:00 UTC',
      ])
        assert.ok(text.includes(fact), fact)
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
      assert.equal(headers.get('x-robots-tag'), 'noindex')
      assert.match(headers.get('content-security-policy')!, /^default-src 'none'; script-src 'self'/)
      assert.match(headers.get('ratelimit') ?? '', /^"network";/)
      for (const [, address] of text.matchAll(/(?:src|href)="([^"]*)"/g)) assert.match(address!, /^\/(?!\/)/)
      assert.ok(!text.includes(card), 'the page does not repeat the card')
      assert.ok(!text.includes('school.example'), 'nor the address of the student')
    })

    test('It speaks the reader’s language', async () => {
      const { card } = await cardOf('ada.byron@school.example')
      const languages: [accept: string, language: string, words: RegExp][] = [
        ['fr-CH, en;q=0.5', 'fr', /Authentique/],
        ['es', 'es', /Auténtico/],
        ['de-AT,de;q=0.9', 'de', /Echt/],
        ['it, *;q=0.1', 'en', /Genuine/],
      ]
      for (const [accept, language, words] of languages) {
        const { text } = await look(card, { 'accept-language': accept })
        assert.match(text, new RegExp(`<html lang="${language}">`))
        assert.match(text, words)
      }
    })

    test('Missing fields are left out, and the others are shown as text', async () => {
      await reimport((s) => change(s.users, 'plain', { givenName: '<b>Bo</b>', familyName: "O'Neill & Co" }))
      const { card } = await cardOf(emailOf('plain'))
      const { text } = await look(card)
      assert.ok(text.includes('&lt;b&gt;Bo&lt;/b&gt; O&#39;Neill &amp; Co'))
      assert.doesNotMatch(text, /null|Student number/)
    })

    test('After five minutes it has expired, and shows nobody any more', async () => {
      const { card } = await cardOf('ada.byron@school.example')
      service.clock.advance(5 * minute - 1_000)
      assert.deepEqual(await verdict(card), [200, 'active'])
      service.clock.advance(1_000)
      assert.deepEqual(await verdict(card), [200, 'expired'])
      assert.doesNotMatch((await look(card)).text, /Byron|S100/)
    })

    test('It says so when the student is suspended, and when the student is back', async () => {
      const { card, userId } = await cardOf(emailOf('locked'))
      await service.app.parts.support.suspend(userId, 'a test', byOperator)
      assert.deepEqual(await verdict(card), [200, 'inactive'])
      await service.app.parts.support.reactivate(userId, null, byOperator)
      assert.deepEqual(await verdict(card), [200, 'active'])
    })

    test('It says so when the student has left the roster', async () => {
      const { card } = await cardOf(emailOf('leaver'))
      await reimport((s) => drop(s, 'leaver'))
      assert.deepEqual(await verdict(card), [200, 'inactive'])
    })

    test('Anything that is not a card of ours is none, with 404 and a page, and counts against the network', async () => {
      const { card, access, userId } = await cardOf(emailOf('mover'))
      const others: [name: string, card: string][] = [
        ['nothing', ''],
        ['a word', 'x'],
        ['a guess', newId()],
        ['another letter', card.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A'))],
        [
          'another case',
          card.replace(/[a-z]/i, (one) =>
            one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase(),
          ),
        ],
        ['the hash of a card', createHash('sha256').update(card).digest('base64url')],
        ['the student’s id', userId],
        ['an access token', access],
        ['more after it', `${card}/x`],
        ['a very long one', 'x'.repeat(8_000)],
      ]
      for (const [name, other] of others) {
        assert.deepEqual(await verdict(other), [404, 'none'], name)
        const { headers, text } = await look(other)
        assert.equal(headers.get('content-type'), 'text/html; charset=utf-8', name)
        assert.doesNotMatch(text, /mover/, name)
      }
      const network = freshNetwork()
      const left = async (path: string) =>
        Number(/;r=(\d+)/.exec((await look(path, network)).headers.get('ratelimit')!)![1])
      assert.equal((await left(newId())) - (await left(newId())), 1)
      const posted = await look(card, {}, 'POST')
      assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
      const head = await look(card, {}, 'HEAD')
      assert.deepEqual([head.status, head.text], [200, ''])
    })

    test('It is worth nothing as a credential, wherever one is taken', async () => {
      const { card } = await cardOf('ada.byron@school.example')
      const { json: document } = await service.request('/openapi.json')
      for (const [path, item] of Object.entries<Record<string, { security?: object[] }>>(document.paths)) {
        for (const [method, { security }] of Object.entries(item)) {
          if (security?.length === 0) continue
          const where = path.replaceAll(/\{\w+\}/g, 'x')
          const reply = await service.request(where, {
            method: method.toUpperCase(),
            token: card,
            headers: freshNetwork(),
          })
          assert.deepEqual(outcome(reply), [401, 'invalid-token'], `${method} ${path}`)
        }
      }
      const refreshed = await service.post('/session/refresh', { refresh_token: card })
      assert.deepEqual(outcome(refreshed), [401, 'invalid-token'])
      const email = freshAddress('card')
      const sent = await service.post('/veterinarian/send-otp', { email, device_token: card })
      assert.equal(sent.status, 202)
      const answer = { email, otp_code: 123456, sessionId: sent.json.sessionId }
      assert.equal((await service.post('/veterinarian/validate-otp', answer)).status, 401)
      const cookie = cookieOf({ headers: new Headers({ 'set-cookie': `chiron_refresh=${card}` }) } as Reply)
      const renewed = await service.request('/portal/refresh', { method: 'POST', headers: { cookie } })
      assert.deepEqual(outcome(renewed), [401, 'invalid-token'])
      assert.equal((await service.request(`/calendar/${card}.ics`)).status, 404)
    })

    test('It is for students alone', async () => {
      const { access } = await service.signIn(freshAddress('vet'), freshNetwork())
      const other = await service.request('/student/me/card', { token: access })
      assert.deepEqual(outcome(other), [403, 'forbidden'])
      assert.deepEqual(outcome(await service.request('/student/me/card')), [401, 'unauthenticated'])
    })

    test('Neither log nor store holds a card, whatever happens', async () => {
      const { card } = await cardOf('ada.byron@school.example')
      for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'])
        for (const path of [card, `${card}?x`, `${card}/x`, `${card}%zz`, `${card}%00`])
          await look(path, {}, method)
      const { db } = service.app.parts
      const { one } = db
      db.one = async () => {
        throw new Error('out of order')
      }
      assert.equal((await look(card)).status, 500)
      db.one = one
      const log = service.log.join('')
      assert.match(log, /"route":"\/c\/\*"/)
      assert.ok(!log.includes(card))
      assert.deepEqual(
        (await storeCells(service)).filter(({ value }) => value.includes(card)),
        [],
      )
    })

    test('The four verdicts differ in words, sign and shape', async () => {
      const { card, userId } = await cardOf('ada.byron@school.example')
      const looks = async () => {
        const { text } = await look(card)
        return /<div class="verdict (\w+)"><span class="sign" aria-hidden="true">(.)<\/span>/
          .exec(text)
          ?.slice(1)
      }
      assert.deepEqual(await looks(), ['active', '✓'])
      await service.app.parts.support.suspend(userId, 'a test', byOperator)
      assert.deepEqual(await looks(), ['inactive', '✕'])
      await service.app.parts.support.reactivate(userId, null, byOperator)
      service.clock.advance(5 * minute)
      assert.deepEqual(await looks(), ['expired', '!'])
      assert.match((await look('qX7-b_c9dEfGhIjKlMnOpQ')).text, /<div class="verdict none">/)
    })

    test('An expired card is remembered for a day, and of each student the last fifty', async () => {
      const { card, access } = await cardOf('ada.byron@school.example')
      service.clock.advance(24 * 60 * minute)
      await service.app.parts.sweeper.sweep()
      assert.deepEqual(await verdict(card), [200, 'expired'])
      service.clock.advance(6 * minute)
      await service.app.parts.sweeper.sweep()
      assert.deepEqual(await verdict(card), [404, 'none'])
      const fresh = await cardOf('ada.byron@school.example')
      const later: string[] = []
      for (let i = 0; i < 50; i++) {
        service.clock.advance(1_000)
        const reply = await service.request('/student/me/card', { token: fresh.access })
        later.push(reply.json.card)
      }
      assert.deepEqual(await verdict(fresh.card), [404, 'none'])
      for (const each of [later[0]!, later.at(-1)!]) assert.deepEqual(await verdict(each), [200, 'active'])
      const { json } = await service.request('/student/me/card', { token: access })
      assert.equal(json.code, 'invalid-token')
    })
  })
}
