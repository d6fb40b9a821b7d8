/** HTTP requests: ordinary ones, and those that fetch refuses to send, with any method, header or bytes. */
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import type { Calls, Reply } from './service.ts'

// The headers that Node's fetch sends. fetch itself takes three times the CPU.
const clientHeaders = {
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
}

/** An ordinary client with keep-alive connections. */
export function callsTo(url: string, agent = new Agent({ keepAlive: true })): Calls {
  const request: Calls['request'] = (path, { method, body, token, headers } = {}) => {
    const { pathname, search } = new URL(path, url)
    return wire(url, pathname + search, {
      agent,
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...clientHeaders,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...lowerCased(headers),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  }
  return { request, post: (path, body, headers) => request(path, { body, ...(headers && { headers }) }) }
}

const lowerCased = (headers: Record<string, string> = {}) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

export interface WireRequest {
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Uint8Array
  /** Sent without Content-Length. */
  readonly chunked?: boolean
  /** Without one, the request has its own connection. */
  readonly agent?: Agent
}

/** One request by node:http, with the path sent unchanged. */
export function wire(
  base: string,
  path: string,
  { method = 'GET', headers = {}, body, chunked, agent }: WireRequest = {},
): Promise<Reply> {
  const { hostname, port } = new URL(base)
  const length =
    body === undefined || chunked ? {} : { 'content-length': String(Buffer.byteLength(body as string)) }
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { hostname, port, path, method, headers: { ...length, ...headers }, agent: agent ?? false },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('end', () => {
          const fields = new Headers()
          for (const [name, value] of Object.entries(response.headersDistinct))
            for (const one of value ?? []) fields.append(name, one)
          resolve(replyOf(response.statusCode ?? 0, fields, Buffer.concat(chunks).toString('utf8')))
        })
      },
    )
    request.on('error', reject)
    if (chunked) request.write(body)
    request.end(chunked ? undefined : body)
  })
}

/** Sends raw bytes, and reads the first reply until the server closes the connection. */
export function rawWire(base: string, bytes: string | Uint8Array): Promise<Reply> {
  const { hostname, port } = new URL(base)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes))
    socket.on('data', (chunk) => chunks.push(Buffer.from(chunk)))
    socket.on('error', reject)
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const [head = '', ...rest] = text.split('\r\n\r\n')
      const [statusLine = '', ...lines] = head.split('\r\n')
      const fields = new Headers()
      for (const line of lines) {
        const colon = line.indexOf(':')
        fields.append(line.slice(0, colon), line.slice(colon + 1).trim())
      }
      resolve(replyOf(Number(statusLine.split(' ')[1] ?? 0), fields, rest.join('\r\n\r\n')))
    })
  })
}

function replyOf(status: number, headers: Headers, text: string): Reply {
  const isJson = /json/.test(headers.get('content-type') ?? '')
  return { status, headers, text, json: isJson && text ? JSON.parse(text) : undefined }
}
