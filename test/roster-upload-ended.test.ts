/** Uploads that nobody waits for any more, or that are hostile: their work ends, and the next upload is served. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { atLength, engines } from './support/engines.ts'
import { clean12, packZip } from './support/roster-files.ts'
import { oneCellRows, people } from './support/roster-floods.ts'
import { newSchool } from './support/roster-school.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { apply, beginUpload, planPath, upload, zipOf } from './support/uploads.ts'
import { eventually, until } from './support/wait.ts'

const outcome = ({ status, json }: Reply) => [status, json?.code]

for (const engine of engines) {
  suite(`Uploads that end early, on ${engine}`, atLength, () => {
    const folder = mkdtempSync(join(tmpdir(), 'chiron-plans-'))
    const usual = process.env.TMPDIR
    let service: Service
    let token: string
    let slow: Buffer
    let small: Buffer
    before(async () => {
      process.env.TMPDIR = folder
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      token = (await newStaff(service, 'registrar')).access
      // It takes long to read, and longer to compare.
      slow = await packZip({ ...clean12, 'users.csv': people(2_000_000) })
      small = await zipOf(newSchool(5))
    })
    after(async () => {
      await service.stop()
      if (usual === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = usual
      rmSync(folder, { recursive: true, force: true })
    })

    const send = (body: Buffer) => upload(service, token, body)
    const isAtWork = () => readdirSync(folder).some((name) => name.startsWith('chiron-upload-'))
    const plans = () => service.rows<{ id: string; state: string }>('select id, state from roster_plan')
    const start = (length: number): ClientRequest => {
      const { hostname, port } = new URL(service.url)
      const headers = {
        ...{ authorization: `Bearer ${token}`, 'content-type': 'application/zip', 'content-length': length },
      }
      const call = request({ hostname, port, path: '/staff/roster/plans', method: 'POST', headers })
      call.on('error', () => {})
      return call
    }
    const whenAtWork = () => eventually('the file is being read', async () => isAtWork())
    const assertServed = async () => {
      const next = await send(small)
      assert.deepEqual([next.status, next.json.state], [202, 'ready'], next.text)
      assert.equal((await discard(next.json.planId)).status, 204)
      assert.deepEqual(await plans(), [])
      await eventually('the work has ended', async () => !isAtWork())
    }
    const discard = (planId: string) => service.request(planPath(planId), { method: 'DELETE', token })
    const begin = async () => {
      const { status, json, text } = await beginUpload(service, token, slow)
      assert.deepEqual([status, json?.state], [202, 'planning'], text)
      return json.planId as string
    }

    test('A client that goes away before its file has arrived leaves nothing', async () => {
      const call = start(slow.length)
      call.write(slow.subarray(0, slow.length / 2))
      await eventually('a part has arrived', async () => (await plans()).length === 1)
      call.destroy()
      await eventually('the plan no longer exists', async () => (await plans()).length === 0)
      await assertServed()
    })

    test('The reply does not wait for the plan, which shows how many rows were read', async () => {
      const planId = await begin()
      const path = planPath(planId)
      const { json } = await until(
        () => service.request(path, { token }),
        ({ json: plan }) => plan.progress?.done > 0,
      )
      assert.deepEqual(
        [json.state, json.progress.total, json.roster, json.counts],
        ['planning', null, null, {}],
      )
      assert.deepEqual(outcome(await apply(service, token, planId)), [409, 'conflict'])
      assert.equal((await discard(planId)).status, 204)
      assert.equal((await service.request(path, { token })).status, 404)
      await assertServed()
    })

    test('One that is discarded while it waits for its turn never begins', async () => {
      const first = await begin()
      await whenAtWork()
      const second = await begin()
      assert.equal((await discard(second)).status, 204)
      assert.ok(isAtWork(), 'the first is still read')
      assert.equal((await discard(first)).status, 204)
      await assertServed()
    })

    test('A flood of bad rows is a plan that is refused, and says in a sentence why', async () => {
      const flood = await packZip({ ...clean12, 'users.csv': oneCellRows(3_000_000) })
      const { status, json, text } = await send(flood)
      assert.equal(status, 202, text)
      assert.deepEqual([json.state, json.counts, json.holds], ['refused', {}, []])
      assert.equal(json.findings[0].code, 'too-many-errors')
      assert.match(json.findings[0].message, /more than 10,000 errors, .*: fix those listed/)
      assert.equal(json.badRows, 10_000)
      assert.equal((await service.request(planPath(json.planId), { method: 'DELETE', token })).status, 204)
      await assertServed()
    })

    test('None of it is an error of the service', () => {
      for (const line of service.log) assert.doesNotMatch(line, /"level":50/)
    })
  })
}
