/**
 * One request to an endpoint. The address is checked when the connection is made, on the DNS answer that is actually
 * used: a name that was harmless a moment ago may now resolve into a private network.
 */
import { lookup as dnsLookup } from 'node:dns'
import { request as requestPlainly } from 'node:http'
import { request as requestByTls } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isPublic, isTrusted, type Range } from '../../platform/lib/network.ts'

const answerBytesMax = 64 * 1024

/** The endpoint must not be reached. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

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
  const host = hostOf(url)
  // A literal address is not looked up.
  const refusal = isIP(host) === 0 ? null : refusalOf(url, host, allow)
  if (refusal !== null) throw new Unreachable(refusal)
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), timeoutMs)
  try {
    return await exchange(url, body, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': String(Buffer.byteLength(body)) },
      agent: false,
      lookup: checkedLookup(url, allow, lookup ?? dnsLookup),
      signal: AbortSignal.any([timeout.signal, signal]),
    })
  } catch (error) {
    if (timeout.signal.aborted) throw new Unreachable(`no answer within ${timeoutMs / 1000} s`)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function exchange(url: URL, body: string, options: Parameters<typeof requestByTls>[1]): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestByTls : requestPlainly)(url, options)
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

export const hostOf = (url: URL) => url.hostname.replace(/^\[|\]$/g, '')

/** Why webhooks must not go to this address, or null if they may. */
export function refusalOf(url: URL, address: string, allow: readonly Range[]): string | null {
  if (isTrusted(address, allow)) return null
  if (!isPublic(address)) return 'the address is not public'
  return url.protocol === 'https:' ? null : 'a public address needs https'
}

function checkedLookup(url: URL, allow: readonly Range[], lookup: typeof dnsLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '')
      const refusals = found.map(({ address }) => refusalOf(url, address, allow))
      const reachable = found.filter((_, i) => refusals[i] === null)
      const [first] = reachable
      if (!first) return callback(new Unreachable(refusals[0] ?? 'the name has no address'), '')
      if (options.all) callback(null, reachable)
      else callback(null, first.address, first.family)
    })
  }
}
