/** A student's calendar feed: who creates it, who may read it, and its content. */
import assert from 'node:assert/strict'
import { describe, suite, test } from 'node:test'
import fc from 'fast-check'
import { byOperator } from '../src/platform/lib/by.ts'
import { type CalendarEntry, writeCalendar } from '../src/school/student/calendar.ts'
import { CalendarFeeds } from '../src/school/student/feed.ts'
import { Students } from '../src/school/student/student.ts'
import { anyCharacter } from './support/arbitraries.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { eventsIn, parseCalendar, unescapeText, valueIn } from './support/icalendar.ts'
import { change, dropClass, enrol } from './support/roster-school.ts'
import { signInStudent } from './support/roster-world.ts'
import { outcome, type Reply, type Service } from './support/service.ts'
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
    const create = async (token: string, body?: object): Promise<Reply> => {
      const reply = await service.request(path, { method: 'POST', token, ...(body && { body }) })
      assert.equal(reply.status, 201, reply.text)
      return reply
    }
    const make = async (token: string) => new URL((await create(token)).json.url).pathname
    const list = async (token: string) => (await call(token, 'GET')).json.feeds
    const revoke = (token: string, feedId: string) =>
      service.request(`${path}/${feedId}`, { method: 'DELETE', token })
    const revokeAll = async (token: string) => {
      for (const { feedId } of await list(token)) assert.equal((await revoke(token, feedId)).status, 204)
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
      assert.deepEqual(await list(token), [])
      const made = await create(token, { name: ' My phone ' })
      assert.equal(made.headers.get('cache-control'), 'no-store')
      const createdAt = new Date(service.clock.now()).toISOString()
      const { feedId, url } = made.json
      assert.deepEqual(made.json, { feedId, name: 'My phone', url, createdAt })
      const { port } = new URL(service.url)
      assert.match(url, new RegExp(`^http://localhost:${port}/calendar/[\\w-]{43}\\.ics$`))
      assert.ok(!url.includes(feedId))
      service.clock.advance(1_000)
      const unread = { feedId, name: 'My phone', createdAt, lastReadAt: null }
      assert.deepEqual(await list(token), [unread])
      await read(new URL(url).pathname)
      const lastReadAt = new Date(service.clock.now()).toISOString()
      assert.deepEqual(await list(token), [{ ...unread, lastReadAt }])
      service.clock.advance(10 * 60_000)
      await read(new URL(url).pathname)
      assert.deepEqual(await list(token), [{ ...unread, lastReadAt }], 'noted once an hour')
      await revokeAll(token)
    })

    test('Its name is optional, and an invalid one is refused', async () => {
      const token = await signIn('many')
      assert.equal((await create(token)).json.name, 'Calendar')
      assert.equal((await create(token, {})).json.name, 'Calendar')
      for (const name of ['', '   ', 'x'.repeat(101), 'two\nlines', 7, null]) {
        const reply = await service.request(path, { method: 'POST', token, body: { name } })
        assert.deepEqual(outcome(reply), [400, 'invalid-request'], JSON.stringify(name))
        assert.equal(reply.json.errors[0].pointer, '#/name', JSON.stringify(name))
      }
      await revokeAll(token)
    })

    test('It is text/calendar that nothing keeps and no link betrays, and HEAD answers as GET', async () => {
      const feed = await make(await signIn('ada.byron'))
      const [whole, head] = [await read(feed), await read(feed, 'HEAD')]
      assert.deepEqual([head.status, head.text], [200, ''])
      for (const { headers } of [whole, head]) {
        assert.equal(headers.get('content-type'), 'text/calendar; charset=utf-8')
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.equal(headers.get('referrer-policy'), 'no-referrer')
        assert.equal(headers.get('content-disposition'), 'inline; filename="classes.ics"')
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

    test('It has every class: a short rotation from day to day, a longer class as a note on its first day', async () => {
      const feed = await make(await signIn('ada.byron'))
      const found = await calendar(feed)
      const plain = { location: null, times: [] }
      const note = (from: string, to: string) => ({ ...plain, description: `${from} – ${to}` })
      const teachers = 'Tom Gray, Ann Abel, Bea Abel'
      const anatomy = (from: string, to: string) => ({
        ...{ summary: 'Anatomy A', location: 'Hall 1', times: [] },
        description: `${from} – ${to}\n${teachers}`,
      })
      assert.deepEqual(
        eventsIn(found).map(({ uid: _, ...event }) => event),
        [
          { summary: 'Advisory', ...note('2026-08-17', '2026-12-18'), days: ['20260817', '20260818'] },
          { ...anatomy('2026-08-17', '2026-12-18'), days: ['20260817', '20260818'] },
          { ...anatomy('2027-01-04', '2027-05-28'), days: ['20270104', '20270105'] },
          { summary: 'Bovine rotation', ...plain, description: null, days: ['20260901', '20261002'] },
          { summary: 'Equine rotation', ...plain, description: null, days: ['20261101', '20261201'] },
          { summary: 'Suturing', ...note('2027-01-04', '2027-05-28'), days: ['20270104', '20270105'] },
          { summary: 'Avian rotation', ...plain, description: null, days: ['20270110', '20270121'] },
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

    test('A student has five at most, however many are asked for at once, and each works', async () => {
      const token = await signIn('many')
      const replies = await repeat(20, () => call(token, 'POST'))
      const made = replies.filter(({ status }) => status === 201)
      assert.equal(made.length, 5)
      for (const refused of replies.filter(({ status }) => status !== 201)) {
        assert.deepEqual(outcome(refused), [409, 'conflict'])
        assert.match(refused.json.detail, /already 5 calendar feeds; delete one first/)
      }
      for (const { json } of made) assert.equal((await read(new URL(json.url).pathname)).status, 200)
      const ids = (feeds: { feedId: string }[]) => feeds.map(({ feedId }) => feedId).sort()
      assert.deepEqual(ids(await list(token)), ids(made.map(({ json }) => json)))
      await revokeAll(token)
      assert.deepEqual(await list(token), [])
      assert.equal((await call(token, 'POST')).status, 201)
      await revokeAll(token)
    })

    test('Revoking ends that one alone, once, and nobody else’s', async () => {
      const token = await signIn('many')
      const [first, second] = [await create(token), await create(token)]
      const stranger = await signIn('idle')
      const feedOf = ({ json }: Reply) => new URL(json.url).pathname
      const { feedId } = first.json
      assert.deepEqual(outcome(await revoke(stranger, feedId)), missing)
      assert.equal((await read(feedOf(first))).status, 200)
      const reply = await revoke(token, feedId)
      assert.deepEqual([reply.status, reply.text], [204, ''])
      for (const id of [feedId, 'x', 'A'.repeat(22), '%00'])
        assert.deepEqual(outcome(await revoke(token, id)), missing, id)
      assert.deepEqual(outcome(await read(feedOf(first))), missing)
      assert.equal((await read(feedOf(second))).status, 200)
      assert.equal((await list(token)).length, 1)
      const all = await call(token, 'DELETE')
      assert.deepEqual(
        [...outcome(all), all.headers.get('allow')],
        [405, 'method-not-allowed', 'GET, HEAD, POST'],
      )
      await revokeAll(token)
    })

    test('It does not need the session in which it was made', async () => {
      const token = await signIn('many')
      const feed = await make(token)
      assert.equal((await service.request('/session/all', { method: 'DELETE', token })).status, 204)
      assert.equal((await read(feed)).status, 200)
      assert.deepEqual(outcome(await call(token, 'POST')), [401, 'session-ended'])
    })

    test('An invalid token is 404', async () => {
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
      for (const [method, where] of [
        ['POST', path],
        ['GET', path],
        ['DELETE', `${path}/x`],
      ] as const) {
        const other = await service.request(where, { method, token: access })
        assert.deepEqual(outcome(other), [403, 'forbidden'])
        const anonymous = await service.request(where, { method, headers: freshNetwork() })
        assert.deepEqual(outcome(anonymous), [401, 'unauthenticated'])
      }
    })

    test('A suspended student’s feed is gone until the student is back', async () => {
      const { access, userId } = await signInStudent(service, emailOf('locked'))
      const feed = await make(access)
      await service.app.parts.support.suspend(userId, 'a test', byOperator)
      assert.deepEqual(outcome(await read(feed)), missing)
      await service.app.parts.support.reactivate(userId, null, byOperator)
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
      assert.deepEqual(await list(token), [])
      assert.deepEqual((await service.request('/student/me/export', { token })).json.calendarFeeds, [])
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
      assert.deepEqual(await list(await signIn('undoing')), [])
    })

    test('It ends when the student leaves and comes back under another address', async () => {
      const feed = await make(await signIn('wandering'))
      await reimport((s) => change(s.users, 'wandering', { enabledUser: 'false' }))
      await reimport((s) => change(s.users, 'wandering', { enabledUser: 'true', email: emailOf('wandered') }))
      assert.deepEqual(outcome(await read(feed)), missing)
      assert.deepEqual(await list(await signIn('wandered')), [])
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

    test('The export has every feed by name, and not where it is', async () => {
      const token = await signIn('mover')
      const exported = async () => (await service.request('/student/me/export', { token })).json.calendarFeeds
      assert.deepEqual(await exported(), [])
      const { json } = await create(token, { name: 'Laptop' })
      const { feedId, createdAt } = json
      assert.deepEqual(await exported(), [{ feedId, name: 'Laptop', createdAt, lastReadAt: null }])
    })

    test('A class with meeting times is a weekly event of the school’s time zone, as the student is enrolled', async () => {
      await reimport((s) => {
        change(s.classes, 'anat', { 'metadata.meets': 'Wed 14:00-15:00; Mon 09:00-10:30' })
        enrol(s, 'idle', 'anat', { beginDate: '2026-12-01' })
      })
      const feed = await make(await signIn('idle'))
      const found = await events(feed)
      const dates = found.map(({ times }) =>
        times.map(([from, to]) => `${from.slice(5, 16)} ${to.slice(11, 16)}`),
      )
      assert.deepEqual(dates.slice(0, 2), [
        ['12-07T09:00 10:30', '12-14T09:00 10:30'],
        ['12-02T14:00 15:00', '12-09T14:00 15:00', '12-16T14:00 15:00'],
      ])
      assert.deepEqual(
        dates.slice(2).map((each) => each.length),
        [21, 21],
      )
      await reimport((s) =>
        change(s.classes, 'anat', { 'metadata.meets': 'Wed 15:00-16:00; Mon 09:00-10:30' }),
      )
      const moved = await events(feed)
      assert.deepEqual(
        moved.map(({ uid }) => uid),
        found.map(({ uid }) => uid),
        'the same events, moved',
      )
      assert.equal(moved[1]!.times[0]![0], '2026-12-02T15:00:00.000Z')
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
      await revokeAll(token)
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
    kind: 'rotation',
    title: 'Anatomy',
    terms: [],
    meetings: [],
    location: null,
    teachers: [],
    enrolment: { startDate: '2026-11-01', endDate: '2026-11-30' },
    updatedAt: '2026-11-15T09:00:00.000Z',
    ...fields,
  })
  const now = Date.parse('2026-11-15T09:00:00.123Z')
  const written = (entries: CalendarEntry[], name = 'School', timeZone = 'UTC') =>
    parseCalendar(Buffer.from(writeCalendar({ name, entries, timeZone, now })))
  const days = (fields: Partial<CalendarEntry>) =>
    eventsIn(written([entry(fields)])).map((event) => event.days)
  const term = (termId: string, startDate: string, endDate: string) => ({ termId, startDate, endDate })

  const autumn = term('autumn', '2026-08-17', '2026-12-18')
  const spring = term('spring', '2027-01-04', '2027-05-28')
  const block = term('block', '2026-11-02', '2026-12-13')
  const open = { startDate: null, endDate: null }
  const monday = { day: 'mon', start: '09:00', end: '10:30' } as const
  const spans: [name: string, fields: Partial<CalendarEntry>, expected: string[][]][] = [
    [
      'the first day of each term, if it is longer than six weeks',
      { terms: [autumn, spring], enrolment: open },
      [
        ['20260817', '20260818'],
        ['20270104', '20270105'],
      ],
    ],
    ['six weeks', { terms: [block], enrolment: open }, [['20261102', '20261214']]],
    [
      'six weeks as a practical',
      { kind: 'practical', terms: [block], enrolment: open },
      [['20261102', '20261214']],
    ],
    [
      'the first day of six weeks and a day',
      { enrolment: { startDate: '2026-11-02', endDate: '2026-12-14' } },
      [['20261102', '20261103']],
    ],
    [
      'the first day as a course',
      { kind: 'course', terms: [block], enrolment: open },
      [['20261102', '20261103']],
    ],
    [
      'terms from the day the student came',
      { terms: [autumn, spring], enrolment: { ...open, startDate: '2026-12-10' } },
      [
        ['20261210', '20261219'],
        ['20270104', '20270105'],
      ],
    ],
    [
      'terms to the day the student left',
      { terms: [autumn, spring], enrolment: { ...open, endDate: '2026-08-20' } },
      [['20260817', '20260821']],
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
      { enrolment: { startDate: '9999-12-01', endDate: '9999-12-31' } },
      [['99991201', '99991231']],
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

  const weekly = (fields: Partial<CalendarEntry>, timeZone: string) =>
    eventsIn(written([entry({ enrolment: open, meetings: [monday], ...fields })], 'School', timeZone))
  const ends = (fields: Partial<CalendarEntry>, timeZone = 'UTC') =>
    weekly(fields, timeZone).map(({ times }) => [times.length, times[0]![0], times.at(-1)![0]])

  const weeks: [name: string, fields: Partial<CalendarEntry>, expected: (string | number)[][]][] = [
    [
      'in each term, not in the holidays between',
      { terms: [autumn, spring], enrolment: { startDate: '2026-08-01', endDate: '2027-07-31' } },
      [
        [18, '2026-08-17T09:00:00.000Z', '2026-12-14T09:00:00.000Z'],
        [21, '2027-01-04T09:00:00.000Z', '2027-05-24T09:00:00.000Z'],
      ],
    ],
    [
      'from the first Monday of a term that begins on a Wednesday',
      { terms: [term('late', '2026-09-02', '2026-10-05')] },
      [[5, '2026-09-07T09:00:00.000Z', '2026-10-05T09:00:00.000Z']],
    ],
    [
      'only while the student is enrolled',
      { terms: [autumn], enrolment: { startDate: '2026-09-08', endDate: '2026-09-20' } },
      [[1, '2026-09-14T09:00:00.000Z', '2026-09-14T09:00:00.000Z']],
    ],
    [
      'on the student’s own dates if they lie outside all terms',
      { terms: [autumn], enrolment: { startDate: '2027-06-01', endDate: '2027-06-14' } },
      [[2, '2027-06-07T09:00:00.000Z', '2027-06-14T09:00:00.000Z']],
    ],
    [
      'for some years, if nobody says when it begins and ends',
      { terms: [term('ever', '1900-01-01', '9999-12-31')] },
      [[314, '2024-01-01T09:00:00.000Z', '2029-12-31T09:00:00.000Z']],
    ],
  ]
  for (const [name, fields, expected] of weeks) {
    test(`A class meets ${name}`, () => {
      assert.deepEqual(ends(fields), expected)
    })
  }

  test('A class that never meets while the student is enrolled is shown by its days', () => {
    const fields = { terms: [autumn], enrolment: { startDate: '2026-09-01', endDate: '2026-09-04' } }
    const [event, ...more] = weekly(fields, 'UTC')
    assert.deepEqual([event!.days, event!.times, more], [['20260901', '20260905'], [], []])
  })

  const zones = [
    'Europe/Lisbon',
    'America/New_York',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'Asia/Kolkata',
    'UTC',
    '+05:30',
  ]
  for (const timeZone of zones) {
    test(`A class keeps its time of day when the clocks change in ${timeZone}`, () => {
      const year = term('year', '2026-01-01', '2027-12-31')
      const sunday = { day: 'sun', start: '08:15', end: '23:59' } as const
      const local = new Intl.DateTimeFormat('en-GB', {
        timeZone,
        weekday: 'short',
        hour: '2-digit',
        minute: '2-digit',
      })
      const [mondays, sundays] = weekly({ terms: [year], meetings: [monday, sunday] }, timeZone)
      assert.deepEqual([mondays!.times.length, sundays!.times.length], [104, 104])
      for (const [from, to] of mondays!.times)
        assert.deepEqual(
          [local.format(Date.parse(from)), local.format(Date.parse(to))],
          ['Mon 09:00', 'Mon 10:30'],
        )
      for (const [from, to] of sundays!.times)
        assert.deepEqual(
          [local.format(Date.parse(from)), local.format(Date.parse(to))],
          ['Sun 08:15', 'Sun 23:59'],
        )
    })
  }

  const anyText = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 300 }),
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
    const entries = [entry({ terms: [autumn, spring], enrolment: open, meetings: [monday] })]
    const one = { name: 'School', entries, timeZone: 'Europe/Lisbon', now: 0 }
    assert.equal(writeCalendar(one), writeCalendar(structuredClone(one)))
  })
})
