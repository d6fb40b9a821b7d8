/**
 * Requests to a provider. Admins type its address and its metadata names more, so each is checked when the connection is
 * made. A request has a time limit and an answer a size limit, and redirects are not followed.
 */
import type { IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { second } from '../../platform/lib/clock.ts'
import { httpClientFor } from '../../platform/lib/http-client.ts'
import { isLoopbackHost, type Range } from '../../platform/lib/network.ts'
import { checkedLookup, refuseLiteral, Unreachable } from '../../platform/lib/reachable.ts'

const timeoutMs = 5 * second
const answerBytesMax = 256 * 1024

export interface FetchOptions {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

export type GuardedFetch = (url: string, options: FetchOptions) => Promise<Response>

/** `allow` lists private addresses that may be reached. Without https, only this machine may. */
export function guardedFetch(allow: readonly Range[], userAgent: string): GuardedFetch {
  return async (address, { method, headers, body }) => {
    const url = new URL(address)
    if (url.protocol !== 'https:' && !isLoopbackHost(url.hostname))
      throw new Unreachable('the address needs https')
    refuseLiteral(url, allow)
    const content = body === undefined || body === null ? undefined : String(body)
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      return await exchange(
        url,
        {
          method,
          headers: {
            ...headers,
            'User-Agent': userAgent,
            ...(content !== undefined && { 'Content-Length': String(Buffer.byteLength(content)) }),
          },
          agent: false,
          lookup: checkedLookup(url, allow),
          signal: timeout,
        },
        content,
      )
    } catch (error) {
      if (error instanceof Unreachable) throw error
      if (timeout.aborted) throw new Unreachable(`no answer within ${timeoutMs / 1000} s`)
      const { code } = error as NodeJS.ErrnoException
      throw new Unreachable(`the connection failed${code ? ` (${code})` : ''}`, { cause: error })
    }
  }
}

async function exchange(url: URL, options: RequestOptions, content: string | undefined): Promise<Response> {
  const client = await httpClientFor(url)
  return new Promise((resolve, reject) => {
    const request = client.request(url, options)
    request.once('response', (response) =>
      bodyOf(response).then((body) => resolve(asResponse(response, body)), reject),
    )
    request.on('error', reject)
    request.end(content)
  })
}

async function bodyOf(response: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > answerBytesMax) throw new Unreachable(`the answer has more than ${answerBytesMax / 1024} kB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const withoutBody = [101, 204, 205, 304]

function asResponse({ statusCode = 500, headers }: IncomingMessage, body: Buffer<ArrayBuffer>): Response {
  const kept = new Headers()
  for (const name of ['content-type', 'cache-control', 'www-authenticate', 'location']) {
    const value = headers[name]
    if (typeof value === 'string') kept.set(name, value)
  }
  return new Response(withoutBody.includes(statusCode) ? null : body, { status: statusCode, headers: kept })
}
