/**
 * A thread of the child process that ends it when the service is killed. A busy child does not see that its channel has
 * closed, but an orphan gets another parent. JavaScript, for the same reason as main.js.
 */
import { workerData } from 'node:worker_threads'

const checkEveryMs = 1_000

setInterval(() => {
  if (process.ppid !== workerData.ppid) process.kill(process.pid, 'SIGKILL')
}, checkEveryMs)
