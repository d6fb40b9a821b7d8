/** A student's calendar feed: who creates it, who may read it, and its content. */
import assert from 'node:assert/strict'
import { describe, suite, test } from 'node:test'
import fc from 'fast-check'
import { byOperator } from '../src/lib/by.ts'
import { type CalendarEntry, writeCalendar } from '../src/student/calendar.ts'
import { CalendarFeeds } from '../src/student/feed.ts'
import { Students } from '../src/student/student.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { eventsIn, parseCalendar, unescapeText, valueIn } from './support/icalendar.ts'
import { change, dropClass, enrol } from './support/roster-school.ts'
import { signInStudent } from './support/roster-world.ts'
import type { Reply, Service } from './support/service.ts'
import { storeCells } from './support/store-text.ts'
import { leavings, type ServedSchool, schoolOfSuite } from './support/student-school.ts'
import { wire } from './support/wire.ts'

const others = [
  'idle',
  'mover',
  'changing',
  'undoing',
  'restored',
  'wandering',
  'early',
  'locked',
  'many',
  'double',
  ...leavings.map(({ name }) => name),
]
const emailOf = (name: string) => `${name}@school.example`
const outcome = (reply: Reply) => [reply.status, reply.json?.code]
const missing = [404, 'not-found']
const path = '/student/me/calendar'

for (const engine of engines) {
  suite(`The calendar feed on ${engine}`, () => {
    let service: Service
    let reimport: ServedSchool['reimport']
    let undo: ServedSchool['undo']
    schoolOfSuite(engine, others, (served) => {
      ;({ service, reimport, undo } = served)
    })

    const signIn = async (name: string) => (await signInStudent(service, emailOf(name))).access
    const call = (token: string, method: string) => service.request(path, { method, token })
    const make = async (token: string): Promise<string> => {
      const reply = await call(token, 'POST')
      assert.equal(reply.status, 201)
      return new URL(reply.json.url).pathname
    }
    const read = (feed: string, method = 'GET') =>
      wire(service.url, feed, { method, headers: freshNetwork() })
    const calendar = async (feed: string) => {
      const reply = await read(feed)
      assert.equal(reply.status, 200)
      return parseCalendar(Buffer.from(reply.text))
    }
    const events = async (feed: string) => eventsIn(await calendar(feed))

    test('A student makes one, and is shown its address that once', async () => {
      const token = await signIn('ada.byron')
      const none = await call(token, 'GET')
      assert.deepEqual([none.status, none.text], [204, ''])
      const made = await call(token, 'POST')
      assert.equal(made.status, 201)
      assert.equal(made.headers.get('cache-control'), 'no-store')
      const createdAt = new Date(service.clock.now()).toISOString()
      assert.deepEqual(made.json, { url: made.json.url, createdAt })
      const { port } = new URL(service.url)
      assert.match(made.json.url, new RegExp(`^http://localhost:${port}/calendar/[\\w-]{43}\\.ics$`))
      service.clock.advance(1_000)
      const there = await call(token, 'GET')
      assert.deepEqual([there.status, there.json], [200, { createdAt }])
    })

    test('It is text/calendar that nothing keeps and no link betrays, and HEAD answers as GET', async () => {
      const feed = await make(await signIn('ada.byron'))
      const [whole, head] = [await read(feed), await read(feed, 'HEAD')]
      assert.deepEqual([head.status, head.text], [200, ''])
      for (const { headers } of [whole, head]) {
        assert.equal(headers.get('content-type'), 'text/calendar; charset=utf-8')
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.equal(headers.get('referrer-policy'), 'no-referrer')
        assert.equal(headers.get('content-disposition'), 'attachment; filename="classes.ics"')
        assert.equal(headers.get('content-length'), String(Buffer.byteLength(whole.text)))
        assert.ok(headers.get('request-id'))
        assert.match(headers.get('ratelimit') ?? '', /^"network";r=1999;/)
      }
      const refused = await read(feed, 'POST')
      assert.deepEqual(
        [...outcome(refused), refused.headers.get('allow')],
        [405, 'method-not-allowed', 'GET, HEAD'],
      )
    })

    test('It has every class: a term each, or the student’s own dates, with place and teachers', async () => {
      const feed = await make(await signIn('ada.byron'))
      const found = await calendar(feed)
      const plain = { location: null, description: null }
      const anatomy = {
        summary: 'Anatomy A',
        location: 'Hall 1',
        description: 'Tom Gray, Ann Abel, Bea Abel',
      }
      assert.deepEqual(
        eventsIn(found).map(({ uid: _, ...event }) => event),
        [
          { summary: 'Advisory', ...plain, days: ['20260817', '20261219'] },
          { ...anatomy, days: ['20260817', '20261219'] },
          { ...anatomy, days: ['20270104', '20270529'] },
          { summary: 'Bovine rotation', ...plain, days: ['20260901', '20261002'] },
          { summary: 'Equine rotation', ...plain, days: ['20261101', '20261201'] },
          { summary: 'Suturing', ...plain, days: ['20270104', '20270529'] },
          { summary: 'Avian rotation', ...plain, days: ['20270110', '20270121'] },
        ],
      )
      const text = (name: string) => valueIn(found, name)
      assert.deepEqual(
        [text('VERSION'), text('METHOD'), text('REFRESH-INTERVAL')],
        ['2.0', 'PUBLISH', 'PT6H'],
      )
      assert.equal(unescapeText(text('X-WR-CALNAME')!), 'School of Veterinary Medicine')
      const stamp = new Date(service.clock.now()).toISOString().replace(/[-:]|\.\d+/g, '')
      assert.equal(valueIn(found.components[0]!, 'DTSTAMP'), stamp)
      assert.doesNotMatch((await read(feed)).text, /@|Byron|S100|Addie|hunter2/)
    })

    test('A student without classes has a calendar without events', async () => {
      const feed = await make(await signIn('idle'))
      assert.deepEqual(await events(feed), [])
    })

    test('It follows the roster, and an event that moves stays the same event', async () => {
      const feed = await make(await signIn('ada.byron'))
      const before = await events(feed)
      await reimport((s) => {
        change(s.classes, 'rot-now', { title: 'Equine rotation, part 1', location: 'Stable; east' })
        change(s.enrollments, 'rot-now-ada', { beginDate: '2026-11-08', endDate: '2026-12-06' })
        dropClass(s, 'prac')
      })
      const moved = await events(feed)
      const now = moved.find((event) => event.summary === 'Equine rotation, part 1')!
      assert.deepEqual([now.days, now.location], [['20261108', '20261207'], 'Stable; east'])
      assert.equal(now.uid, before.find((event) => event.summary === 'Equine rotation')!.uid)
      const kept = before.filter((event) => event.summary !== 'Suturing').map((event) => event.uid)
      assert.deepEqual(moved.map((event) => event.uid).sort(), kept.sort())
    })

    test('Two enrolments in one class are two events, and no two students share one', async () => {
      await reimport((s) => {
        enrol(s, 'double', 'rot-now', { beginDate: '2026-11-01', endDate: '2026-11-07' })
        const again = {
          ...s.enrollments.get('rot-now-double')!,
          beginDate: '2026-11-20',
          endDate: '2026-11-27',
        }
        s.enrollments.set('rot-now-double-again', again)
      })
      const twice = await events(await make(await signIn('double')))
      assert.deepEqual(
        twice.map((event) => event.days),
        [
          ['20261101', '20261108'],
          ['20261120', '20261128'],
        ],
      )
      const ada = await events(await make(await signIn('ada.byron')))
      const uids = [...twice, ...ada].map((event) => event.uid)
      assert.equal(new Set(uids).size, uids.length)
    })

    test('Making another ends the one before', async () => {
      const token = await signIn('many')
      const first = await make(token)
      const second = await make(token)
      assert.notEqual(first, second)
      assert.deepEqual(outcome(await read(first)), missing)
      assert.equal((await read(second)).status, 200)
      const feeds = await repeat(20, () => make(token))
      const alive = await Promise.all(feeds.map(async (feed) => (await read(feed)).status))
      assert.deepEqual(alive.sort(), [200, ...Array(19).fill(404)])
    })

    test('Revoking ends it, as often as asked, and nobody else’s', async () => {
      const token = await signIn('many')
      const feed = await make(token)
      const other = await make(await signIn('idle'))
      for (let i = 0; i < 2; i++) {
        const reply = await call(token, 'DELETE')
        assert.deepEqual([reply.status, reply.text], [204, ''])
      }
      assert.deepEqual(outcome(await read(feed)), missing)
      assert.equal((await call(token, 'GET')).status, 204)
      assert.equal((await read(other)).status, 200)
    })

    test('It does not need the session in which it was made', async () => {
      const token = await signIn('many')
      const feed = await make(token)
      assert.equal((await service.request('/session/all', { method: 'DELETE', token })).status, 204)
      assert.equal((await read(feed)).status, 200)
      assert.deepEqual(outcome(await call(token, 'POST')), [401, 'session-ended'])
    })

    test('Anything that is no token is 404', async () => {
      const feed = await make(await signIn('many'))
      const token = feed.slice('/calendar/'.length, -'.ics'.length)
      const flipped = (token[0] === 'A' ? 'B' : 'A') + token.slice(1)
      for (const wrong of [
        `${flipped}.ics`,
        `${'A'.repeat(43)}.ics`,
        `${token.slice(1)}.ics`,
        `${token}A.ics`,
        `${token}.ics/`,
        `${token}.ICS`,
        `${token}.ics.ics`,
        `${token}`,
        `${token}%00.ics`,
        `%20${token}.ics`,
        `${'a'.repeat(300)}.ics`,
        '.ics',
        '%zz.ics',
        '',
      ]) {
        const reply = await read(`/calendar/${wrong}`)
        assert.deepEqual(outcome(reply), missing, wrong)
        assert.ok(!reply.text.includes(token), wrong)
      }
    })

    test('It is for students alone', async () => {
      const { access } = await service.signIn(freshAddress('vet'), freshNetwork())
      for (const method of ['POST', 'GET', 'DELETE']) {
        assert.deepEqual(outcome(await call(access, method)), [403, 'forbidden'])
        const anonymous = await service.request(path, { method, headers: freshNetwork() })
        assert.deepEqual(outcome(anonymous), [401, 'unauthenticated'])
      }
    })

    test('A suspended student’s feed is gone until the student is back', async () => {
      const { access, userId } = await signInStudent(service, emailOf('locked'))
      const feed = await make(access)
      await service.app.parts.desk.suspend(userId, 'a test', byOperator)
      assert.deepEqual(outcome(await read(feed)), missing)
      await service.app.parts.desk.reactivate(userId, null, byOperator)
      assert.equal((await read(feed)).status, 200)
    })

    const departures = leavings.filter(({ name }) => name !== 'silent')
    for (const { how, name, leave, comeBack } of departures) {
      test(`The feed of a student who ${how} is gone until the student is back`, async () => {
        const feed = await make(await signIn(name))
        await reimport(leave)
        assert.deepEqual(outcome(await read(feed)), missing)
        await reimport(comeBack)
        assert.equal((await read(feed)).status, 200)
      })
    }

    const moveTo = (id: string, name: string) =>
      reimport((s) => change(s.users, id, { email: name && emailOf(name) }))

    test('It ends when an import changes the student’s address, and one made under the new address works', async () => {
      const feed = await make(await signIn('changing'))
      await reimport((s) => change(s.users, 'changing', { givenName: 'Another' }))
      assert.equal((await read(feed)).status, 200)
      await moveTo('changing', 'changed')
      assert.deepEqual(outcome(await read(feed)), missing)
      const token = await signIn('changed')
      assert.equal((await call(token, 'GET')).status, 204)
      assert.equal((await service.request('/student/me/export', { token })).json.calendar, null)
      const second = await make(token)
      assert.equal((await read(second)).status, 200)
      await moveTo('changing', 'changing')
      for (const one of [feed, second]) assert.deepEqual(outcome(await read(one)), missing)
    })

    test('It ends when an undo changes the student’s address, and none comes back', async () => {
      const untouched = await make(await signIn('restored'))
      const first = await make(await signIn('undoing'))
      await moveTo('restored', 'mistaken')
      await undo()
      assert.deepEqual(outcome(await read(untouched)), missing)
      assert.equal((await read(first)).status, 200)
      await moveTo('undoing', 'undone')
      const second = await make(await signIn('undone'))
      await undo()
      for (const one of [first, second]) assert.deepEqual(outcome(await read(one)), missing)
      assert.equal((await call(await signIn('undoing'), 'GET')).status, 204)
    })

    test('It ends when the student leaves and comes back under another address', async () => {
      const feed = await make(await signIn('wandering'))
      await reimport((s) => change(s.users, 'wandering', { enabledUser: 'false' }))
      await reimport((s) => change(s.users, 'wandering', { enabledUser: 'true', email: emailOf('wandered') }))
      assert.deepEqual(outcome(await read(feed)), missing)
      assert.equal((await call(await signIn('wandered'), 'GET')).status, 204)
    })

    test('It ends when the student loses the address', async () => {
      const { leave } = leavings.find(({ name }) => name === 'silent')!
      const feed = await make(await signIn('silent'))
      await reimport(leave)
      assert.deepEqual(outcome(await read(feed)), missing)
    })

    test('One asked for before a change of address and made after it does not work', async () => {
      const { userId } = await signInStudent(service, emailOf('early'))
      const [row] = await service.rows<{ content: number }>('select content from roster_state')
      await moveTo('early', 'late')
      const { db } = service.app.parts
      const feeds = new CalendarFeeds({
        db,
        clock: service.clock,
        students: new Students({ db, clock: service.clock, timeZone: 'UTC' }),
      })
      const caller = { id: userId, role: 'student', status: 'active', roster: row!.content } as const
      const { token } = await feeds.make(caller)
      assert.deepEqual(outcome(await read(`/calendar/${token}.ics`)), missing)
    })

    test('The export says when it was made, and not where it is', async () => {
      const token = await signIn('mover')
      const exported = async () => (await service.request('/student/me/export', { token })).json.calendar
      assert.equal(await exported(), null)
      await make(token)
      assert.deepEqual(await exported(), { createdAt: new Date(service.clock.now()).toISOString() })
    })

    test('Neither log nor store nor events hold a token or an address of a feed, whatever happens', async () => {
      const token = await signIn('many')
      const before = (await service.rows('select id from event')).length
      const feed = await make(token)
      const secret = feed.slice('/calendar/'.length, -'.ics'.length)
      const paths = [
        feed,
        `${feed}?x`,
        `${feed}/x`,
        `${feed}%zz`,
        `/calendar/${secret}`,
        `${feed}${'a'.repeat(300)}`,
      ]
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS'])
        for (const one of paths) await read(one, method)
      await wire(service.url, feed, { headers: { ...freshNetwork(), 'api-version': '9', referer: feed } })
      const { db } = service.app.parts
      const { one } = db
      db.one = async () => {
        throw new Error('out of order')
      }
      const broken = await read(feed)
      db.one = one
      assert.equal(broken.status, 500)
      await call(token, 'DELETE')
      await read(feed)
      const log = service.log.join('')
      assert.match(log, /"route":"\/calendar\/:feedToken\.ics"/)
      assert.match(log, /out of order/)
      for (const part of [secret, secret.slice(0, 16), secret.slice(-16)]) {
        assert.ok(!log.includes(part))
        assert.deepEqual(
          (await storeCells(service)).filter(({ value }) => value.includes(part)),
          [],
        )
      }
      assert.equal((await service.rows('select id from event')).length, before)
    })
  })
}

describe('iCalendar', () => {
  const entry = (fields: Partial<CalendarEntry> = {}): CalendarEntry => ({
    key: 'student enrolment class',
    title: 'Anatomy',
    terms: [],
    location: null,
    teachers: [],
    enrolment: { startDate: '2026-11-01', endDate: '2026-11-30' },
    updatedAt: '2026-11-15T09:00:00.000Z',
    ...fields,
  })
  const written = (entries: CalendarEntry[], name = 'School') =>
    parseCalendar(Buffer.from(writeCalendar({ name, entries, now: Date.parse('2026-11-15T09:00:00.123Z') })))
  const days = (fields: Partial<CalendarEntry>) =>
    eventsIn(written([entry(fields)])).map((event) => event.days)
  const term = (termId: string, startDate: string, endDate: string) => ({ termId, startDate, endDate })

  const autumn = term('autumn', '2026-08-17', '2026-12-18')
  const spring = term('spring', '2027-01-04', '2027-05-28')
  const open = { startDate: null, endDate: null }
  const spans: [name: string, fields: Partial<CalendarEntry>, expected: string[][]][] = [
    [
      'each term, without dates of the student’s own',
      { terms: [autumn, spring], enrolment: open },
      [
        ['20260817', '20261219'],
        ['20270104', '20270529'],
      ],
    ],
    [
      'terms from the day the student came',
      { terms: [autumn, spring], enrolment: { ...open, startDate: '2026-12-18' } },
      [
        ['20261218', '20261219'],
        ['20270104', '20270529'],
      ],
    ],
    [
      'terms to the day the student left',
      { terms: [autumn, spring], enrolment: { ...open, endDate: '2026-12-24' } },
      [['20260817', '20261219']],
    ],
    [
      'the student’s own dates, whatever the terms say',
      { terms: [autumn], enrolment: { startDate: '2026-12-10', endDate: '2027-01-05' } },
      [['20261210', '20270106']],
    ],
    [
      'one day',
      { enrolment: { startDate: '2028-02-29', endDate: '2028-02-29' } },
      [['20280229', '20280301']],
    ],
    [
      'to the end of the year',
      { enrolment: { startDate: '2026-12-01', endDate: '2026-12-31' } },
      [['20261201', '20270101']],
    ],
    [
      'to the last day there is',
      { enrolment: { startDate: '2026-12-01', endDate: '9999-12-31' } },
      [['20261201', '99991231']],
    ],
    ['nothing without an end', { enrolment: { ...open, startDate: '2026-12-01' } }, []],
    [
      'nothing that ends before it begins',
      { enrolment: { startDate: '2026-12-02', endDate: '2026-12-01' } },
      [],
    ],
  ]
  for (const [name, fields, expected] of spans) {
    test(`A class spans ${name}`, () => {
      assert.deepEqual(days(fields), expected)
    })
  }

  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.string({
      unit: fc.constantFrom('\\', ';', ',', '\n', '\r', '\t', ' ', 'é', '漢', '🐎', '\0'),
      maxLength: 300,
    }),
  )
  /** What a reader gets of a text: line ends are one, other control characters are gone. */
  const kept = (text: string) => text.replace(/\r\n?/g, '\n').replace(/(?![\t\n])\p{Cc}/gu, '')

  test('Any text comes back whole, in lines of at most 75 octets that break no character', () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, anyText, (title, location, firstname, name) => {
        const teachers = [{ firstname, lastname: 'Gray' }]
        const calendar = written([entry({ title, location, teachers })], name)
        const [event] = eventsIn(calendar)
        assert.equal(event!.summary, kept(title))
        assert.equal(event!.location, kept(location))
        assert.equal(event!.description, kept(`${firstname} Gray`))
        assert.equal(unescapeText(valueIn(calendar, 'X-WR-CALNAME')!), kept(name))
      }),
      { numRuns: 500 },
    )
  })

  test('Characters of every width fold at every place', () => {
    for (const character of ['a', 'é', '漢', '🐎', ',']) {
      for (let length = 0; length < 160; length++) {
        const title = 'x'.repeat(length % 7) + character.repeat(length)
        assert.equal(eventsIn(written([entry({ title })]))[0]!.summary, title)
      }
    }
  })

  test('No text can end its line and begin another', () => {
    const title = 'x\r\nEND:VEVENT\r\nBEGIN:VEVENT\nATTACH:https://evil.example\r'
    const calendar = written([entry({ title })])
    assert.equal(calendar.components.length, 1)
    assert.equal(eventsIn(calendar)[0]!.summary, title.replace(/\r\n?/g, '\n'))
  })

  test('The same day gives the same text', () => {
    const one = { name: 'School', entries: [entry({ terms: [autumn, spring], enrolment: open })], now: 0 }
    assert.equal(writeCalendar(one), writeCalendar(structuredClone(one)))
  })
})
