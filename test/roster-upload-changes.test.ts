/** What an upload would change, and what an import has changed: found by person, downloaded, and kept with the history. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { spreadsheetLine } from '../src/platform/lib/spreadsheet.ts'
import { atLength, engines } from './support/engines.ts'
import { writeZip } from './support/roster-files.ts'
import { addUser, change, drop, edited, enrol, newSchool, numbers } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { apply, planPath, upload, whenOver, zipOf } from './support/uploads.ts'

const day = 24 * 60 * 60_000
const outcome = ({ status, json }: Reply) => [status, json?.code]

test('A text that a spreadsheet would run is quoted with an apostrophe, a number is not', () => {
  const cells = ['=1+1', '+44', '-5', '@x', '\t=1', ' =1', '＝1', 'a=b', 'say "no"', null]
  assert.equal(
    spreadsheetLine([...cells, -5]),
    `"'=1+1","'+44","'-5","'@x","'\t=1","' =1","'＝1","a=b","say ""no""","","-5"\r\n`,
  )
})

for (const engine of engines) {
  suite(`Changes of uploads and imports, on ${engine}`, atLength, () => {
    let service: Service
    let token: string
    const school = edited(newSchool(20), (copy) => {
      change(copy.users, 'stu-7', { givenName: 'Ada', familyName: 'Lovelace', identifier: 'S-700' })
      change(copy.users, 'stu-8', { givenName: 'Zoë', familyName: 'Ålund' })
    })
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      token = (await newStaff(service, 'registrar')).access
      const { json } = await upload(service, token, await zipOf(school))
      await apply(service, token, json.planId)
      assert.equal((await whenOver(service, token, json.planId)).state, 'applied')
    })
    after(() => service.stop())

    const get = (path: string) => service.request(path, { token })
    const linesOf = ({ changes }: Reply['json']) =>
      changes.map((one: { kind: string; operation: string; name: string }) =>
        [one.kind, one.operation, one.name].join(' '),
      )
    const next = edited(school, (copy) => {
      drop(copy, 'stu-20')
      change(copy.users, 'stu-8', { email: 'zoe@school.example', familyName: '=cmd()' })
      copy.enrollments.delete('class-1-stu-7')
      enrol(copy, 'stu-7', 'class-2')
      for (const n of numbers(250)) addUser(copy, `fresh-${n}`, 'student')
    })

    test('One person is found in a plan by name, number or address, with everything that would happen', async () => {
      const { json: plan } = await upload(service, token, await zipOf(next))
      const path = `${planPath(plan.planId)}/changes`
      const ada = [
        'enrolment added Ada Lovelace in Class class-2',
        'enrolment leaving Ada Lovelace in Class class-1',
      ]
      for (const q of ['ada lovelace', 'LOVELACE', 's-700', 'stu-7@school', 'Lovelace Ada'])
        assert.deepEqual(linesOf((await get(`${path}?q=${encodeURIComponent(q)}`)).json), ada, q)
      const found = await get(`${path}?q=${encodeURIComponent('Zoe ålund')}&group=addresses`)
      assert.deepEqual(linesOf(found.json), ['student changed Zoë =cmd()'])
      assert.deepEqual((await get(`${path}?q=nobody`)).json, { changes: [], next: null })
      const paged: string[] = []
      for (let after = ''; ; ) {
        const { json } = await get(`${path}?q=fresh&limit=60${after}`)
        paged.push(...linesOf(json))
        if (json.next === null) break
        after = `&after=${json.next}`
      }
      const kinds = paged.filter((line) => line.startsWith('student'))
      assert.equal(new Set(kinds).size, 250)
      assert.equal(new Set(paged).size, paged.length)
    })

    test('A page begins where a `next` value of an earlier version says', async () => {
      const { json: plan } = await upload(service, token, await zipOf(next))
      const path = `${planPath(plan.planId)}/changes`
      const added: object[] = []
      for (let after = ''; ; ) {
        const { json } = await get(`${path}?group=added&limit=100${after}`)
        added.push(...json.changes)
        if (json.next === null) break
        after = `&after=${json.next}`
      }
      // Group, page and index; words and a group change nothing about it.
      for (const query of ['', '&group=added', '&q=fresh'])
        assert.deepEqual((await get(`${path}?limit=1&after=4.2.7${query}`)).json, {
          changes: [added[207]],
          next: '4.2.8',
        })
      for (const wrong of ['4.2', '4.x.1', '4.2.7.1', '4.1234567.1'])
        assert.equal((await get(`${path}?after=${wrong}`)).status, 400, wrong)
      const students = await service.rows<{ person_id: string; sourced_id: string }>(
        'select person_id, sourced_id from student order by person_id',
      )
      // Group, and the key of the change before.
      const cursor = (person: string) => `4.${Buffer.from(person).toString('base64url')}`
      const { json: past } = await get(
        `/staff/roster/imports/1/changes?limit=1&after=${cursor(students[5]!.person_id)}`,
      )
      assert.equal(past.changes[0].sourcedId, students[6]!.sourced_id)
      assert.equal(past.next, cursor(students[6]!.person_id))
    })

    test('The changes of a plan download as CSV, whole or as far as asked for, and safe to open', async () => {
      const { json: plan } = await upload(service, token, await zipOf(next))
      const path = `${planPath(plan.planId)}/changes.csv`
      const reply = await get(path)
      assert.equal(reply.status, 200)
      assert.equal(reply.headers.get('content-type'), 'text/csv; charset=utf-8')
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      assert.match(reply.headers.get('content-disposition')!, /^attachment; filename="[\w.-]+"$/)
      const lines = reply.text.split('\r\n')
      assert.match(lines[0]!, /^\ufeff?"operation","kind","name"/)
      const count = plan.groups.reduce((sum: number, one: { count: number }) => sum + one.count, 0)
      assert.equal(lines.length, 1 + count + 1)
      const zoe = lines.find((line) => line.includes('zoe@school.example'))!
      assert.match(zoe, /^"changed","student","Zoë =cmd\(\)"/)
      assert.ok(lines.some((line) => line.includes('lastname: Ålund → =cmd()')))
      for (const line of lines) assert.doesNotMatch(line, /"[=+@-]/)
      const one = (await get(`${path}?q=lovelace`)).text.trim().split('\r\n')
      assert.equal(one.length, 3)
      assert.equal((await get(`${planPath('AAAAAAAAAAAAAAAAAAAAAA')}/changes.csv`)).status, 404)
      const support = await newStaff(service, 'support')
      assert.equal((await service.request(path, { token: support.access })).status, 403)
    })

    test('An import in the history shows what its plan showed, by group, by person and as CSV', async () => {
      const { json: plan } = await upload(service, token, await zipOf(next))
      const planned = (await get(`${planPath(plan.planId)}/changes?limit=200&group=added`)).json.changes
      const allow = plan.holds.map(({ code }: { code: string }) => code)
      await apply(service, token, plan.planId, allow)
      const { generation } = await whenOver(service, token, plan.planId)
      const path = `/staff/roster/imports/${generation}`
      const shown = (await get(path)).json
      assert.deepEqual([shown.changesKept, shown.allowed, shown.actorName], [true, allow, 'Grace Hopper'])
      assert.deepEqual(shown.groups, plan.groups)
      const added: object[] = []
      for (let after = ''; ; ) {
        const { json } = await get(`${path}/changes?limit=100&group=added${after}`)
        added.push(...json.changes)
        if (json.next === null) break
        after = `&after=${json.next}`
      }
      const byId = (some: Reply['json'][]) =>
        some.toSorted((a, b) => (a.sourcedId < b.sourcedId ? -1 : 1)).map((one) => JSON.stringify(one))
      assert.equal(added.length, 250)
      const ids = new Set(planned.map(({ sourcedId }: { sourcedId: string }) => sourcedId))
      assert.deepEqual(byId(added.filter((one: Reply['json']) => ids.has(one.sourcedId))), byId(planned))
      assert.deepEqual(linesOf((await get(`${path}/changes?group=leaving`)).json), [
        'student leaving Given Family stu-20',
      ])
      assert.deepEqual(linesOf((await get(`${path}/changes?q=lovelace`)).json), [
        'enrolment leaving Ada Lovelace in Class class-1',
        'enrolment added Ada Lovelace in Class class-2',
      ])
      const csv = (await get(`${path}/changes.csv`)).text.trim().split('\r\n')
      const count = plan.groups.reduce((sum: number, one: { count: number }) => sum + one.count, 0)
      assert.equal(csv.length, 1 + count)
      const first = (await get(`/staff/roster/imports/${generation - 1}`)).json
      assert.deepEqual(first.groups.slice(0, 1), [{ group: 'added', count: 20, kept: 20 }])
    })

    test('An undo shows what it changed, and what it undid is told until the next import', async () => {
      const { holds } = (await get('/staff/roster/undo')).json
      const allow = holds.map(({ code }: { code: string }) => code)
      const { json: undone } = await service.request('/staff/roster/undo', { token, body: { allow } })
      const { generation } = undone
      const path = `/staff/roster/imports/${generation}`
      assert.deepEqual(linesOf((await get(`${path}/changes?group=returning`)).json), [
        'student returning Given Family stu-20',
      ])
      assert.equal((await get(`/staff/roster/imports/${generation - 1}`)).json.changesKept, true)
      await rosterOf(service).import(writeZip(await zipOf(edited(school, (copy) => drop(copy, 'stu-19')))))
      for (const number of [generation - 1, generation]) {
        const { changesKept, groups } = (await get(`/staff/roster/imports/${number}`)).json
        assert.deepEqual([changesKept, groups], [false, []])
        for (const end of ['changes', 'changes.csv']) {
          const gone = await get(`/staff/roster/imports/${number}/${end}`)
          assert.deepEqual(outcome(gone), [404, 'not-found'])
          assert.match(gone.json.detail, new RegExp(`number ${number} are no longer kept`))
        }
      }
      for (const number of ['99', '0', 'x', '-1', '1e3'])
        assert.deepEqual(outcome(await get(`/staff/roster/imports/${number}`)), [404, 'not-found'])
      for (const query of ['after=nonsense.x.y', 'limit=0', 'group=nobody'])
        assert.equal((await get(`/staff/roster/imports/1/changes?${query}`)).status, 400, query)
    })

    test('Somebody who left and came back returns, also in the history', async () => {
      await rosterOf(service).import(writeZip(await zipOf(school)))
      const [{ generation }] = (await get('/staff/roster/imports')).json.imports
      assert.deepEqual(linesOf((await get(`/staff/roster/imports/${generation}/changes?limit=1`)).json), [
        'student returning Given Family stu-19',
      ])
    })

    test('Pending plans are listed with their owners until they expire or are imported', async () => {
      await service.app.parts.db.run('delete from roster_plan')
      const zip = await zipOf(edited(school, (copy) => addUser(copy, 'pending', 'student')))
      const { json: plan } = await upload(service, token, zip, { query: '?name=pending.zip' })
      const many = edited(school, (copy) => {
        for (const n of numbers(6)) drop(copy, `stu-${n}`)
      })
      const other = await newStaff(service, 'registrar')
      service.clock.advance(1)
      const { json: held } = await upload(service, other.access, await zipOf(many))
      const { plans } = (await get('/staff/roster/plans')).json
      assert.deepEqual(
        plans.map((one: Reply['json']) => [
          one.planId,
          one.state,
          one.createdBy,
          one.createdByName,
          one.holds,
        ]),
        [
          [held.planId, 'ready', other.userId, 'Grace Hopper', ['leavers']],
          [plan.planId, 'ready', plan.createdBy, 'Grace Hopper', []],
        ],
      )
      assert.deepEqual(
        [plans[1].fileName, plans[1].expiresAt, plans[1].students.added, plans[1].progress],
        ['pending.zip', plan.expiresAt, 1, null],
      )
      await apply(service, token, plan.planId)
      await whenOver(service, token, plan.planId)
      assert.equal((await get('/staff/roster/plans')).json.plans.length, 1)
      service.clock.advance(day)
      token = (await newStaff(service, 'registrar')).access
      assert.deepEqual((await get('/staff/roster/plans')).json, { plans: [] })
    })

    test('Only the owner of a plan or an admin discards it', async () => {
      const zip = await zipOf(edited(school, (copy) => addUser(copy, 'owned', 'student')))
      const discard = (planId: string, by: string) =>
        service.request(planPath(planId), { method: 'DELETE', token: by })
      const [other, admin] = [await newStaff(service, 'registrar'), await newStaff(service, 'admin')]
      const one = (await upload(service, token, zip)).json.planId
      const two = (await upload(service, token, zip)).json.planId
      assert.deepEqual(outcome(await discard(one, other.access)), [403, 'forbidden'])
      assert.equal((await get(planPath(one))).status, 200)
      assert.equal((await discard(one, token)).status, 204)
      assert.equal((await discard(two, admin.access)).status, 204)
    })
  })
}
