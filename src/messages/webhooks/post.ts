/** One request to an endpoint, if its address may be reached. */
import type { lookup as dnsLookup } from 'node:dns'
import type { RequestOptions } from 'node:https'
import { httpClientFor } from '../../platform/lib/http-client.ts'
import type { Range } from '../../platform/lib/network.ts'
import { checkedLookup, refuseLiteral, Unreachable } from '../../platform/lib/reachable.ts'

const answerBytesMax = 64 * 1024

export interface Post {
  readonly url: URL
  readonly headers: Record<string, string>
  readonly body: string
  /** Private addresses that may be reached. */
  readonly allow: readonly Range[]
  /** For the whole exchange. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly lookup?: typeof dnsLookup
}

/** Returns the status. Redirects are not followed; only a little of the answer's body is read, and nothing is kept. */
export async function post({ url, headers, body, allow, timeoutMs, signal, lookup }: Post): Promise<number> {
  refuseLiteral(url, allow)
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), timeoutMs)
  try {
    return await exchange(url, body, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': String(Buffer.byteLength(body)) },
      agent: false,
      lookup: checkedLookup(url, allow, lookup),
      signal: AbortSignal.any([timeout.signal, signal]),
    })
  } catch (error) {
    if (timeout.signal.aborted) throw new Unreachable(`no answer within ${timeoutMs / 1000} s`)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function exchange(url: URL, body: string, options: RequestOptions): Promise<number> {
  const client = await httpClientFor(url)
  return new Promise((resolve, reject) => {
    const request = client.request(url, options)
    request.once('response', (response) => {
      const answered = () => resolve(response.statusCode!)
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > answerBytesMax) response.destroy()
      })
      // Only the status counts; the body does not matter.
      response.on('error', answered)
      response.once('close', answered)
      request.on('error', answered)
    })
    request.on('error', reject)
    request.end(body)
  })
}
