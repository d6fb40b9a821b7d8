/** Every column is classified (columns.ts of each group); personal data is exported, and erased when an account closes. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { columns } from '../src/columns.ts'
import { isPersonal, type Personal, type Table } from '../src/platform/db/columns.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { engines } from './support/engines.ts'
import { addPasskey, newAuthenticator, ok } from './support/passkeys.ts'
import { bulk } from './support/roster-school.ts'
import { rosterOf, signInStudent } from './support/roster-world.ts'
import { type Service, startService } from './support/service.ts'
import { studentSchool } from './support/student-school.ts'
import { outboxEmpty } from './support/wait.ts'

interface PersonalColumn {
  readonly table: string
  readonly name: string
  readonly about: Personal
}

const personal: PersonalColumn[] = Object.entries<Table>(columns).flatMap(([table, own]) =>
  Object.entries(own).flatMap(([name, about]) => (isPersonal(about) ? [{ table, name, about }] : [])),
)
/** Tables whose rows are compared with the two exports below. */
const exported: readonly string[] = [
  'person',
  'session',
  'student',
  'roster_enrolment',
  'note',
  'delivery',
  'calendar_feed',
  'passkey',
]
const nameOf = ({ table, name }: PersonalColumn) => `${table}.${name}`

/** The values at a path such as `sessions.device`, also through arrays. */
function valuesAt(json: unknown, path: string): unknown[] {
  return path
    .split('.')
    .reduce<unknown[]>(
      (values, key) => values.flatMap((value) => (value as Record<string, unknown>)?.[key] ?? []),
      [json],
    )
}

for (const engine of engines) {
  suite(`Columns on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine)
    })
    after(() => service.stop())

    const filled = async ({ table, name }: PersonalColumn, where = 'true') => {
      const rows = await service.rows<{ value: string | number }>(
        `select ${name} as value from ${table} where ${name} is not null and cast(${name} as text) <> '' and ${where}`,
      )
      return rows.map(({ value }) => value)
    }

    const assertExported = async (json: unknown, ownedWhere: Partial<Record<string, string>>) => {
      for (const column of personal) {
        const where = ownedWhere[column.table]
        const { export: path } = column.about
        if (where === undefined || typeof path !== 'string') continue
        const stored = await filled(column, where)
        assert.ok(stored.length > 0, `${nameOf(column)} is empty, so nothing was tried`)
        const shown = valuesAt(json, path)
        for (const value of stored) assert.ok(shown.includes(value), `${nameOf(column)} is not at ${path}`)
      }
    }

    test('Every column of every table is classified, and no other', async () => {
      const found = await service.rows<{ name: string }>(
        engine === 'sqlite'
          ? `select t.name || '.' || c.name as name from sqlite_master t join pragma_table_info(t.name) c
             where t.type = 'table' and t.name not like 'sqlite_%'`
          : `select c.table_name || '.' || c.column_name as name from information_schema.columns c
             join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
             where c.table_schema = 'public' and t.table_type = 'BASE TABLE'`,
      )
      const classified = Object.entries(columns).flatMap(([table, each]) =>
        Object.keys(each).map((name) => `${table}.${name}`),
      )
      assert.deepEqual(found.map(({ name }) => name).sort(), classified.sort())
    })

    test('Every column that an export shows is looked at below', () => {
      const others = personal.filter(
        ({ table, about }) => typeof about.export === 'string' && !exported.includes(table),
      )
      assert.deepEqual(others.map(nameOf), [])
    })

    test('The export has all personal data of a student', async () => {
      await rosterOf(service).import(bulk(studentSchool([])))
      const { access, userId } = await signInStudent(service, 'ada.byron@school.example')
      const feed = { method: 'POST', token: access, body: { name: 'My own phone' } }
      assert.equal((await service.request('/student/me/calendar', feed)).status, 201)
      ok(await addPasskey(service, access, newAuthenticator(service)), 201)
      await outboxEmpty(service)
      const { json } = await service.request('/student/me/export', { token: access })
      const [identity] = await service.rows<{ sourced_id: string }>('select sourced_id from student_identity')
      await assertExported(json, {
        student: `person_id = '${userId}'`,
        roster_enrolment: `user_id = '${identity!.sourced_id}'`,
        session: `person_id = '${userId}'`,
        delivery: `person_id = '${userId}'`,
        calendar_feed: `person_id = '${userId}'`,
        passkey: `person_id = '${userId}'`,
      })
    })

    test('The export has all personal data of a veterinarian, and closing the account erases it', async () => {
      const email = 'Theodolinda@clinic.example'
      const names = { firstname: 'Theodolinda', lastname: 'Vandersloot' }
      const { access, userId } = await service.signIn(email, { 'user-agent': 'Firefox/140.0 (Android)' })
      const { db, support, outbox, sweeper } = service.app.parts
      await service.request('/veterinarian/me', { method: 'PATCH', body: names, token: access })
      await support.verify(userId, 'came with a passport', byOperator)
      await db.run(
        "update person set confirm_before = 1, unverified_at = 1, unverified_because = 'name' where id = $1",
        [userId],
      )
      await db.run("insert into teacher_link values ('tea-1', 'tea-1@school.example', $1, 1)", [userId])
      ok(await addPasskey(service, access, newAuthenticator(service)), 201)
      // From here on nothing is applied and no mail goes, so that their rows are there to be erased.
      await sweeper.stop()
      await outbox.stop()
      await service.register(email, names)
      await service.post('/veterinarian/send-otp', { email })
      const elsewhere = { method: 'POST', token: access, body: { email: 'theodolinda@elsewhere.example' } }
      assert.equal((await service.request('/veterinarian/me/email', elsewhere)).status, 202)

      const { json } = await service.request('/veterinarian/me/export', { token: access })
      const own = `person_id = '${userId}'`
      await assertExported(json, {
        person: `id = '${userId}'`,
        session: own,
        note: own,
        delivery: own,
        passkey: own,
      })

      const erased = personal.filter(({ about }) => typeof about.closing === 'string')
      // The student of the test above is still there.
      const ofStudents = "role = 'student'"
      const where = ({ table }: PersonalColumn) =>
        table === 'session' || table === 'passkey'
          ? own
          : table === 'delivery'
            ? `not (${ofStudents})`
            : 'true'
      for (const column of erased)
        assert.ok((await filled(column, where(column))).length > 0, `${nameOf(column)} is empty before`)
      const closed = await service.request('/veterinarian/me', { method: 'DELETE', token: access })
      assert.equal(closed.status, 204)
      for (const column of erased)
        assert.deepEqual(await filled(column, where(column)), [], `${nameOf(column)} was not erased`)
    })
  })
}
