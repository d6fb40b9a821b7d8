/** The client of fuzz.ts, in a thread of its own. Requests are made by the schema, then their bytes are changed. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import fc from 'fast-check'
import { anyCharacter } from '../support/arbitraries.ts'

export interface Operation {
  readonly method: string
  readonly path: string
  readonly body?: Schema
  readonly query: readonly { name: string; schema: Schema }[]
}

export interface Schema {
  readonly $ref?: string
  readonly type?: string | string[]
  readonly properties?: Record<string, Schema>
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly examples?: readonly unknown[]
}

const nasty = fc.constantFrom<unknown>(
  '',
  '\u0000',
  '\ud800',
  '\u202e',
  '../../etc/passwd',
  "' or 1=1 --",
  '%0d%0aSet-Cookie: x=1',
  'a'.repeat(5_000),
  -1,
  0,
  1e308,
  2 ** 53,
  0.1,
  null,
  true,
  [],
  {},
  [[[[[]]]]],
  { toString: 1, constructor: {}, length: -1 },
)

/** A value that the schema allows, or now and then one that it does not. */
function anyOf(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 4, arbitrary: rightOf(schema) },
    { weight: 1, arbitrary: nasty },
    {
      weight: 1,
      arbitrary: fc.jsonValue({ maxDepth: 3 }),
    },
  )
}

function rightOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(rightOf))
  const [type] = [schema.type].flat()
  if (type === 'object')
    return fc.record(
      Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, one]) => [name, anyOf(one)])),
      { requiredKeys: [] },
    )
  if (type === 'array') return fc.array(fc.string(), { maxLength: 3 })
  if (type === 'integer' || type === 'number')
    return fc.oneof(fc.integer(), fc.integer({ min: 100_000, max: 99_999_999 }))
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  const examples = (schema.examples ?? []).filter((example) => typeof example === 'string')
  return fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 40 }),
    fc.emailAddress(),
    ...examples.map((one) => fc.constant(one)),
  )
}

const segment = fc.oneof(
  fc.constantFrom('me', 'AAAAAAAAAAAAAAAAAAAAAA', '%00', '%2e%2e', '.', '*', '%F0%9F%90%8E', 'x'.repeat(300)),
  fc.stringMatching(/^[A-Za-z0-9_-]{22}$/),
)

function requestOf(
  { method, path, body, query }: Operation,
  tokens: readonly string[],
): fc.Arbitrary<string> {
  return fc
    .record({
      parts: fc.array(segment, { minLength: 3, maxLength: 3 }),
      query: fc.record(Object.fromEntries(query.map(({ name, schema }) => [name, anyOf(schema)])), {
        requiredKeys: [],
      }),
      body: body ? anyOf(body) : fc.constant(undefined),
      token: fc.constantFrom(...tokens, 'x', ''),
      type: fc.constantFrom('application/json', 'application/json', 'application/json', 'text/plain', ''),
    })
    .map(({ parts, query: asked, body: sent, token, type }) => {
      let next = 0
      const filled = path.replace(/\{[^}]+\}/g, () => parts[next++]!)
      const search = Object.entries(asked)
        .map(
          ([name, value]) =>
            `${name}=${encodeURIComponent(wellFormed(typeof value === 'string' ? value : JSON.stringify(value)))}`,
        )
        .join('&')
      const text = sent === undefined ? '' : JSON.stringify(sent)
      const lines = [
        `${method} ${filled}${search ? `?${search}` : ''} HTTP/1.1`,
        'Host: localhost',
        'Connection: close',
        ...(token ? [`Authorization: Bearer ${token}`] : []),
        ...(text && type ? [`Content-Type: ${type}`] : []),
        ...(text ? [`Content-Length: ${Buffer.byteLength(text)}`] : []),
      ]
      return `${lines.join('\r\n')}\r\n\r\n${text}`
    })
}

const wellFormed = (text: string) => text.toWellFormed()

/** Changes, drops or repeats some bytes. */
const mutated = (request: fc.Arbitrary<string>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(request, fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.nat(2)), { maxLength: 4 }))
    .map(([text, changes]) => {
      let bytes = Buffer.from(text)
      for (const [at, byte, how] of changes) {
        const i = at % bytes.length
        if (how === 0) bytes[i] = byte
        else if (how === 1) bytes = Buffer.concat([bytes.subarray(0, i), bytes.subarray(i + 1)])
        else bytes = Buffer.concat([bytes.subarray(0, i), bytes.subarray(i, i + 40), bytes.subarray(i)])
      }
      return bytes
    })

/** The status of the first reply on a connection of its own; null if there was none. */
function exchange(port: number, bytes: Buffer): Promise<number | null> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1')
    const end = () => {
      socket.destroy()
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]
      resolve(status === undefined ? null : Number(status))
    }
    socket.on('error', end)
    socket.on('close', end)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (/^HTTP\/1\.1 \d{3}/.test(text)) end()
    })
    // A request whose body is shorter than it says waits for the rest; half of the connection is enough to end it.
    socket.end(bytes)
  })
}

export interface Errand {
  readonly port: number
  readonly operations: readonly Operation[]
  readonly tokens: readonly string[]
  /** Stops then, or after so many requests. */
  readonly until: number
  readonly requestsMax: number
}

export interface Done {
  readonly requests: number
  readonly answered: number
}

async function run({ port, operations, tokens, until, requestsMax }: Errand): Promise<Done> {
  let [requests, answered] = [0, 0]
  const arbitraries = operations.map((operation) => mutated(requestOf(operation, tokens)))
  while (Date.now() < until && requests < requestsMax) {
    for (const arbitrary of arbitraries) {
      const batch = fc.sample(arbitrary, 10)
      const statuses = await Promise.all(batch.map((bytes) => exchange(port, bytes)))
      for (const [i, status] of statuses.entries()) {
        requests++
        if (status !== null) answered++
        assert.ok(
          status === null || status < 500,
          `${status} for ${JSON.stringify(batch[i]!.toString('latin1'))}`,
        )
      }
    }
  }
  return { requests, answered }
}

parentPort!.postMessage(await run(workerData))
