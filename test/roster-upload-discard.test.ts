/** A plan that is not needed goes at once, what was kept for it in short transactions. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Db } from '../src/platform/db/db.ts'
import { statement } from '../src/platform/db/statement.ts'
import { atLength, engines } from './support/engines.ts'
import { addUser, edited, newSchool } from './support/roster-school.ts'
import { type Service, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { apply, planPath, upload, whenOver, zipOf } from './support/uploads.ts'
import { eventually } from './support/wait.ts'

const tables = ['roster_plan_part', 'roster_plan_change'] as const
const pages = 1_050
const parts = 23

for (const engine of engines)
  suite(`A large plan that is not needed any more, on ${engine}`, atLength, () => {
    let service: Service
    let db: Db
    let token: string
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      db = service.app.parts.db
      token = (await newStaff(service, 'registrar')).access
    })
    after(() => service.stop())

    const school = newSchool(10)
    const send = async () => {
      const { json } = await upload(service, token, await zipOf(school))
      assert.equal(json.state, 'ready')
      return json.planId as string
    }
    const discard = (planId: string) => service.request(planPath(planId), { method: 'DELETE', token })
    const left = async (planId: string) =>
      Promise.all(
        tables.map(
          async (table) => (await db.all(`select 1 from ${table} where plan_id = $1`, [planId])).length,
        ),
      )
    /** Makes the plan look as if it had this many changes, and a file of this many parts. */
    const enlarge = async (planId: string) => {
      const copies = function* () {
        for (let page = 1_000; page < 1_000 + pages; page++)
          yield statement(
            `insert into roster_plan_change (plan_id, place, page, changes, keys)
             select plan_id, place, cast($1 as integer), changes, keys from roster_plan_change
             where plan_id = $2 and page = 0 order by place limit 1`,
            page,
            planId,
          )
        for (let number = 1_000; number < 1_000 + parts; number++)
          yield statement(
            'insert into roster_plan_part (plan_id, number, base64) values ($1, $2, $3)',
            planId,
            number,
            '',
          )
      }
      await db.stage(copies())
    }
    /** How many rows each transaction deletes. */
    const deletions = async (work: () => Promise<unknown>) => {
      const counts: Record<string, number[]> = { roster_plan_part: [], roster_plan_change: [] }
      const { tx } = db
      db.tx = async (statements) => {
        const results = await tx(statements)
        for (const [i, { sql }] of statements.entries())
          for (const table of tables)
            if (sql.includes(`delete from ${table}`)) counts[table]!.push(results[i]!.length)
        return results
      }
      await work()
      db.tx = tx
      return counts
    }
    const assertShort = ({
      roster_plan_part: files,
      roster_plan_change: changes,
    }: Record<string, number[]>) => {
      assert.ok(changes!.every((rows) => rows <= 50) && files!.every((rows) => rows <= 2))
      assert.ok(changes!.some((rows) => rows > 0))
    }

    test('is deleted in short transactions when somebody discards it', async () => {
      const planId = await send()
      await enlarge(planId)
      const counts = await deletions(async () => assert.equal((await discard(planId)).status, 204))
      assertShort(counts)
      assert.deepEqual(await left(planId), [0, 0])
    })

    test('is deleted in short transactions in favour of a newer one', async () => {
      const oldest = await send()
      await enlarge(oldest)
      for (let i = 0; i < 4; i++) {
        service.clock.advance(1)
        await send()
      }
      assert.notDeepEqual(await left(oldest), [0, 0])
      service.clock.advance(1)
      assertShort(await deletions(send))
      assert.deepEqual(await left(oldest), [0, 0])
    })

    test('is not to be seen if its process ends in the middle, and the sweeper deletes the rest', async () => {
      const planId = await send()
      await enlarge(planId)
      const { tx } = db
      let batches = 0
      db.tx = async (statements) => {
        const isDeletion = statements.some(({ sql }) => sql.includes('delete from roster_plan_change'))
        if (isDeletion && ++batches > 3) throw new Error('killed')
        return tx(statements)
      }
      assert.equal((await discard(planId)).status, 204)
      db.tx = tx
      assert.ok((await left(planId))[1]! > pages / 2)
      for (const path of ['', '/changes', '/changes.csv'])
        assert.equal((await service.request(planPath(planId) + path, { token })).status, 404)
      const { plans } = (await service.request('/staff/roster/plans', { token })).json
      assert.ok(plans.every((one: { planId: string }) => one.planId !== planId))
      assertShort(await deletions(() => service.app.parts.sweeper.sweep()))
      assert.deepEqual(await left(planId), [0, 0])
    })

    test('shows no changes from the moment at which it is imported', async () => {
      const next = edited(school, (copy) => addUser(copy, 'one-more', 'student'))
      const { json: plan } = await upload(service, token, await zipOf(next))
      await enlarge(plan.planId)
      const { tx } = db
      db.tx = async (statements) => {
        if (statements.some(({ sql }) => sql.includes('delete from roster_plan_'))) throw new Error('killed')
        return tx(statements)
      }
      await apply(service, token, plan.planId)
      assert.equal((await whenOver(service, token, plan.planId)).state, 'applied')
      const { json } = await service.request(`${planPath(plan.planId)}/changes`, { token })
      assert.deepEqual(json, { changes: [], next: null })
      db.tx = tx
      await eventually('the sweeper has deleted the rest', async () => {
        await service.app.parts.sweeper.sweep()
        return (await left(plan.planId)).every((n) => n === 0)
      })
    })
  })
