/** Veterinarians who are teachers on the roster: their classes, and who is in them. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { byOperator } from '../src/platform/lib/by.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { addClass, addUser, change, drop, dropClass, enrol } from './support/roster-school.ts'
import { onRead, signInStudent } from './support/roster-world.ts'
import type { Reply, Service } from './support/service.ts'
import { type ServedSchool, schoolOfSuite } from './support/student-school.ts'

const path = '/veterinarian/me/classes'
const emailOf = (name: string) => `${name}@school.example`
const titles = (reply: Reply): string[] => reply.json.classes.map((entry: { title: string }) => entry.title)
const names = (entry: { students: { firstname: string }[] }) =>
  entry.students.map(({ firstname }) => firstname)

for (const engine of engines) {
  suite(`Teachers who are veterinarians on ${engine}`, () => {
    let service: Service
    let importedAt: string
    let reimport: ServedSchool['reimport']
    let undo: ServedSchool['undo']
    schoolOfSuite(engine, ['zoe', 'leaver', 'moving'], (served) => {
      ;({ service, importedAt, reimport, undo } = served)
    })
    const signIn = async (email: string) => (await service.signIn(email, freshNetwork())).access
    const get = (token: string, query = '') => service.request(`${path}${query}`, { token })

    test('A class is as its students see it, without an enrolment and with the students', async () => {
      const token = await signIn('Tea-1@SCHOOL.example')
      const reply = await get(token)
      assert.equal(reply.status, 200)
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      const student = await signInStudent(service, 'ada.byron@school.example')
      const seen = await service.request('/student/me/classes', { token: student.access })
      const { enrolment: _, ...anatomy } = seen.json.classes.find(
        ({ title }: { title: string }) => title === 'Anatomy A',
      )
      const ada = {
        firstname: 'Ada',
        lastname: 'Byron',
        preferredName: 'Addie',
        pronouns: 'she/her',
        email: 'Ada.Byron@school.example',
        startDate: null,
        endDate: null,
      }
      assert.deepEqual(reply.json, { classes: [{ ...anatomy, students: [ada] }] })
      assert.equal(anatomy.updatedAt, importedAt)
      assert.doesNotMatch(reply.text, /S100|hunter2/)
    })

    test('It is read in one statement', async () => {
      const token = await signIn(emailOf('tea-1'))
      const statements: string[] = []
      const restore = onRead(service.app.parts.db, (sql) => void statements.push(sql))
      await get(token)
      restore()
      assert.equal(statements.filter((sql) => sql.includes('roster_user')).length, 1)
      assert.equal(
        statements.filter((sql) => /roster_record|roster_enrolment|(from|join) student\b/.test(sql)).length,
        1,
      )
    })

    test('Who teaches nothing gets 204: a stranger, a student, a teacher without classes', async () => {
      await reimport((s) => addUser(s, 'tea-9', 'teacher'))
      for (const email of [freshAddress('vet'), emailOf('zoe'), 'ada.byron@school.example', emailOf('tea-9')])
        for (const when of ['', '?when=all']) {
          const reply = await get(await signIn(email), when)
          assert.deepEqual([reply.status, reply.text], [204, ''], email)
        }
    })

    test('Classes are listed by when, as for students, by the dates of the teacher if there are any', async () => {
      await reimport((s) => {
        addUser(s, 'tea-4', 'teacher')
        const teach = (id: string, cells: Record<string, string> = {}) => {
          addClass(s, id, { title: id })
          enrol(s, 'tea-4', id, { role: 'teacher', ...cells })
        }
        teach('now')
        teach('again', { beginDate: '2026-09-01', endDate: '2026-09-30' })
        s.enrollments.set('again-2', {
          ...s.enrollments.get('again-tea-4')!,
          beginDate: '2026-11-01',
          endDate: '',
        })
        teach('before', { endDate: '2026-10-01' })
        teach('after', { beginDate: '2026-12-01' })
      })
      const token = await signIn(emailOf('tea-4'))
      const table: [query: string, expected: string[]][] = [
        ['', ['now', 'again']],
        ['?when=current', ['now', 'again']],
        ['?when=past', ['before', 'again']],
        ['?when=upcoming', ['after']],
        ['?when=all', ['before', 'now', 'again', 'after']],
      ]
      for (const [query, expected] of table)
        assert.deepEqual(titles(await get(token, query)), expected, query)
      const wrong = await get(token, '?when=now')
      assert.deepEqual(
        [wrong.status, wrong.json.code, wrong.json.errors[0].parameter],
        [400, 'invalid-request', 'when'],
      )
    })

    test('Students come by name, with the dates of their enrolment, and only those of the current roster', async () => {
      await reimport((s) => {
        addUser(s, 'tea-5', 'teacher')
        addClass(s, 'lab', { title: 'Lab' })
        enrol(s, 'tea-5', 'lab', { role: 'teacher' })
        enrol(s, 'zoe', 'lab', { beginDate: '2026-09-01', endDate: '2026-11-20' })
        enrol(s, 'leaver', 'lab')
        enrol(s, 'ada', 'lab')
        enrol(s, 'tea-1', 'lab', { role: 'aide' })
      })
      const token = await signIn(emailOf('tea-5'))
      const students = async () => (await get(token)).json.classes[0].students
      const [ada, leaver, zoe, ...more] = await students()
      assert.deepEqual([ada.firstname, leaver.firstname, zoe.firstname, more], ['Ada', 'leaver', 'zoe', []])
      assert.deepEqual([zoe.startDate, zoe.endDate], ['2026-09-01', '2026-11-20'])
      await reimport((s) => change(s.users, 'leaver', { enabledUser: 'false' }))
      assert.deepEqual((await students()).length, 2)
      await reimport((s) => drop(s, 'zoe'))
      assert.deepEqual(names((await get(token)).json.classes[0]), ['Ada'])
      const { userId } = await signInStudent(service, 'ada.byron@school.example')
      await service.app.parts.support.suspend(userId, 'a test', byOperator)
      assert.deepEqual(
        names((await get(token)).json.classes[0]),
        ['Ada'],
        'suspended, and still in the class',
      )
      await service.app.parts.support.reactivate(userId, null, byOperator)
    })

    test('It ends when the teacher leaves the class, is disabled, gets another address, or the class goes', async () => {
      const leave: [how: string, edit: Parameters<ServedSchool['reimport']>[0]][] = [
        ['leaves the class', (s) => void s.enrollments.delete('end-tea-6')],
        ['is disabled', (s) => change(s.users, 'tea-6', { enabledUser: 'false' })],
        ['has another address', (s) => change(s.users, 'tea-6', { email: emailOf('other') })],
        ['has none', (s) => change(s.users, 'tea-6', { email: '' })],
        ['is no teacher there', (s) => change(s.enrollments, 'end-tea-6', { role: 'aide' })],
        ['the class goes', (s) => dropClass(s, 'end')],
      ]
      const token = await signIn(emailOf('tea-6'))
      for (const [how, edit] of leave) {
        await reimport((s) => {
          addUser(s, 'tea-6', 'teacher')
          addClass(s, 'end', { title: 'End' })
          enrol(s, 'tea-6', 'end', { role: 'teacher' })
          enrol(s, 'moving', 'end')
        })
        assert.deepEqual(titles(await get(token)), ['End'], how)
        await reimport(edit)
        assert.equal((await get(token, '?when=all')).status, 204, how)
      }
    })

    test('Whoever changes the address keeps the classes, and whoever takes the old one gets none', async () => {
      const teach = async (id: string) => {
        await reimport((s) => {
          addUser(s, id, 'teacher')
          addClass(s, `of-${id}`, { title: `Of ${id}` })
          enrol(s, id, `of-${id}`, { role: 'teacher' })
        })
        return [`Of ${id}`]
      }
      const moved = async (token: string, email: string) => {
        const post = (path: string, body: object) =>
          service.request(`/veterinarian/me/email${path}`, {
            method: 'POST',
            token,
            body,
            headers: freshNetwork(),
          })
        const { sessionId, reference } = (await post('', { email })).json
        const { code } = await service.mail.mailWith(email, reference)
        assert.equal((await post('/confirm', { otp_code: code, sessionId })).status, 200)
      }
      const byHelpDesk = async (userId: string, email: string) => {
        const action = { by: byOperator, note: null, now: service.clock.now() }
        const { veterinarians } = service.app.parts
        const person = await veterinarians.findAccount(
          (
            await service.rows<{ email_key: string }>('select email_key from person where id = $1', [userId])
          )[0]!.email_key,
        )
        await veterinarians.changeAddress(person!, { email, key: email }, action)
      }

      const own = await teach('tea-10')
      const first = await service.signIn(emailOf('tea-10'), freshNetwork())
      const [second, third] = [freshAddress('second'), freshAddress('third')]
      await moved(first.access, second)
      assert.deepEqual(titles(await get(first.access)), own)
      const other = await signIn(emailOf('tea-10'))
      assert.equal((await get(other)).status, 204, 'somebody else at the old address')
      await moved(other, freshAddress('elsewhere'))
      assert.equal((await get(other)).status, 204, 'nor after moving on')

      await byHelpDesk(first.userId, third)
      const again = await signIn(third)
      assert.deepEqual(titles(await get(again)), own, 'also by the help desk, and twice')
      await reimport((s) => change(s.users, 'tea-10', { familyName: 'Renamed' }))
      assert.deepEqual(titles(await get(again)), own, 'an import changes nothing')
      const { json } = await service.request('/veterinarian/me/export', { token: again })
      assert.deepEqual(
        json.classes.map(({ title }: { title: string }) => title),
        own,
      )

      await reimport((s) => change(s.users, 'tea-10', { email: emailOf('successor') }))
      assert.equal((await get(again)).status, 204, 'the roster gives the teacher to another address')
      assert.deepEqual(titles(await get(await signIn(emailOf('successor')))), own)
      await undo()
      assert.deepEqual(titles(await get(again)), own, 'undone')
      await reimport((s) => change(s.users, 'tea-10', { email: third }))
      assert.deepEqual(titles(await get(again)), own, 'the roster has followed')
      await undo()
      await service.request('/veterinarian/me', { method: 'DELETE', token: again })
      assert.deepEqual(await service.rows('select sourced_id from teacher_link'), [], 'closed')
    })

    test('A change of address that fails links nobody', async () => {
      const [taken, email] = [freshAddress('taken'), emailOf('tea-1')]
      await signIn(taken)
      const { veterinarians } = service.app.parts
      await signIn(email)
      const person = (await veterinarians.findAccount(email))!
      const action = { by: byOperator, note: null, now: service.clock.now() }
      await assert.rejects(veterinarians.changeAddress(person, { email: taken, key: taken }, action))
      assert.deepEqual(await service.rows('select sourced_id from teacher_link'), [])
    })

    test('An international domain is the same however the roster writes it', async () => {
      await reimport((s) => {
        addUser(s, 'tea-7', 'teacher', { email: 'Ines@klinik-müller.example' })
        addClass(s, 'idn', { title: 'Far away' })
        enrol(s, 'tea-7', 'idn', { role: 'teacher' })
      })
      assert.deepEqual(titles(await get(await signIn('ines@klinik-müller.example'))), ['Far away'])
    })

    test('The export has the classes, and no student', async () => {
      const token = await signIn(emailOf('tea-1'))
      const { classes } = (await get(token, '?when=all')).json
      const { json, text } = await service.request('/veterinarian/me/export', { token })
      assert.deepEqual(
        json.classes,
        classes.map(({ students: _, ...entry }: { students: object[] }) => entry),
      )
      assert.doesNotMatch(text, /Byron/)
    })

    test('It is for veterinarians who are signed in', async () => {
      const { access } = await signInStudent(service, 'ada.byron@school.example')
      assert.equal((await get(access)).status, 403)
      assert.equal((await service.request(path)).status, 401)
    })
  })
}
