/** Work on rosters that takes too long, or that nobody waits for because the service was killed, ends. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { AppError } from '../src/errors.ts'
import type { JobLimits } from '../src/school/roster/upload/process.ts'
import { Uploads } from '../src/school/roster/upload/upload.ts'
import { atLength, engines } from './support/engines.ts'
import { bulk, newSchool } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { type Service, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { zipOf } from './support/uploads.ts'
import { patienceMs, until } from './support/wait.ts'

for (const engine of engines)
  suite(`Time limits of work on rosters, on ${engine}`, atLength, () => {
    let service: Service
    let staffId: string
    before(async () => {
      service = await startService(engine)
      staffId = (await newStaff(service, 'registrar')).userId
      await rosterOf(service).import(bulk(newSchool(5)))
    })
    after(() => service.stop())

    const log: string[] = []
    const uploadsWith = (limitsMs: JobLimits) => {
      const { app, clock, databaseUrl } = service
      return new Uploads({
        ...{ db: app.parts.db, clock, roster: rosterOf(service).roster, limitsMs },
        settings: {
          ...{ databaseUrl, timeZone: 'UTC', secret: 'a secret for tests that is long enough' },
          ...{ secretPrevious: null, holdShares: {}, badRows: { max: 0 }, schoolName: 'School' },
        },
        log: { info: () => {}, error: (_fields, message) => log.push(message) },
      })
    }
    const planOf = async (uploads: Uploads) => {
      const file = Readable.from([await zipOf(newSchool(6))])
      const by = { actor: staffId, requestId: null, network: null }
      const { planId } = await uploads.upload({ file, bytes: 0 }, {}, by)
      return until(
        () => uploads.show(planId),
        ({ state }) => state !== 'planning',
      )
    }

    test('A plan that takes too long is refused with the reason, and the next job is served', async () => {
      const uploads = uploadsWith({ plan: 1 })
      const plan = await planOf(uploads)
      assert.equal(plan.state, 'refused')
      assert.deepEqual(
        plan.findings.map(({ code, message }) => [code, message]),
        [
          [
            'too-much-time',
            'The roster takes longer to read and compare than any real one: check the files and export them again.',
          ],
        ],
      )
      assert.equal((await uploads.imports.showUndo(null)).from, 1)
      await uploads.stop()
    })

    test('Showing an undo that takes too long is unavailable, and the next job is served', async () => {
      const uploads = uploadsWith({ 'show-undo': 1 })
      await assert.rejects(
        uploads.imports.showUndo(null),
        (error) => error instanceof AppError && error.code === 'unavailable',
      )
      assert.equal((await planOf(uploads)).state, 'ready')
      await uploads.stop()
    })

    test('None of it is an error of the service', () => assert.deepEqual(log, []))
  })

test('A busy child ends when its parent is killed', { timeout: patienceMs }, async (t) => {
  const worker = fileURLToPath(new URL('../src/school/roster/upload/worker.js', import.meta.url))
  // Once it waits for its task, its thread never rests.
  const busy = `import { isMainThread } from 'node:worker_threads'
    const loop = () => { process.send('busy'); for (;;); }
    if (isMainThread) process.on('newListener', (event) => event === 'message' && setImmediate(loop))`
  const execArgv = ['--import', `data:text/javascript,${encodeURIComponent(busy)}`]
  const script = `const { fork } = require('node:child_process')
    const child = fork(${JSON.stringify(worker)}, ${JSON.stringify({ execArgv })})
    child.on('message', () => console.log(child.pid))`
  const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(parent.stdout, 'data')
  const childPid = Number(line)
  assert.ok(childPid > 0)
  let hasEnded = false
  t.after(() => {
    if (!hasEnded) process.kill(childPid, 'SIGKILL')
  })
  // Both hold the pipe, so it closes when both have ended.
  const closed = once(parent, 'close')
  parent.kill('SIGKILL')
  await closed
  hasEnded = true
})
