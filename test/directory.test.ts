/** What services read of the roster. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Db, statement } from '../src/platform/db/db.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { newId } from '../src/platform/lib/random.ts'
import {
  classesChanged,
  classesInOrder,
  enrolmentsChanged,
  enrolmentsInOrder,
  studentsChanged,
  studentsInOrder,
} from '../src/school/directory/store.ts'
import { holdCodes, Roster } from '../src/school/roster/roster.ts'
import { addClient, clientToken, serviceToken } from './support/applications.ts'
import { engines } from './support/engines.ts'
import {
  addClass,
  addUser,
  bulk,
  change,
  drop,
  dropClass,
  edited,
  enrol,
  newSchool,
  type School,
} from './support/roster-school.ts'
import { publishes, rosterOf, signInStudent, studentsNow, watched } from './support/roster-world.ts'
import { outcome, type Reply, type Service, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { leavings, studentSchool } from './support/student-school.ts'

type Query = Record<string, string>
const lists = ['students', 'classes', 'enrolments'] as const
type List = (typeof lists)[number]

for (const engine of engines) {
  suite(`The directory on ${engine}`, () => {
    let service: Service
    let token: string
    let school: School
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      token = await serviceToken(service, await addClient(service, { kind: 'service' }), 'roster.read')
      const others = ['zoe', 'yara', ...leavings.map(({ name }) => name)]
      school = studentSchool(others)
      for (const name of others) enrol(school, name, 'anat')
      await rosterOf(service).import(bulk(school))
    })
    after(() => service.stop())

    const get = (list: List, query: Query = {}, headers: Record<string, string> = {}) =>
      service.request(`/roster/${list}?${new URLSearchParams(query)}`, { token, headers })
    const page = async (list: List, query: Query = {}): Promise<Reply['json']> => {
      const reply = await get(list, query)
      assert.equal(reply.status, 200, reply.text)
      return reply.json
    }
    /** Everything, page by page. `between` runs after each page. */
    const readAll = async (list: List, query: Query = {}, between = async () => {}) => {
      const entries: Reply['json'][] = []
      for (let after: string | null = null; ; ) {
        const { [list]: some, next } = await page(list, { ...query, ...(after !== null && { after }) })
        entries.push(...some)
        if (next === null) return entries
        after = next
        await between()
      }
    }
    const reimport = async (edit: (school: School) => void) => {
      service.clock.advance(1_000)
      school = edited(school, edit)
      await rosterOf(service).import(bulk(school))
    }
    const undo = async () => {
      service.clock.advance(1_000)
      await rosterOf(service).undo()
    }
    /** A moment later, for `updatedSince`. */
    const later = () => {
      service.clock.advance(1_000)
      return { updatedSince: new Date(service.clock.now()).toISOString() }
    }
    const idOf = async (sourcedId: string) => (await studentsNow(service.app.parts.db))[sourcedId]!
    const userIds = (entries: Reply['json'][]) => entries.map(({ userId }) => userId).sort()
    const statuses = async (query: Query) =>
      Object.fromEntries((await readAll('students', query)).map(({ userId, status }) => [userId, status]))
    /** `title` of the class and last name of the student. */
    const enrolled = async (query: Query = {}) => {
      const titles = new Map((await readAll('classes')).map(({ classId, title }) => [classId, title]))
      const names = new Map((await readAll('students')).map(({ userId, lastname }) => [userId, lastname]))
      const found = await readAll('enrolments', query)
      return found.map(({ classId, userId }) => `${titles.get(classId)}: ${names.get(userId)}`).sort()
    }
    const titlesOf = async (query: Query) =>
      (await readAll('classes', query)).map(({ title }) => title).sort()

    test('A student has exactly the fields of the contract', async () => {
      const { students, next, generation } = await page('students', { limit: '1000' })
      const userId = await idOf('ada')
      const ada = students.find((student: { userId: string }) => student.userId === userId)
      assert.deepEqual(ada, {
        userId,
        number: 'S100',
        firstname: 'Ada',
        lastname: 'Byron',
        preferredName: 'Addie',
        email: 'Ada.Byron@school.example',
        year: 4,
        school: { schoolId: ada.school.schoolId, name: 'School of Veterinary Medicine' },
        status: 'active',
        updatedAt: '2026-11-15T09:00:00.000Z',
      })
      assert.deepEqual([next, generation, students.length], [null, 1, 7])
    })

    test('A class is as its students see it, with fewer fields', async () => {
      const { access } = await signInStudent(service, 'ada.byron@school.example')
      const { json } = await service.request('/student/me/classes?when=all', { token: access })
      const seen = Object.fromEntries(json.classes.map((one: Reply['json']) => [one.classId, one]))
      const found = await readAll('classes')
      assert.equal(found.length, json.classes.length)
      for (const one of found) {
        const { classId, title, code, kind, terms, teachers, meetings, updatedAt } = seen[one.classId]
        assert.deepEqual(one, { classId, title, code, kind, terms, teachers, meetings, updatedAt })
      }
    })

    test('An enrolment names a class and a student of the other lists, and has its own dates', async () => {
      const found = await readAll('enrolments')
      const classes = new Map((await readAll('classes')).map((one) => [one.classId, one.title]))
      const ada = await idOf('ada')
      const rotation = found.find(
        ({ classId, userId }) => classes.get(classId) === 'Equine rotation' && userId === ada,
      )
      assert.deepEqual(rotation, {
        classId: rotation.classId,
        userId: ada,
        startDate: '2026-11-01',
        endDate: '2026-11-30',
        updatedAt: '2026-11-15T09:00:00.000Z',
      })
      const students = userIds(await readAll('students'))
      for (const { classId, userId } of found) {
        assert.ok(classes.has(classId))
        assert.ok(students.includes(userId))
      }
      assert.equal(found.length, 12, 'teachers are not among them')
    })

    test('Pages of any size have everything once', async () => {
      for (const list of lists) {
        const whole = await readAll(list, { limit: '1000' })
        for (const limit of ['1', '3', String(whole.length)])
          assert.deepEqual(await readAll(list, { limit }), whole, `${list} by ${limit}`)
      }
    })

    test('A page has a hundred rows unless more are asked for', async () => {
      const many = newSchool(150)
      const other = await startService(engine)
      try {
        await rosterOf(other).import(bulk(many))
        const scope = await serviceToken(other, await addClient(other, { kind: 'service' }), 'roster.read')
        const counts = []
        for (const query of ['', '?limit=150', '?limit=1000']) {
          const { json } = await other.request(`/roster/students${query}`, { token: scope })
          counts.push([json.students.length, json.next === null])
        }
        assert.deepEqual(counts, [
          [100, false],
          [150, true],
          [150, true],
        ])
      } finally {
        await other.stop()
      }
    })

    test('Nobody is skipped or repeated when imports are published between pages', async () => {
      const standing = userIds(await readAll('students'))
      const enrolments = await enrolled()
      let count = 0
      const between = () => {
        count++
        return reimport((s) => {
          addUser(s, `new-${count}`, 'student', { givenName: 'New' })
          enrol(s, `new-${count}`, 'home')
          change(s.users, 'zoe', { familyName: `Family ${count}` })
          if (count === 2) drop(s, 'new-1')
        })
      }
      const generations = new Set<number>()
      const found = await readAll('students', { limit: '2' }, async () => {
        await between()
        generations.add((await page('students', { limit: '1' })).generation)
      })
      assert.ok(generations.size > 1, 'each reply tells its generation')
      const seen = userIds(found)
      assert.equal(new Set(seen).size, seen.length)
      for (const userId of standing) assert.ok(seen.includes(userId))

      const rows = await readAll('enrolments', { limit: '3' }, between)
      const keys = rows.map(({ classId, userId }) => `${classId} ${userId}`)
      assert.equal(new Set(keys).size, keys.length)
      for (const userId of standing) assert.ok(rows.some((row) => row.userId === userId))
      await reimport((s) => {
        for (const id of [...s.users.keys()]) if (id.startsWith('new-')) drop(s, id)
        change(s.users, 'zoe', { familyName: 'Family zoe' })
      })
      assert.deepEqual(await enrolled(), enrolments)
    })

    for (const { how, name, leave, comeBack } of leavings)
      test(`Somebody who ${how} is told of, and so is their return`, async () => {
        const userId = await idOf(name)
        const gone = later()
        await reimport(leave)
        const isStill = userIds(await readAll('students')).includes(userId)
        const found = await readAll('students', gone)
        assert.deepEqual(userIds(found), [userId])
        assert.equal(found[0].status, isStill ? 'active' : 'inactive')
        if (!isStill) {
          const { status: _, updatedAt, userId: __, ...rest } = found[0]
          assert.ok(updatedAt >= gone.updatedSince)
          assert.deepEqual(new Set(Object.values(rest)), new Set([null]), 'no longer shown to anybody')
        }
        const has = async (query: Query) => userIds(await readAll('enrolments', query)).includes(userId)
        assert.equal(await has({}), isStill)
        const back = later()
        await reimport((s) => {
          comeBack(s)
          if (!isStill) enrol(s, name, 'anat')
        })
        assert.deepEqual(await statuses(back), { [userId]: 'active' })
        assert.equal(await has({}), true)
        assert.equal(await has(back), !isStill, 'the enrolments are new to whoever keeps a copy')
        assert.deepEqual(await statuses(later()), {})
      })

    test('A suspension and its end are told, and the student stays on the list', async () => {
      const userId = await idOf('zoe')
      const { support } = service.app.parts
      for (const [act, status] of [
        ['suspend', 'suspended'],
        ['reactivate', 'active'],
      ] as const) {
        const since = later()
        await support[act](userId, 'a reason', byOperator)
        assert.deepEqual(await statuses(since), { [userId]: status })
        assert.equal((await statuses({}))[userId], status)
      }
    })

    test('Each list tells what several imports and an undo have changed since', async () => {
      const [beforeAll, zoe] = [later(), await idOf('zoe')]
      await reimport((s) => {
        change(s.users, 'zoe', { familyName: 'Zorn' })
        addClass(s, 'extra', { title: 'Extra' })
      })
      const beforeSecond = later()
      await reimport((s) => {
        enrol(s, 'yara', 'extra')
        addUser(s, 'xena', 'student', { familyName: 'Xu' })
        change(s.classes, 'home', { title: 'Advising' })
      })
      const xena = await idOf('xena')
      assert.deepEqual(Object.keys(await statuses(beforeAll)).sort(), [zoe, xena].sort())
      assert.deepEqual(await statuses(beforeSecond), { [xena]: 'active' })
      assert.deepEqual(await titlesOf(beforeAll), ['Advising', 'Extra'])
      assert.deepEqual(await titlesOf(beforeSecond), ['Advising'])
      assert.deepEqual(await enrolled(beforeAll), ['Extra: Family yara'])

      const beforeUndo = later()
      await undo()
      assert.deepEqual(await statuses(beforeUndo), { [xena]: 'inactive' })
      // Nothing tells which rows are back, so all are listed.
      assert.deepEqual(await titlesOf(beforeUndo), await titlesOf({}))
      assert.ok((await titlesOf(beforeUndo)).includes('Advisory'))
      assert.deepEqual(await enrolled(beforeUndo), await enrolled())
      const afterUndo = later()
      for (const list of lists) assert.deepEqual(await readAll(list, afterUndo), [], list)
      // The next import deletes what was undone. Who was new in it is still told of.
      await reimport((s) => {
        drop(s, 'xena')
        dropClass(s, 'extra')
        change(s.classes, 'home', { title: 'Advisory' })
        change(s.users, 'zoe', { familyName: 'Family zoe' })
      })
      assert.equal((await statuses(beforeUndo))[xena], 'inactive')
      assert.deepEqual(await statuses(afterUndo), { [zoe]: 'active' })
    })

    test('A change is told when it is published, although it was written before', async () => {
      const userId = await idOf('yara')
      const { db } = service.app.parts
      const during: Query[] = []
      service.clock.advance(1_000)
      const slow = watched(db, async (statements) => {
        // The last of its rows.
        if (!statements.some(({ sql }) => sql.startsWith('insert into roster_enrolment'))) return
        const since = later()
        during.push(since)
        for (const list of lists) assert.deepEqual(await readAll(list, since), [], list)
        service.clock.advance(1_000)
      })
      school = edited(school, (s) => {
        change(s.users, 'yara', { familyName: 'Young' })
        change(s.classes, 'prac', { title: 'Stitching' })
        enrol(s, 'yara', 'prac')
      })
      const roster = new Roster(slow, service.clock, { rowsPerBatch: 1 })
      await roster.import(await roster.plan(bulk(school)), { allow: holdCodes, by: byOperator })
      const [since] = during
      assert.deepEqual(await statuses(since!), { [userId]: 'active' })
      assert.deepEqual(await titlesOf(since!), ['Stitching'])
      assert.deepEqual(await enrolled(since!), ['Stitching: Young'])
    })

    test('An import that began before a suspension does not hide it', async () => {
      const userId = await idOf('yara')
      const { db, support } = service.app.parts
      let since: Query | undefined
      const slow = watched(db, async (statements) => {
        if (publishes(statements)) throw new Error('killed')
        if (since || !statements.some(({ sql }) => sql.startsWith('update person'))) return
        since = later()
        await support.suspend(userId, 'a reason', byOperator)
      })
      const roster = new Roster(
        {
          ...slow,
          // It never gets to its publication.
          analyze: () => Promise.reject(new Error('killed')),
        },
        service.clock,
      )
      const changed = edited(school, (s) => change(s.users, 'yara', { familyName: 'Yates' }))
      const plan = await roster.plan(bulk(changed))
      await assert.rejects(roster.import(plan, { allow: holdCodes, by: byOperator }), /killed/)
      assert.equal((await statuses(since!))[userId], 'suspended')
      await support.reactivate(userId, null, byOperator)
    })

    test('A correction by hand is told', async () => {
      const userId = await idOf('zoe')
      const since = later()
      const { roster } = rosterOf(service)
      await roster.correct(userId, { email: 'zoe.new@school.example' }, byOperator)
      const found = await readAll('students', since)
      assert.deepEqual(
        found.map(({ userId: id, email }) => [id, email]),
        [[userId, 'zoe.new@school.example']],
      )
      await roster.uncorrect(userId, byOperator)
    })

    test('The enrolments in a class that is back are told', async () => {
      const rows = [...school.enrollments].filter(([, row]) => row.classSourcedId === 'rot-now')
      await reimport((s) => dropClass(s, 'rot-now'))
      const since = later()
      await reimport((s) => {
        s.classes.set('rot-now', studentSchool([]).classes.get('rot-now')!)
        for (const [id, row] of rows) s.enrollments.set(id, row)
      })
      assert.deepEqual(await enrolled(since), ['Equine rotation: Byron'])
    })

    test('A page that has not changed is 304, and any change of it is not', async () => {
      const userId = await idOf('zoe')
      const { support } = service.app.parts
      const changes: Record<List, () => Promise<unknown>> = {
        students: () => support.suspend(userId, 'a reason', byOperator),
        classes: () => reimport((s) => change(s.classes, 'home', { title: 'Homeroom' })),
        enrolments: () => reimport((s) => change(s.enrollments, 'home-ada', { endDate: '2026-12-01' })),
      }
      const queries: Query[] = [{}, { limit: '2' }, { updatedSince: '2026-11-15T00:00:00Z' }]
      for (const list of lists)
        for (const query of queries) {
          const first = await get(list, query)
          const etag = first.headers.get('etag')!
          assert.match(etag, new RegExp(`^W/"${first.json.generation}\\.[\\w-]+"$`))
          assert.equal(first.headers.get('cache-control'), 'no-store')
          const again = await get(list, query, { 'If-None-Match': `"other", ${etag}` })
          assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag])
          assert.equal((await get(list, query, { 'If-None-Match': '"other"' })).status, 200)
        }
      for (const list of lists) {
        const etag = (await get(list, { limit: '1000' })).headers.get('etag')!
        await changes[list]()
        const changed = await get(list, { limit: '1000' }, { 'If-None-Match': etag })
        assert.equal(changed.status, 200, list)
        await reimport((s) => addUser(s, `etag-${list}`, 'student'))
        const second = await get(list, { limit: '1' }, { 'If-None-Match': changed.headers.get('etag')! })
        assert.equal(second.status, 200, 'a new generation is another tag')
      }
      await support.reactivate(userId, null, byOperator)
    })

    test('Many changes are read as few are', async () => {
      const { db } = service.app.parts
      const since = later()
      await reimport((s) => {
        change(s.users, 'zoe', { familyName: 'Zabel' })
        enrol(s, 'zoe', 'prac')
      })
      const few = Object.fromEntries(
        await Promise.all(lists.map(async (list) => [list, await readAll(list, since)])),
      )
      const { content } = (await db.one<{ content: number }>('select content from roster_state'))!
      const count = `with recursive n (i) as (select 1 union all select i + 1 from n where i <= 10001)`
      await db.tx([
        statement(
          `insert into person (id, role, status, created_at, updated_at)
           ${count} select 'many-' || i, 'veterinarian', 'pending', 0, cast($1 as bigint) from n`,
          service.clock.now(),
        ),
        statement(
          `insert into roster_enrolment (sourced_id, from_gen, user_id, class_id, role, is_primary)
           ${count} select 'many-' || i, cast($1 as integer), 'nobody', 'none', 'student', 0 from n`,
          content,
        ),
      ])
      for (const list of lists) {
        assert.deepEqual(await readAll(list, since), few[list], list)
        assert.deepEqual(await readAll(list, { ...since, limit: '1' }), few[list], `${list}, one at a time`)
      }
      await db.tx([
        statement("delete from person where id like 'many-%'"),
        statement("delete from roster_enrolment where sourced_id like 'many-%'"),
      ])
    })

    test('Whatever is not the `next` value of the same list is 400, and so are other bad parameters', async () => {
      const { next } = await page('students', { limit: '1' })
      const bad: [List, Query, string][] = [
        ['students', { after: 'x' }, 'after'],
        ['students', { after: '' }, 'after'],
        ['students', { after: newId() }, 'after'],
        ['students', { after: `${next.slice(0, -2)}AA` }, 'after'],
        ['classes', { after: next }, 'after'],
        ['enrolments', { after: next }, 'after'],
        ['students', { limit: '0' }, 'limit'],
        ['students', { limit: '1001' }, 'limit'],
        ['students', { limit: 'ten' }, 'limit'],
        ['students', { updatedSince: 'yesterday' }, 'updatedSince'],
        ['enrolments', { updatedSince: '2026-02-30T00:00:00Z' }, 'updatedSince'],
        ['students', { updatedsince: '2026-11-15T00:00:00Z' }, 'updatedsince'],
        ['classes', { when: 'all' }, 'when'],
      ]
      for (const [list, query, parameter] of bad) {
        const reply = await get(list, query)
        assert.deepEqual(outcome(reply), [400, 'invalid-request'], JSON.stringify(query))
        assert.equal(reply.json.errors[0].parameter, parameter)
      }
      assert.equal((await service.request('/roster/students?limit=1&limit=2', { token })).status, 400)
    })

    test('Only a token of a service with the scope opens it', async () => {
      const client = await addClient(service, { kind: 'service' })
      const person = await service.signIn('directory@clinic.example')
      const web = await addClient(service, { kind: 'web', scopes: 'openid roster.read' })
      const refused: [name: string, token: string | undefined, status: number, code: string][] = [
        ['nobody', undefined, 401, 'unauthenticated'],
        ['a veterinarian', person.access, 403, 'forbidden'],
        ['a student', (await signInStudent(service, 'zoe@school.example')).access, 403, 'forbidden'],
        ['an admin', (await newStaff(service, 'admin')).access, 403, 'forbidden'],
        ['another scope', await serviceToken(service, client, 'events.read'), 403, 'forbidden'],
        ['a longer scope', await serviceToken(service, client, 'roster.reader'), 403, 'forbidden'],
        ...(await Promise.all(
          ['openid profile', 'openid roster.read'].map(
            async (scope): Promise<[string, string, number, string]> => [
              `a person's token with ${scope}`,
              await clientToken(service, { client: web, scope, role: 'veterinarian', from: person }),
              403,
              'forbidden',
            ],
          ),
        )),
      ]
      for (const list of lists)
        for (const [name, other, status, code] of refused) {
          const reply = await service.request(`/roster/${list}`, other === undefined ? {} : { token: other })
          assert.deepEqual(outcome(reply), [status, code], `${list}: ${name}`)
        }
      const own = await serviceToken(service, client, 'roster.read')
      const ask = async () => (await service.request('/roster/students', { token: own })).status
      assert.equal(await ask(), 200)
      await service.app.parts.db.run('update client set disabled_at = 1 where id = $1', [client.id])
      assert.equal(await ask(), 401)
    })

    test('A service with events.read reads the feed, and nothing else of staff', async () => {
      const client = await addClient(service, { kind: 'service' })
      const events = await serviceToken(service, client, 'events.read')
      const reply = await service.request('/staff/events?types=roster.imported&limit=1', { token: events })
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual(
        reply.json.events.map(({ type }: { type: string }) => type),
        ['roster.imported'],
      )
      for (const path of ['/staff/people', '/staff/overview', '/staff/me', '/session'])
        assert.deepEqual(outcome(await service.request(path, { token: events })), [403, 'forbidden'], path)
      const roster = await serviceToken(service, client, 'roster.read')
      assert.deepEqual(outcome(await service.request('/staff/events', { token: roster })), [403, 'forbidden'])
    })
  })
}

test('Replies show the limit of the service', async () => {
  const service = await startService('sqlite')
  try {
    const client = await addClient(service, { kind: 'service' })
    const tokens = [
      await serviceToken(service, client, 'roster.read'),
      await serviceToken(service, client, 'roster.read'),
    ]
    const left = []
    for (const token of tokens) {
      const { headers } = await service.request('/roster/students', { token })
      assert.match(headers.get('ratelimit-policy')!, /^"service";q=3000;w=\d+$/)
      left.push(/r=(\d+)/.exec(headers.get('ratelimit')!)?.[1])
    }
    assert.deepEqual(left, ['2999', '2998'], 'all tokens of a client count together')
  } finally {
    await service.stop()
  }
})

test('A page is found by an index, wherever it begins', async () => {
  const service = await startService('sqlite')
  try {
    const { db } = service.app.parts
    const stepsOf = async (read: (db: Db) => Promise<unknown>) => {
      let steps: { detail: string }[] = []
      const all: Db['all'] = async (sql, params) => {
        steps = await db.all(`explain query plan ${sql}`, params)
        return db.all(sql, params)
      }
      await read({ ...db, all })
      return steps.map(({ detail }) => detail)
    }
    const place = { after: 'x', limit: 11 }
    const reads: [read: (db: Db) => Promise<unknown>, ...by: RegExp[]][] = [
      [(store) => studentsInOrder(store, place), /^SEARCH s USING PRIMARY KEY \(person_id>\?\)/],
      [(store) => studentsChanged(store, place, 1), /^SEARCH p USING INDEX person_updated/],
      [(store) => classesInOrder(store, place), /^SEARCH c USING .*\(kind=\? AND sourced_id>\?\)/],
      [(store) => classesChanged(store, place, 1), /^SEARCH c USING .*\(kind=\? AND sourced_id>\?\)/],
      [(store) => enrolmentsInOrder(store, place), /^SEARCH e USING .*\(sourced_id>\?\)/],
      [
        (store) => enrolmentsChanged(store, place, 1),
        /^SEARCH e USING .*\(sourced_id=\?\)/,
        /^SEARCH e USING INDEX roster_enrolment_from/,
        /^SEARCH s USING INDEX student_from/,
      ],
    ]
    for (const [read, ...expected] of reads) {
      const steps = await stepsOf(read)
      for (const by of expected)
        assert.ok(
          steps.some((step) => by.test(step)),
          `${by}: ${steps.join('\n')}`,
        )
      const tables = /^SCAN (person|student|roster_record|roster_enrolment|[ceiog])\b/
      assert.deepEqual(
        steps.filter((step) => tables.test(step)),
        [],
      )
    }
  } finally {
    await service.stop()
  }
})
