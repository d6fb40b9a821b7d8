/** Requests over every route: first made from the OpenAPI document, then with their bytes changed. None may be a 5xx. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Service } from '../support/service.ts'
import type { Done, Errand, Operation, Schema } from './fuzz-client.ts'

type Document = Record<string, never> & {
  readonly paths: Record<string, Record<string, OperationObject>>
  readonly components: { readonly schemas: Record<string, Schema> }
}

interface OperationObject {
  readonly requestBody?: { content: Record<string, { schema: Schema }> }
  readonly parameters?: readonly { in: string; name: string; schema: Schema }[]
}

/** With what it refers to in its place. */
function whole<T>(document: Document, part: T): T {
  const text = JSON.stringify(part, (_, value: Schema) =>
    typeof value?.$ref === 'string' ? document.components.schemas[value.$ref.split('/').at(-1)!] : value,
  )
  return JSON.parse(text)
}

export async function operationsOf(service: Service): Promise<Operation[]> {
  const document: Document = (await service.request('/openapi.json')).json
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody, parameters = [] }]) => {
      const schema = requestBody?.content['application/json']?.schema
      const query = parameters.filter((one) => one.in === 'query')
      return {
        method: method.toUpperCase(),
        path,
        query: query.map((one) => ({ ...one, schema: whole(document, one.schema) })),
        ...(schema && { body: whole(document, schema) }),
      }
    }),
  )
}

export interface FuzzReport extends Done {
  /** The longest stall of the service's event loop, in milliseconds. */
  readonly longestStallMs: number
  /** The most processor time that a turn of it took: the machine may have been busy with something else meanwhile. */
  readonly longestTurnMs: number
}

export async function fuzz(
  service: Service,
  tokens: readonly string[],
  span: Pick<Errand, 'until' | 'requestsMax'>,
): Promise<FuzzReport> {
  const operations = await operationsOf(service)
  assert.ok(operations.length > 20)
  const workerData: Errand = { port: Number(new URL(service.url).port), operations, tokens, ...span }
  const client = new Worker(new URL('./fuzz-client.ts', import.meta.url), { workerData })
  const turns = watchTurns()
  const [done] = (await once(client, 'message')) as [Done]
  const longest = turns.stop()
  assert.equal((await service.request('/health/ready')).status, 200)
  return { ...done, ...longest }
}

function watchTurns() {
  const everyMs = 10
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  let [longestStallMs, longestTurnMs] = [0, 0]
  let [at, cpu] = [performance.now(), cpuMs()]
  const timer = setInterval(() => {
    const [now, used] = [performance.now(), cpuMs()]
    longestStallMs = Math.max(longestStallMs, now - at - everyMs)
    longestTurnMs = Math.max(longestTurnMs, used - cpu)
    at = now
    cpu = used
  }, everyMs)
  return {
    stop() {
      clearInterval(timer)
      return { longestStallMs: Math.round(longestStallMs), longestTurnMs: Math.round(longestTurnMs) }
    },
  }
}
