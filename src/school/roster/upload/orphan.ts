/** Ends the child process when the service is killed, even if its thread is busy and no event reaches it. */
import { Worker } from 'node:worker_threads'

export function endWithParent(): void {
  const { ppid } = process
  new Worker(new URL('./orphan-thread.js', import.meta.url), {
    workerData: { ppid },
    resourceLimits: { maxOldGenerationSizeMb: 16 },
  }).unref()
}
