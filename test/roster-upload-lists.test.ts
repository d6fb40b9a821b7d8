/** Class lists and exports of other systems that staff upload: the same findings as the command, and a mapping. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { listFile, setFrom } from './support/class-lists.ts'
import { atLength, engines } from './support/engines.ts'
import { packZip } from './support/roster-files.ts'
import { bulkFiles, newSchool } from './support/roster-school.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { apply, planPath, upload, whenOver } from './support/uploads.ts'
import { packWorkbook } from './support/workbooks.ts'

const xlsx = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
const outcome = ({ status, json }: Reply) => [status, json?.code]
const header = ['Matricola', 'First name', 'Last name', 'E-mail', 'Class', 'Start date', 'End date']
const rows = [
  ['S1', 'Ada', 'Byron', 'ada@school.example', 'Anatomy', '2026-09-01', '2027-01-31'],
  ['S2', 'Grace', 'Hopper', 'grace@school.example', 'Anatomy', '2026-09-01', '2027-01-31'],
  ['S2', 'Grace', 'Hopper', 'grace@school.example', 'Surgery', '2026-09-01', '2027-01-31'],
  ['S3', 'Mary', 'Ward', 'mary@school.example', 'Surgery', '2026-09-01', '2027-01-31'],
]
const csvOf = (lines: readonly (readonly string[])[]) => lines.map((cells) => cells.join(',')).join('\n')
const list = csvOf([header, ...rows])
const undated = csvOf([header, ...rows].map((cells) => cells.slice(0, 5)))
const canvas = {
  'users.csv':
    'user_id,login_id,first_name,last_name,email,declared_user_type,status\nu1,ada,Ada,Byron,ada@school.example,student,active\n',
  'terms.csv': 'term_id,name,status,start_date,end_date\nT1,Autumn,active,2026-08-17,2026-12-18\n',
  'courses.csv': 'course_id,short_name,long_name,term_id,status\nc1,VET101,Anatomy,T1,active\n',
  'sections.csv': 'section_id,course_id,name,status\ns1,c1,Anatomy A,active\n',
  'enrollments.csv': 'course_id,user_id,role,section_id,status\nc1,u1,student,s1,active\n',
}
const sds = {
  'School.csv': 'SIS ID,Name\n10,School of Veterinary Medicine\n',
  'Section.csv':
    'SIS ID,School SIS ID,Section Name,Term SIS ID,Term Name,Term StartDate,Term EndDate,Course Name\nA1,10,Anatomy A,T1,Autumn,8/17/2026,12/18/2026,Anatomy\n',
  'Student.csv':
    'SIS ID,School SIS ID,Username,First Name,Last Name,Student Number,Status\n1,10,ada@school.example,Ada,Byron,S1,Active\n',
  'StudentEnrollment.csv': 'Section SIS ID,SIS ID\nA1,1\n',
}

for (const engine of engines) {
  suite(`Class lists that staff upload, on ${engine}`, atLength, () => {
    let service: Service
    let token: string
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      token = (await newStaff(service, 'registrar')).access
    })
    after(() => service.stop())

    const send = async (body: Buffer | string, type = 'text/csv', query = ''): Promise<Reply> =>
      upload(service, token, Buffer.from(body as string), { query, headers: { 'content-type': type } })
    const students = async () =>
      (
        await service.rows<{ student_number: string }>(
          `select student_number from student, roster_state where from_gen <= content and (to_gen is null or to_gen > content)
           order by student_number`,
        )
      ).map((row) => row.student_number)

    test('A CSV list is planned and imported; the plan shows how its columns were understood', async () => {
      const {
        status,
        json: plan,
        text,
      } = await send(list, 'text/csv; charset=utf-8', '?name=list.csv&map=number%3DMatricola')
      assert.equal(status, 202, text)
      assert.deepEqual([plan.state, plan.fileName, plan.counts.student.added], ['ready', 'list.csv', 3])
      assert.deepEqual(plan.options.map, ['number=Matricola'])
      const [table] = plan.list.tables
      assert.deepEqual([plan.list.kind, table.rows, table.unused], ['class list', 4, []])
      assert.deepEqual(
        table.mapping.find(({ field }: { field: string }) => field === 'number'),
        { field: 'number', header: 'Matricola', samples: ['S1', 'S2', 'S2'] },
      )
      assert.equal((await apply(service, token, plan.planId)).status, 202)
      const done = await whenOver(service, token, plan.planId)
      assert.deepEqual([done.state, done.list], ['applied', null])
      assert.deepEqual(await students(), ['S1', 'S2', 'S3'])
      const again = (await send(list, 'text/csv', '?map=number%3DMatricola')).json
      assert.deepEqual([again.state, again.groups], ['ready', []], 'the same list changes nothing')
    })

    test('A workbook is taken as one, and also as a zip, which it is', async () => {
      const book = await packWorkbook({ Students: [header, ...rows] })
      for (const type of [xlsx, 'application/zip']) {
        const { json } = await send(book, type, '?map=number%3DMatricola')
        assert.deepEqual(
          [json.state, json.list.tables[0].sheet, json.groups],
          ['ready', 'Students', []],
          type,
        )
      }
    })

    test('A Canvas export and School Data Sync files are taken as a zip; a OneRoster set stays one', async () => {
      for (const [files, kind] of [
        [canvas, 'Canvas export'],
        [sds, 'School Data Sync files'],
      ] as const) {
        const { json } = await send(await packZip(files), 'application/zip')
        assert.deepEqual([json.state, json.list?.kind, json.counts.student.after], ['ready', kind, 1])
      }
      const { json } = await send(await packZip(bulkFiles(newSchool(3))), 'application/zip')
      assert.deepEqual([json.list, json.version], [null, '1.2'])
    })

    test('A list with errors is refused with the findings of the command, and read again as the registrar says', async () => {
      const refused = (await send(undated)).json
      assert.deepEqual([refused.state, refused.sha256, refused.roster !== null], ['refused', null, true])
      const { findings } = await setFrom([listFile('roster.zip', undated)])
      assert.deepEqual(refused.findings, findings)
      assert.ok(findings.some(({ code }) => code === 'missing-term'))
      assert.deepEqual(outcome(await apply(service, token, refused.planId)), [409, 'conflict'])
      const query = '?map=number%3DMatricola&map=email%3DE-mail&term=2026-09-01..2027-01-31&dates=day-first'
      const { json: plan } = await send(undated, 'text/csv', query)
      assert.equal(plan.state, 'ready', JSON.stringify(plan.findings))
      assert.deepEqual(
        [plan.options.map, plan.options.term, plan.options.dates],
        [['number=Matricola', 'email=E-mail'], ['2026-09-01..2027-01-31'], 'day-first'],
      )
      const unknown = (await send('a;b\n1;2\n')).json
      assert.deepEqual([unknown.state, unknown.list.tables], ['refused', []])
      for (const wrong of ['map=number', 'map=shoe%3DSize', 'term=autumn', 'dates=maybe']) {
        const reply = await send(list, 'text/csv', `?${wrong}`)
        assert.deepEqual(outcome(reply), [400, 'invalid-request'], wrong)
        assert.equal(reply.json.errors[0].parameter, wrong.split('=')[0])
      }
    })

    test('A zip that is not a roster is named as the registrar knows it', async () => {
      const zips = {
        'list.zip': await packZip({ 'list.csv': list }),
        'half.zip': (await packZip(canvas)).subarray(0, 200),
      }
      for (const [name, zip] of Object.entries(zips)) {
        const { json } = await send(zip, 'application/zip', `?name=${name}`)
        const [{ file, message }] = json.findings
        assert.deepEqual([json.state, file], ['refused', name])
        assert.doesNotMatch(message, /\/|upload\b(?! that)/)
      }
    })

    test('The samples of a list go with its plan, and are in no log', async () => {
      const { json } = await send(list)
      const kept = async () =>
        JSON.stringify(await service.rows(`select * from roster_plan where id = '${json.planId}'`))
      assert.match(await kept(), /ada@school/)
      await service.request(planPath(json.planId), { method: 'DELETE', token })
      assert.equal(await kept(), '[]')
      assert.ok(!service.log.join('\n').includes('@school.example'))
    })
  })
}
