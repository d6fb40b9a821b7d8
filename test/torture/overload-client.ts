/** A client of overload.ts, in a thread of its own. */
import { parentPort, workerData } from 'node:worker_threads'
import { type Errand, flood, requestsOf } from './overload.ts'

const { port, kind, token, name, perSecond, seconds } = workerData as Errand
parentPort!.postMessage(await flood(port, requestsOf(kind, token, name), perSecond, seconds))
