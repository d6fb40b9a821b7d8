/** Requests that fetch does not make: any method, any header, any bytes. */
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import type { Reply } from './service.ts'

export interface WireRequest {
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Uint8Array
  /** Sent without Content-Length. */
  readonly chunked?: boolean
}

/** One request by node:http, its path sent as it is. */
export function wire(
  base: string,
  path: string,
  { method = 'GET', headers = {}, body, chunked }: WireRequest = {},
): Promise<Reply> {
  const { hostname, port } = new URL(base)
  const length =
    body === undefined || chunked ? {} : { 'content-length': String(Buffer.byteLength(body as string)) }
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { hostname, port, path, method, headers: { ...length, ...headers }, agent: false },
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

/** Bytes on a socket, and the first reply that comes back until the server closes it. */
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
