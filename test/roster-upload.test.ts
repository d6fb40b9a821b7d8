/** The roster for staff: uploading, looking at what would change, importing and undoing over HTTP. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { Staff } from '../src/identity/staff/staff.ts'
import type { Db } from '../src/platform/db/db.ts'
import { openDb } from '../src/platform/db/open.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { systemClock } from '../src/platform/lib/clock.ts'
import { endProcesses, serveStore } from './support/child.ts'
import { atLength, engines, migratedStore } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { childrenOf } from './support/processes.ts'
import { clean12, packZip, without } from './support/roster-files.ts'
import { people } from './support/roster-floods.ts'
import { addUser, bulkFiles, change, drop, edited, newSchool, numbers } from './support/roster-school.ts'
import { contentOf, rosterOf, signInStudent } from './support/roster-world.ts'
import { type Calls, type Reply, type Service, startService, TestClock } from './support/service.ts'
import { type MailServer, startMailServer } from './support/smtp.ts'
import { newStaff, signInStaff } from './support/staff.ts'
import { apply, beginUpload, planPath, upload, whenOver, zipOf } from './support/uploads.ts'
import { eventually } from './support/wait.ts'

const minute = 60_000
const hour = 60 * minute
const mebibyte = 1024 * 1024
const outcome = (reply: Reply) => [reply.status, reply.json?.code]

/** Signed in at a service in another process. */
async function newRegistrar(child: Pick<Calls, 'post'>, db: Db, mail: MailServer) {
  const email = freshAddress('registrar')
  const names = { firstname: 'Grace', lastname: 'Hopper', may: ['registrar'] as const }
  const staff = new Staff({ db, clock: systemClock })
  await staff.add({ email, key: email }, names, byOperator)
  const { json: sent } = await child.post('/staff/send-otp', { email })
  const { code: otp_code } = await mail.mailTo(email)
  const answer = { email, otp_code, sessionId: sent.sessionId }
  const { access_token: token } = (await child.post('/staff/validate-otp', answer)).json
  return { email, token: token as string }
}

const limitsOff = { CHIRON_LIMITS: 'off' }

for (const engine of engines) {
  suite(`Rosters that staff upload, on ${engine}`, atLength, () => {
    const folder = mkdtempSync(join(tmpdir(), 'chiron-plans-'))
    const usual = process.env.TMPDIR
    let service: Service
    let token: string
    let userId: string
    const school = newSchool(20)
    before(async () => {
      process.env.TMPDIR = folder
      service = await startService(engine, { env: limitsOff })
      ;({ access: token, userId } = await newStaff(service, 'registrar'))
    })
    after(async () => {
      await service.stop()
      const left = readdirSync(folder).filter((name) => name.startsWith('chiron-upload-'))
      if (usual === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = usual
      rmSync(folder, { recursive: true, force: true })
      assert.deepEqual(left, [], 'temporary files are removed')
    })

    const get = (path: string) => service.request(path, { token })
    const send = (body: Buffer, query = '') => upload(service, token, body, { query })
    const rowsIn = async (table: string) =>
      (await service.rows<{ n: number }>(`select cast(count(*) as bigint) as n from ${table}`))[0]!.n
    const changesOf = async (planId: string, query = '') =>
      (await get(`${planPath(planId)}/changes${query}`)).json
    /** Signs in again, for what needs a recent sign-in after the clock was moved. */
    const renew = async () => {
      ;({ access: token, userId } = await newStaff(service, 'registrar'))
    }

    test('A file is uploaded, looked at and imported; the plan shows how far it is, and the event who did it', async () => {
      const made = await send(await zipOf(school), '?name=autumn%2Fschool.zip')
      assert.equal(made.status, 202, made.text)
      const plan = made.json
      assert.equal(made.headers.get('location'), planPath(plan.planId))
      assert.equal(made.headers.get('cache-control'), 'no-store')
      assert.deepEqual(
        [plan.state, plan.fileName, plan.createdBy, plan.holds],
        ['ready', 'school.zip', userId, []],
      )
      assert.deepEqual(plan.counts.student, {
        ...{ before: 0, added: 20, changed: 0, leaving: 0, returning: 0, after: 20 },
      })
      assert.equal(await rowsIn('student'), 0, 'nothing has changed yet')
      assert.deepEqual((await get(planPath(plan.planId))).json, plan)

      const begun = await apply(service, token, plan.planId)
      assert.equal(begun.status, 202, begun.text)
      assert.ok(['applying', 'applied'].includes(begun.json.state))
      const done = await whenOver(service, token, plan.planId)
      assert.deepEqual([done.state, done.failure, done.progress], ['applied', null, null])
      assert.equal(await rowsIn('student'), 20)
      for (const table of ['roster_plan_part', 'roster_plan_change'])
        await eventually('what was uploaded is gone', async () => (await rowsIn(table)) === 0)
      assert.deepEqual(await changesOf(plan.planId), { changes: [], next: null })
      assert.equal(
        (await apply(service, token, plan.planId)).json.state,
        'applied',
        'a repeated call does no harm',
      )

      const { json } = await get('/staff/roster/imports')
      const [{ generation, actor, actorName, fileName, current, students }] = json.imports
      assert.deepEqual(
        [generation, actor, actorName, fileName, current],
        [done.generation, userId, 'Grace Hopper', 'school.zip', true],
      )
      assert.equal(students.added, 20)
      const events = await service.rows<{ actor: string; request_id: string | null }>(
        "select actor, request_id from event where type = 'roster.imported'",
      )
      assert.deepEqual(
        events.map((event) => event.actor),
        [userId],
      )
      assert.ok(events[0]!.request_id)
    })

    test('Changes are listed by group and page by page, old beside new', async () => {
      const next = edited(school, (copy) => {
        drop(copy, 'stu-20')
        change(copy.users, 'stu-1', { email: 'new.address@school.example' })
        change(copy.users, 'stu-2', { familyName: 'Married' })
        for (const n of numbers(7)) addUser(copy, `fresh-${n}`, 'student')
      })
      const { json: plan } = await send(await zipOf(next))
      const groups = plan.groups.map(({ group, count }: { group: string; count: number }) => [group, count])
      assert.deepEqual(groups.slice(0, 4), [
        ['leaving', 1],
        ['addresses', 1],
        ['changed', 1],
        ['added', 7],
      ])
      const { changes, next: end } = await changesOf(plan.planId, '?group=addresses')
      assert.equal(end, null)
      assert.deepEqual(
        [changes[0].name, changes[0].before.email, changes[0].after.email],
        ['Given Family stu-1', 'stu-1@school.example', 'new.address@school.example'],
      )
      const all = (await changesOf(plan.planId, '?limit=200')).changes
      assert.equal(
        all.length,
        plan.groups.reduce((sum: number, { count }: { count: number }) => sum + count, 0),
      )
      const paged: unknown[] = []
      for (let after: string | null = ''; after !== null; ) {
        const page: Reply['json'] = await changesOf(plan.planId, `?limit=3${after && `&after=${after}`}`)
        paged.push(...page.changes)
        after = page.next
      }
      assert.deepEqual(paged, all)
      for (const query of ['?after=nonsense', '?limit=0', '?group=nobody'])
        assert.equal((await get(`${planPath(plan.planId)}/changes${query}`)).status, 400, query)
      assert.equal((await service.request(planPath(plan.planId), { method: 'DELETE', token })).status, 204)
      for (const path of [planPath(plan.planId), `${planPath(plan.planId)}/changes`])
        assert.deepEqual(outcome(await get(path)), [404, 'not-found'])
      assert.equal(await rowsIn('roster_plan_part'), 0)
    })

    test('A file that is no roster is a plan that is refused, and says what the file is', async () => {
      const csv = Buffer.from('sourcedId,givenName\n1,Ada\n')
      const bad = await packZip({ ...bulkFiles(school), 'users.csv': 'sourcedId,status\n"a,b\n' })
      const nothing = await packZip(without(bulkFiles(school), 'users.csv', 'classes.csv'))
      const several = [
        [csv, /single CSV file/],
        [Buffer.from('PK\x03\x04 but broken'), /zip/i],
        [bad, /./],
        [nothing, /./],
      ] as const
      for (const [body, expected] of engine === 'sqlite' ? several : several.slice(1, 3)) {
        const { status, json } = await send(body)
        assert.equal(status, 202)
        assert.deepEqual([json.state, json.counts, json.holds], ['refused', {}, []])
        assert.ok(json.errors > 0 && json.findings[0].severity === 'error')
        assert.match(json.findings[0].message, expected)
        assert.deepEqual(outcome(await apply(service, token, json.planId)), [409, 'conflict'])
      }
      await eventually('such files are not kept', async () => (await rowsIn('roster_plan_part')) === 0)
    })

    test('The options of the command are parameters', async () => {
      const next = edited(school, (copy) => change(copy.users, 'stu-3', { email: 'not an address' }))
      const zip = await zipOf(next)
      const refused = (await send(zip)).json
      assert.deepEqual([refused.state, refused.badRows], ['refused', 1])
      const { json } = await send(zip, '?skipBadRows=1&mode=delta&match=number')
      assert.deepEqual([json.state, json.skipsBadRows, json.modes], ['ready', true, ['delta']])
      const lists = { map: [], term: [], dates: null }
      assert.deepEqual(json.options, { mode: 'delta', match: 'number', skipBadRows: 1, ...lists })
      for (const query of ['?mode=both', '?match=name', '?skipBadRows=-1'])
        assert.deepEqual(outcome(await send(zip, query)), [400, 'invalid-request'], query)
      const named = await send(
        zip,
        `?name=${encodeURIComponent(`..\\..\u202e\u001b[31m${'x'.repeat(500)}.zip`)}`,
      )
      assert.match(named.json.fileName, /^\.\.\\u202e\\u001b\[31mx+$/)
      assert.ok(named.json.fileName.length <= 100)
    })

    test('What is held is imported when each point is allowed by name, with a recent sign-in', async () => {
      const next = edited(school, (copy) => {
        for (const n of numbers(6)) drop(copy, `stu-${n}`)
      })
      const { json: plan } = await send(await zipOf(next))
      assert.deepEqual(
        plan.holds.map(({ code }: { code: string }) => code),
        ['leavers'],
      )
      const held = await apply(service, token, plan.planId)
      assert.deepEqual(outcome(held), [400, 'invalid-request'])
      assert.equal(held.json.errors[0].pointer, '#/allow')
      assert.match(held.json.errors[0].detail, /leavers/)
      assert.equal((await apply(service, token, plan.planId, ['leaver'])).status, 400)
      const { refresh } = await newStaff(service, 'registrar')
      service.clock.advance(30 * minute + 1)
      const old = (await service.post('/session/refresh', { refresh_token: refresh })).json.access_token
      assert.deepEqual(outcome(await apply(service, old, plan.planId, ['leavers'])), [
        403,
        'recent-sign-in-required',
      ])
      assert.equal(
        (await apply(service, old, plan.planId)).status,
        400,
        'without allowances it is not asked for',
      )
      await renew()
      assert.equal((await apply(service, token, plan.planId, ['leavers'])).status, 202)
      assert.equal((await whenOver(service, token, plan.planId)).state, 'applied')
      const { imports } = (await get('/staff/roster/imports')).json
      assert.deepEqual([imports[0].allowed, imports[0].students.leaving], [['leavers'], 6])
    })

    test('Going back is shown beforehand and happens exactly, unless something came between', async () => {
      const { roster } = rosterOf(service)
      const { imports } = (await get('/staff/roster/imports')).json
      const first = imports.at(-1)
      assert.deepEqual(
        imports.map((one: { canGoBack: boolean }) => one.canGoBack),
        [false, true],
      )
      const shown = await get(`/staff/roster/undo?to=${first.generation}`)
      assert.equal(shown.status, 200, shown.text)
      assert.deepEqual(shown.json.counts, { leaving: 0, returning: 6, changed: 0 })
      assert.deepEqual(shown.json.undone, [imports[0].generation])
      const back: { operation: string; after: { email: string } }[] = shown.json.changes
      assert.deepEqual(
        back.map(({ operation, after }) => `${operation} ${after.email}`).sort(),
        [1, 2, 3, 4, 5, 6].map((n) => `returning stu-${n}@school.example`),
      )
      const undo = (body?: object) =>
        service.request('/staff/roster/undo', { method: 'POST', token, ...(body && { body }) })
      assert.deepEqual(outcome(await undo()), [400, 'invalid-request'])
      assert.equal((await roster.standing()).generation, imports[0].generation, 'nothing is undone')
      for (const to of [99, imports[0].generation])
        assert.deepEqual(outcome(await undo({ to })), [400, 'invalid-request'])
      assert.equal((await get('/staff/roster/undo?to=99')).json.errors[0].parameter, 'to')
      const between = await undo({ to: first.generation, from: first.generation })
      assert.deepEqual(outcome(between), [409, 'roster-moved-on'])
      const done = await undo({ to: first.generation, from: shown.json.from })
      assert.equal(done.status, 200, done.text)
      assert.equal((await roster.standing()).content, first.generation)
      const { imports: history, canEmpty } = (await get('/staff/roster/imports')).json
      const statusOf = async (to: number) => (await get(`/staff/roster/undo?to=${to}`)).status
      for (const { generation, canGoBack } of history)
        assert.equal(await statusOf(generation), canGoBack ? 200 : 400, `number ${generation}`)
      assert.deepEqual([canEmpty, await statusOf(0)], [true, 200])
      assert.deepEqual(
        [history[0].kind, history[0].generation, history[0].actor],
        ['undo', done.json.generation, userId],
      )
    })

    test('Of two plans the second is refused when the first was imported', async () => {
      const add = (name: string) => edited(school, (copy) => addUser(copy, name, 'student'))
      const [one, two] = [await send(await zipOf(add('one'))), await send(await zipOf(add('two')))]
      assert.equal((await apply(service, token, one.json.planId)).status, 202)
      assert.equal((await whenOver(service, token, one.json.planId)).state, 'applied')
      const late = await apply(service, token, two.json.planId)
      assert.deepEqual(outcome(late), [409, 'roster-moved-on'])
      assert.equal((await get(planPath(two.json.planId))).json.state, 'ready')
    })

    test('Two who import one plan at once import it once', async () => {
      const { json: plan } = await send(
        await zipOf(edited(school, (copy) => addUser(copy, 'twice', 'student'))),
      )
      const before = await rowsIn('roster_generation')
      const replies = await Promise.all(numbers(8).map(() => apply(service, token, plan.planId)))
      assert.deepEqual([...new Set(replies.map(({ status }) => status))], [202])
      assert.equal((await whenOver(service, token, plan.planId)).state, 'applied')
      assert.equal(await rowsIn('roster_generation'), before + 1)
    })

    test('A body of another type, too large, empty or cut off is refused, and nothing of it stays', async () => {
      const zip = await zipOf(school)
      const other = await upload(service, token, zip, {
        headers: { 'content-type': 'application/octet-stream' },
      })
      assert.deepEqual(outcome(other), [415, 'unsupported-media-type'])
      assert.match(other.headers.get('accept') ?? '', /^application\/zip, text\/csv, /)
      assert.equal(other.json.title, 'The body must be zip, CSV or XLSX')
      const json = await service.request('/staff/roster/plans', { token, body: {} })
      assert.deepEqual(outcome(json), [415, 'unsupported-media-type'])
      assert.deepEqual(outcome(await send(Buffer.alloc(0))), [400, 'invalid-request'])
      const large = Buffer.alloc(64 * mebibyte + 1)
      assert.deepEqual(outcome(await send(large)), [413, 'body-too-large'])
      if (engine === 'sqlite') {
        const unannounced = await upload(service, token, large, { chunked: true })
        assert.deepEqual(outcome(unannounced), [413, 'body-too-large'])
      }
      const [plans, parts] = [await rowsIn('roster_plan'), await rowsIn('roster_plan_part')]
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
      socket.write(
        `POST /staff/roster/plans HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/zip\r\nContent-Length: ${3 * mebibyte}\r\n\r\n`,
      )
      socket.write(Buffer.alloc(2 * mebibyte))
      await eventually('a part has arrived', async () => (await rowsIn('roster_plan_part')) > parts)
      socket.destroy()
      await eventually('nothing is left', async () => (await rowsIn('roster_plan')) === plans)
      assert.equal(await rowsIn('roster_plan_part'), parts)
    })

    test('A member of staff keeps five plans, and all are gone after a day', async () => {
      const zip = await zipOf(edited(school, (copy) => addUser(copy, 'five', 'student')))
      const ids: string[] = []
      for (const _ of numbers(6)) {
        ids.push((await send(zip)).json.planId)
        service.clock.advance(1)
      }
      assert.equal((await get(planPath(ids[0]!))).status, 404)
      for (const id of ids.slice(1)) assert.equal((await get(planPath(id))).status, 200)
      service.clock.advance(24 * hour)
      await renew()
      assert.equal((await get(planPath(ids[5]!))).status, 404, 'at once, whether swept or not')
      await service.app.parts.sweeper.sweep()
      for (const table of ['roster_plan', 'roster_plan_part', 'roster_plan_change'])
        assert.equal(await rowsIn(table), 0, table)
    })

    test('A student who leaves by an import at the console is signed out', async () => {
      const { json } = await send(await zipOf(school), '?mode=bulk')
      const allow = json.holds.map(({ code }: { code: string }) => code)
      await apply(service, token, json.planId, allow)
      assert.equal((await whenOver(service, token, json.planId)).state, 'applied')
      const student = await signInStudent(service, 'stu-1@school.example')
      const next = edited(school, (copy) => drop(copy, 'stu-1'))
      const plan = (await send(await zipOf(next))).json
      await apply(service, token, plan.planId)
      assert.equal((await whenOver(service, token, plan.planId)).state, 'applied')
      assert.equal((await service.request('/student/me', { token: student.access })).status, 401)
    })

    test('Others are answered while a roster is read and imported', async () => {
      const zip = await zipOf(newSchool(1_000, 20))
      let over = false
      let answered = 0
      const asking = (async () => {
        while (!over) {
          assert.equal((await service.request('/staff/me', { token, headers: freshNetwork() })).status, 200)
          answered++
        }
      })()
      const asked = async <T>(work: Promise<T>) => {
        const before = answered
        return { result: await work, answers: answered - before }
      }
      const read = await asked(send(zip))
      const { planId, holds, groups } = read.result.json
      const lines = (await get(`${planPath(planId)}/changes.csv`)).text.trim().split('\r\n')
      const changes = groups.reduce((sum: number, { count }: { count: number }) => sum + count, 0)
      assert.ok(changes > 3_000)
      assert.equal(new Set(lines).size, 1 + changes)
      const allow = holds.map(({ code }: { code: string }) => code)
      await apply(service, token, planId, allow)
      const written = await asked(whenOver(service, token, planId))
      over = true
      await asking
      assert.equal(written.result.state, 'applied')
      for (const { answers } of [read, written]) assert.ok(answers >= 10, `${answers} answers`)
    })

    test('No log line and no event has a name or an address of the file', async () => {
      const own = service.log.join('\n')
      for (const text of ['@school.example', 'Family', 'school.zip']) assert.ok(!own.includes(text), text)
      const events = JSON.stringify(await service.rows('select data from event'))
      assert.doesNotMatch(events, /@|Family/)
    })
  })

  test(
    `A plan whose process was killed in the middle of its import is imported by another, on ${engine}`,
    atLength,
    async (t) => {
      const store = await migratedStore(engine)
      const mail = await startMailServer()
      const db = openDb(store.url)
      t.after(async () => {
        endProcesses()
        await db.close()
        await mail.close()
        await store.remove()
      })
      const isHalfDone = async () =>
        (await db.all('select id from roster_generation where published_at is null')).length > 0
      const hasSchool = async () =>
        (await db.all('select id from roster_generation where published_at is not null')).length > 0
      const isOver = async (planId: string) =>
        (await db.all("select id from roster_plan where state <> 'applying' and id = $1", [planId])).length >
        0
      /** Returns the plan, also if its import was over before the kill. */
      const killedWhileImporting = async (students: number) => {
        const child = await serveStore(store.url, mail, limitsOff)
        const { token, email } = await newRegistrar(child, db, mail)
        await eventually('the demo school', hasSchool)
        const { planId, holds } = (await upload(child, token, await zipOf(newSchool(students, 20)))).json
        const allow: string[] = holds.map(({ code }: { code: string }) => code)
        assert.equal((await apply(child, token, planId, allow)).status, 202)
        await eventually(
          'the import is under way, or over',
          async () => (await isHalfDone()) || isOver(planId),
        )
        // A machine that loses its power ends them all at once.
        for (const pid of [child.pid, ...childrenOf(child.pid)]) process.kill(pid, 'SIGKILL')
        await child.exited
        return { planId: planId as string, allow, email }
      }
      let students = 1_500
      let killed = await killedWhileImporting(students)
      while (!(await isHalfDone())) {
        students *= 2
        killed = await killedWhileImporting(students)
      }
      const { planId, allow, email } = killed
      const before = await contentOf(db)

      const clock = new TestClock()
      clock.advance(Date.now() - clock.now() + minute)
      const service = await startService(engine, { databaseUrl: store.url, mail, clock, env: limitsOff })
      t.after(() => service.stop())
      const { access } = await signInStaff(service, email)
      const { json: plan } = await service.request(planPath(planId), { token: access })
      assert.deepEqual([plan.state, plan.failure], ['failed', 'stopped'])
      assert.deepEqual(await contentOf(db), before)
      assert.equal((await apply(service, access, planId, allow)).status, 202)
      const done = await whenOver(service, access, planId)
      assert.equal(done.state, 'applied')
      const { content } = (await db.one<{ content: number }>('select content from roster_state'))!
      assert.equal(content, done.generation)
    },
  )

  test(
    `A plan whose process was killed while it was made says so, and can be discarded, on ${engine}`,
    atLength,
    async (t) => {
      const store = await migratedStore(engine)
      const mail = await startMailServer()
      const workers = engine === 'postgres' ? '2' : '1'
      const child = await serveStore(store.url, mail, { ...limitsOff, CHIRON_WORKERS: workers })
      const db = openDb(store.url)
      t.after(async () => {
        await child.end('SIGKILL')
        await db.close()
        await mail.close()
        await store.remove()
      })
      const { token, email } = await newRegistrar(child, db, mail)
      const slow = await packZip({ ...clean12, 'users.csv': people(1_000_000) })
      const begun = await beginUpload(child, token, slow)
      assert.deepEqual([begun.status, begun.json.state], [202, 'planning'], begun.text)
      const { planId } = begun.json
      const progress = async () => (await child.request(planPath(planId), { token })).json.progress?.done
      await eventually('rows are read', async () => (await progress()) > 0)
      await child.end('SIGKILL')

      const clock = new TestClock()
      clock.advance(Date.now() - clock.now() + minute)
      const service = await startService(engine, { databaseUrl: store.url, mail, clock, env: limitsOff })
      t.after(() => service.stop())
      const { access } = await signInStaff(service, email)
      const [listed] = (await service.request('/staff/roster/plans', { token: access })).json.plans
      assert.deepEqual([listed.planId, listed.state, listed.failure], [planId, 'failed', 'stopped'])
      const { json: plan } = await service.request(planPath(planId), { token: access })
      assert.deepEqual(
        [plan.state, plan.failure, plan.roster, plan.progress],
        ['failed', 'stopped', null, null],
      )
      const again = await apply(service, access, planId)
      assert.deepEqual(outcome(again), [409, 'conflict'])
      assert.match(again.json.detail, /Upload the file again/)
      assert.deepEqual((await service.request(`${planPath(planId)}/changes`, { token: access })).json, {
        ...{ changes: [], next: null },
      })
      const gone = await service.request(planPath(planId), { method: 'DELETE', token: access })
      assert.equal(gone.status, 204)
    },
  )

  test(
    `A service that stops gives an import up, and its plan can be imported again, on ${engine}`,
    atLength,
    async (t) => {
      const store = await migratedStore(engine)
      const mail = await startMailServer()
      t.after(async () => {
        await mail.close()
        await store.remove()
      })
      const first = await startService(engine, { databaseUrl: store.url, mail, env: limitsOff })
      const { access } = await newStaff(first, 'registrar')
      const { planId } = (await upload(first, access, await zipOf(newSchool(400, 10)))).json
      assert.equal((await apply(first, access, planId)).status, 202)
      await first.stop()
      const second = await startService(engine, { databaseUrl: store.url, mail, env: limitsOff })
      t.after(() => second.stop())
      const { access: again } = await newStaff(second, 'registrar')
      const { json: plan } = await second.request(planPath(planId), { token: again })
      assert.ok(
        plan.state === 'applied' || (plan.state === 'failed' && plan.failure === 'stopped'),
        plan.state,
      )
      assert.equal((await apply(second, again, planId)).status, 202)
      assert.equal((await whenOver(second, again, planId)).state, 'applied')
    },
  )
}
