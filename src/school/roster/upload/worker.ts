/** Runs in the child process: opens the store, does one job, and reports progress and result. */
import { Worker } from 'node:worker_threads'
import { openDb } from '../../../platform/db/open.ts'
import { secretsFrom } from '../../../platform/lib/secret.ts'
import { Roster } from '../roster.ts'
import { work } from './jobs.ts'
import { type Note, noteOf, type Task } from './process.ts'

// A signal to the process group must not end the job before the service says so.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
const orphaned = () => process.exit(1)
process.once('disconnect', orphaned)
new Worker(new URL('./orphan.js', import.meta.url), {
  workerData: { ppid: process.ppid },
  resourceLimits: { maxOldGenerationSizeMb: 16 },
}).unref()

let stopped = false
const task = await new Promise<Task>((resolve) =>
  process.on('message', (message) => {
    if (message === 'stop') stopped = true
    else resolve(message as Task)
  }),
)

const { job, folder, now, databaseUrl, secret, secretPrevious, schoolName, ...options } = task
const startedAt = performance.now()
const clock = {
  now: () => now + Math.round(performance.now() - startedAt),
  elapsed: () => performance.now(),
}
say(await outcome())
// The process ends with its work.
process.off('disconnect', orphaned)
process.disconnect!()

async function outcome(): Promise<Note> {
  const db = openDb(databaseUrl)
  try {
    const roster = new Roster(db, clock, { ...options, secrets: secretsFrom(secret, secretPrevious) })
    const result = await work(job, {
      db,
      roster,
      folder,
      schoolName,
      onProgress(_stage, done, total) {
        // Between two batches the import can be aborted safely.
        if (stopped) throw new Error('the service is shutting down')
        say({ progress: { done, total } })
      },
    })
    return { result }
  } catch (error) {
    return noteOf(error)
  } finally {
    await db.close()
  }
}

function say(note: Note): void {
  process.send!(note, undefined, undefined, () => {})
}
