/** Students of an imported roster: sign-in, what they see, and what happens when the roster changes. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { isTake } from '../src/platform/db/decision.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { engines } from './support/engines.ts'
import { freshNetwork } from './support/fresh.ts'
import { addUser, autumn, bulk, change, drop, enrol, type School } from './support/roster-school.ts'
import { answer, onRead, rosterOf, signInStudent, studentCode } from './support/roster-world.ts'
import { type Reply, type Service, serviceFor } from './support/service.ts'
import {
  leavings,
  type ServedSchool,
  schoolOfSuite,
  spring,
  studentSchool,
} from './support/student-school.ts'

const others = ['idle', 'leaver', 'mover', 'both', 'locked', 'switch', 'late', 'disabled', 'silent']
const emailOf = (name: string) => `${name}@school.example`
const opaque = /^[\w-]{22}$/

for (const engine of engines) {
  suite(`Students on ${engine}`, () => {
    let service: Service
    let importedAt: string
    let reimport: ServedSchool['reimport']
    schoolOfSuite(engine, others, (served) => {
      ;({ service, importedAt, reimport } = served)
    })

    const get = (path: string, token: string) => service.request(path, { token })
    const titles = (reply: Reply) => reply.json.classes.map((entry: { title: string }) => entry.title)

    test('A student on the roster signs in with a code and gets the profile with the tokens', async () => {
      const { access, user, userId } = await signInStudent(service, 'ada.byron@SCHOOL.example')
      const me = await get('/student/me', access)
      assert.equal(me.status, 200)
      assert.equal(me.headers.get('cache-control'), 'no-store')
      assert.deepEqual(me.json, user)
      const { school: place, groups } = me.json
      assert.deepEqual(me.json, {
        userId,
        studentNumber: 'S100',
        firstname: 'Ada',
        lastname: 'Byron',
        preferredName: 'Addie',
        pronouns: 'she/her',
        email: 'Ada.Byron@school.example',
        status: 'active',
        year: 4,
        school: { schoolId: place.schoolId, name: 'School of Veterinary Medicine' },
        groups: [
          { classId: groups[0].classId, title: 'Advisory', kind: 'homeroom' },
          { classId: groups[1].classId, title: 'Anatomy A', kind: 'course' },
          { classId: groups[2].classId, title: 'Equine rotation', kind: 'rotation' },
        ],
        updatedAt: importedAt,
      })
      for (const id of [userId, place.schoolId, ...groups.map((g: { classId: string }) => g.classId)])
        assert.match(id, opaque)
    })

    test('Fields missing from the roster are null or empty lists', async () => {
      const { user } = await signInStudent(service, emailOf('idle'))
      const { studentNumber, preferredName, pronouns, year, groups } = user
      assert.deepEqual([studentNumber, preferredName, pronouns, year], [null, null, null, null])
      assert.deepEqual(groups, [])
    })

    test('A class has its course, school, terms, teachers and the student’s own dates', async () => {
      const { access } = await signInStudent(service, 'ada.byron@school.example')
      const { json } = await get('/student/me/classes', access)
      const [home, anatomy, rotation] = json.classes
      assert.deepEqual(anatomy, {
        classId: anatomy.classId,
        code: 'VET101-A',
        title: 'Anatomy A',
        kind: 'course',
        course: { courseId: anatomy.course.courseId, code: 'VET101', title: 'Anatomy' },
        school: { schoolId: anatomy.school.schoolId, name: 'School of Veterinary Medicine' },
        terms: [
          { termId: anatomy.terms[0].termId, title: 'Autumn', ...autumn },
          { termId: anatomy.terms[1].termId, title: 'Spring', ...spring },
        ],
        teachers: [
          { firstname: 'Tom', lastname: 'Gray', email: 'tea-1@school.example', primary: true },
          { firstname: 'Ann', lastname: 'Abel', email: null, primary: false },
          { firstname: 'Bea', lastname: 'Abel', email: 'tea-3@school.example', primary: false },
        ],
        location: 'Hall 1',
        periods: ['1', '2'],
        meetings: [],
        subjects: ['Anatomy', 'Surgery'],
        enrolment: { startDate: null, endDate: null },
        updatedAt: importedAt,
      })
      for (const id of [anatomy.classId, anatomy.course.courseId, anatomy.terms[0]!.termId])
        assert.match(id, opaque)
      assert.deepEqual(home.enrolment, { startDate: autumn.startDate, endDate: null })
      assert.deepEqual(rotation.enrolment, { startDate: '2026-11-01', endDate: '2026-11-30' })
      const { code, location, periods, subjects, teachers } = rotation
      assert.deepEqual([code, location, periods, subjects, teachers], [null, null, [], [], []])
    })

    test('A class has its meeting times, and loses them when the roster has none', async () => {
      const { access } = await signInStudent(service, 'ada.byron@school.example')
      const meetings = async () => (await get('/student/me/classes', access)).json.classes[1].meetings
      await reimport((s) =>
        change(s.classes, 'anat', { 'metadata.meets': 'Wed 14:00-15:00; Mon 09:00-10:30' }),
      )
      assert.deepEqual(await meetings(), [
        { day: 'mon', start: '09:00', end: '10:30' },
        { day: 'wed', start: '14:00', end: '15:00' },
      ])
      await reimport((s) => change(s.classes, 'anat', { 'metadata.meets': 'by appointment' }))
      assert.deepEqual(await meetings(), [])
    })

    test('Classes are listed by when, sorted by start date and then by title', async () => {
      const { access } = await signInStudent(service, 'ada.byron@school.example')
      const current = ['Advisory', 'Anatomy A', 'Equine rotation']
      const upcoming = ['Suturing', 'Avian rotation']
      const table: [query: string, expected: string[]][] = [
        ['', current],
        ['?when=current', current],
        ['?when=upcoming', upcoming],
        ['?when=past', ['Bovine rotation']],
        ['?when=all', ['Advisory', 'Anatomy A', 'Bovine rotation', 'Equine rotation', ...upcoming]],
      ]
      for (const [query, expected] of table) {
        const reply = await get(`/student/me/classes${query}`, access)
        assert.equal(reply.status, 200, query)
        assert.deepEqual(titles(reply), expected, query)
      }
    })

    test('Any other when is refused', async () => {
      const { access } = await signInStudent(service, emailOf('idle'))
      for (const query of ['when=', 'when=now', 'when=Current', 'when=all&when=all', 'when=current,past']) {
        const reply = await get(`/student/me/classes?${query}`, access)
        assert.equal(reply.status, 400, query)
        assert.equal(reply.json.code, 'invalid-request', query)
        const [error] = reply.json.errors
        assert.deepEqual([error.parameter, error.pointer], ['when', undefined], query)
      }
    })

    test('Without classes the answer is 204 and has no body', async () => {
      const { access } = await signInStudent(service, emailOf('idle'))
      for (const when of ['current', 'upcoming', 'past', 'all']) {
        const reply = await get(`/student/me/classes?when=${when}`, access)
        assert.deepEqual([reply.status, reply.text], [204, ''], when)
        assert.equal(reply.headers.get('content-type'), null)
      }
    })

    test('The export holds profile, all classes, sessions and events, and no password', async () => {
      const { access, sessionId, user } = await signInStudent(service, 'ada.byron@school.example')
      const reply = await get('/student/me/export', access)
      assert.equal(reply.status, 200)
      assert.deepEqual(reply.json.profile, user)
      assert.deepEqual(reply.json.classes, (await get('/student/me/classes?when=all', access)).json.classes)
      assert.ok(reply.json.sessions.some((s: { sessionId: string }) => s.sessionId === sessionId))
      const types = reply.json.events.map((event: { type: string }) => event.type)
      assert.ok(types.includes('student.added'))
      assert.ok(types.includes('session.started'))
      assert.ok(!reply.text.includes('hunter2'))
    })

    test('Ids stay the same from one import to the next', async () => {
      const before = await signInStudent(service, 'ada.byron@school.example')
      const ids = async () => {
        const { json } = await get('/student/me/classes?when=all', before.access)
        const classes = json.classes.map(
          (c: { classId: string; course: object; school: object; terms: { termId: string }[] }) => [
            c.classId,
            c.course,
            c.school,
            c.terms.map((t) => t.termId),
          ],
        )
        return [(await get('/student/me', before.access)).json.userId, ...classes]
      }
      const first = await ids()
      await reimport((s) => {
        change(s.users, 'ada', { grades: '5' })
        change(s.classes, 'anat', { location: 'Hall 2' })
      })
      assert.deepEqual(await ids(), first)
      const me = await get('/student/me', before.access)
      assert.equal(me.json.year, 5)
      assert.equal(me.json.updatedAt, new Date(service.clock.now()).toISOString())
    })

    test('Somebody who is not on the roster learns it by mail only', async () => {
      const nobodies: [name: string, email: string][] = [
        ['unknown', emailOf('nobody')],
        ['a teacher', emailOf('tea-1')],
      ]
      for (const [name, email] of nobodies) {
        const { sessionId, code, mail, sent } = await studentCode(service, email)
        assert.deepEqual(
          Object.keys(sent.json),
          ['sessionId', 'reference', 'digits', 'expiresAt', 'resendAt'],
          name,
        )
        assert.equal(code, null, name)
        assert.match(mail.text ?? '', /not on the school’s roster/, name)
        const reply = await answer(service, email, sessionId, null)
        assert.deepEqual([reply.status, reply.json.code], [401, 'otp-incorrect'], name)
        assert.equal(reply.json.attemptsLeft, 4, name)
      }
    })

    test('One address can be a veterinarian and a student: two accounts that never mix', async () => {
      const email = emailOf('both')
      const student = await signInStudent(service, email)
      const veterinarian = await service.signIn(email, freshNetwork())
      assert.notEqual(student.userId, veterinarian.userId)
      const table: [path: string, token: string, status: number][] = [
        ['/student/me', student.access, 200],
        ['/student/me', veterinarian.access, 403],
        ['/student/me/classes', veterinarian.access, 403],
        ['/student/me/export', veterinarian.access, 403],
        ['/veterinarian/me', veterinarian.access, 200],
        ['/veterinarian/me', student.access, 403],
        ['/veterinarian/me/export', student.access, 403],
      ]
      for (const [path, token, status] of table) {
        const reply = await get(path, token)
        assert.equal(reply.status, status, path)
        if (status !== 403) continue
        assert.equal(reply.json.code, 'forbidden')
        assert.equal(reply.headers.get('www-authenticate'), 'Bearer error="insufficient_scope"')
      }
      const code = await service.code(email, freshNetwork())
      const crossed = await answer(service, email, code.sessionId, code.code)
      assert.deepEqual([crossed.status, crossed.json.code], [401, 'otp-unusable'])
      assert.equal(
        (await service.request('/veterinarian/me', { method: 'DELETE', token: veterinarian.access })).status,
        204,
      )
      assert.equal((await get('/student/me', student.access)).status, 200)
    })

    test('A suspended student is signed out, told so by mail, and stays suspended off the roster', async () => {
      const email = emailOf('locked')
      const { access, userId } = await signInStudent(service, email)
      await service.app.parts.support.suspend(userId, 'a test', byOperator)
      const refused = await get('/student/me', access)
      assert.deepEqual([refused.status, refused.json.code], [401, 'session-ended'])
      const { code, mail } = await studentCode(service, email)
      assert.equal(code, null)
      assert.match(mail.text ?? '', /suspended/)
      const locked = studentSchool(others).users.get('locked')!
      await reimport((s) => drop(s, 'locked'))
      await reimport((s) => addUser(s, 'locked', 'student', locked))
      const { support } = service.app.parts
      assert.equal((await support.show(userId)).profile.status, 'suspended')
      assert.ok(await support.reactivate(userId, null, byOperator))
      assert.equal((await signInStudent(service, email)).userId, userId)
    })

    for (const { how, name, leave, comeBack } of leavings) {
      test(`A student who ${how} is signed out at once, and comes back with the same userId`, async () => {
        const email = emailOf(name)
        const { access, refresh, userId, sessionId } = await signInStudent(service, email)
        const waiting = await studentCode(service, email)
        await reimport(leave)
        const refused = await get('/student/me', access)
        assert.deepEqual([refused.status, refused.json.code], [401, 'session-ended'])
        assert.equal((await service.post('/session/refresh', { refresh_token: refresh })).status, 401)
        const ended = await service.rows<{ person_id: string; data: string }>(
          "select person_id, data from event where type = 'session.ended' and session_id = $1",
          [sessionId],
        )
        assert.deepEqual(
          ended.map(({ person_id, data }) => [person_id, data]),
          [[userId, '{"reason":"account"}']],
        )
        const tooLate = await answer(service, email, waiting.sessionId, waiting.code)
        assert.deepEqual([tooLate.status, tooLate.json.code], [401, 'otp-incorrect'])
        const told = name === 'disabled' ? /not enabled/ : /not on the school’s roster/
        assert.match((await studentCode(service, email)).mail.text ?? '', told)
        await reimport(comeBack)
        assert.equal((await get('/student/me', access)).status, 401)
        assert.equal((await signInStudent(service, email)).userId, userId)
      })
    }

    test('A student whose address changes is signed out and signs in with the new one', async () => {
      const { access, userId } = await signInStudent(service, emailOf('mover'))
      await reimport((s) => change(s.users, 'mover', { email: 'moved@school.example' }))
      assert.equal((await get('/student/me', access)).status, 401)
      assert.equal((await studentCode(service, emailOf('mover'))).code, null)
      const moved = await signInStudent(service, 'moved@school.example')
      assert.equal(moved.userId, userId)
      await reimport((s) => change(s.users, 'mover', { email: 'MOVED@school.example' }))
      assert.equal((await get('/student/me', moved.access)).json.email, 'MOVED@school.example')
    })

    test('A code for an old address opens nothing, even if the roster changes while it is checked', async () => {
      const email = emailOf('late')
      const { sessionId, code } = await studentCode(service, email)
      const { db } = service.app.parts
      const { decide } = db
      db.decide = async (...steps) => {
        const isSignIn = steps.some(
          (step) => !isTake(step) && step.asks.some(({ lock }) => lock === 'person'),
        )
        if (!isSignIn) return decide(...steps)
        db.decide = decide
        await reimport((s) => change(s.users, 'late', { email: 'later@school.example' }))
        return decide(...steps)
      }
      const reply = await answer(service, email, sessionId, code)
      assert.equal(db.decide, decide)
      assert.equal(reply.status, 401)
    })
  })

  suite(`An import while a student reads on ${engine}`, () => {
    let served: ServedSchool
    schoolOfSuite(engine, ['mixed'], (school) => {
      served = school
    })

    test('A profile and an export are of one roster, even if an import publishes while they are read', async () => {
      const { service, reimport } = served
      const { access } = await signInStudent(service, emailOf('mixed'))
      let turn = 0
      const next = (s: School) => {
        turn++
        change(s.users, 'mixed', { givenName: `V${turn}`, identifier: `V${turn}`, pronouns: `V${turn}` })
        change(s.classes, 'home', { title: `V${turn}` })
        enrol(s, 'mixed', 'home')
      }
      const { db, sweeper, outbox, uploads, deliverer, backChannel } = service.app.parts
      // From now on, only requests read.
      await Promise.all([sweeper, outbox, uploads, deliverer, backChannel].map((worker) => worker.stop()))
      /** Told of what is read for a page of somebody whose roster is new, and so nowhere kept. */
      const page = async (path: string, told: (sql: string) => Promise<void> | void) => {
        await reimport(next)
        const stop = onRead(db, told)
        const reply = await service.request(path, { token: access })
        stop()
        assert.equal(reply.status, 200)
        return reply.text
      }
      for (const path of ['/student/me', '/student/me/export', '/student/me/classes']) {
        const read = new Set<string>()
        await page(path, (sql) => void read.add(sql))
        const ofRoster = [...read].filter((sql) => /\b(?:from|join) (?:roster_\w+|student)\b/.test(sql))
        assert.ok(ofRoster.length > 0, path)
        for (const statement of ofRoster) {
          let published: Promise<void> | undefined
          const text = await page(path, (sql) => {
            if (sql !== statement || published) return
            published = reimport(next)
            return published
          })
          assert.ok(published, `${path} reads ${statement}`)
          const versions = new Set(text.match(/"V\d+"/g))
          assert.equal(versions.size, 1, `${path}, before ${statement}: ${[...versions]}`)
        }
      }
    })
  })
}

const zones: [zone: string, firstInstant: string, lastInstant: string][] = [
  ['UTC', '2026-11-20T00:00:00.000Z', '2026-11-20T23:59:59.999Z'],
  ['Pacific/Auckland', '2026-11-19T11:00:00.000Z', '2026-11-20T10:59:59.999Z'],
  ['America/Los_Angeles', '2026-11-20T08:00:00.000Z', '2026-11-21T07:59:59.999Z'],
]

for (const engine of engines) {
  for (const [zone, first, last] of zones) {
    test(`A day in ${zone} counts from its first moment to its last, on ${engine}`, async (t) => {
      const service = await serviceFor(t, engine, { env: { CHIRON_TIME_ZONE: zone } })
      const school = studentSchool(['day'])
      enrol(school, 'day', 'rot-now', { beginDate: '2026-11-20', endDate: '2026-11-20' })
      await rosterOf(service).import(bulk(school))
      let { refresh } = await signInStudent(service, emailOf('day'))
      const moments: [at: number, when: string][] = [
        [Date.parse(first) - 1, 'upcoming'],
        [Date.parse(first), 'current'],
        [Date.parse(last), 'current'],
        [Date.parse(last) + 1, 'past'],
      ]
      for (const [at, expected] of moments) {
        service.clock.advance(at - service.clock.now())
        const renewed = await service.post('/session/refresh', { refresh_token: refresh })
        refresh = renewed.json.refresh_token
        assert.equal(renewed.json.user.groups.length, expected === 'current' ? 1 : 0)
        for (const when of ['current', 'upcoming', 'past']) {
          const token = renewed.json.access_token
          const reply = await service.request(`/student/me/classes?when=${when}`, { token })
          assert.equal(reply.status, when === expected ? 200 : 204, `${new Date(at).toISOString()} ${when}`)
        }
      }
    })
  }
}
