/** Runs in the thread: opens the store, does one job, and reports progress and result. */
import { parentPort, workerData } from 'node:worker_threads'
import { openDb } from '../../../platform/db/open.ts'
import { secretsFrom } from '../../../platform/lib/secret.ts'
import { Roster } from '../roster.ts'
import { work } from './jobs.ts'
import { type Note, noteOf, type Task } from './thread.ts'

const { job, folder, now, databaseUrl, secret, secretPrevious, ...options } = workerData as Task
const port = parentPort!
const say = (note: Note) => port.postMessage(note)

let stopped = false
port.once('message', () => {
  stopped = true
})
// The thread ends with its work.
port.unref()

const startedAt = performance.now()
const clock = {
  now: () => now + Math.round(performance.now() - startedAt),
  elapsed: () => performance.now(),
}
const db = openDb(databaseUrl)
try {
  const roster = new Roster(db, clock, { ...options, secrets: secretsFrom(secret, secretPrevious) })
  const result = await work(job, {
    db,
    roster,
    folder,
    onProgress(done, total) {
      // Between two batches the import can be aborted safely.
      if (stopped) throw new Error('the service is shutting down')
      say({ progress: { done, total } })
    },
  })
  say({ result })
} catch (error) {
  say(noteOf(error))
} finally {
  await db.close()
}
