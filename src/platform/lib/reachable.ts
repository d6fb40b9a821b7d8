/**
 * Which addresses of others this service may reach. The address is checked when the connection is made, on the DNS
 * answer that is actually used: a name that was harmless a moment ago may now resolve into a private network.
 */
import { lookup as dnsLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isPublic, isTrusted, type Range } from './network.ts'

/** The address must not be reached, or does not answer. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

const hostOf = (url: URL) => url.hostname.replace(/^\[|\]$/g, '')

/** Why this address must not be reached, or null if it may. `allow` lists private addresses that may. */
function refusalOf(url: URL, address: string, allow: readonly Range[]): string | null {
  if (isTrusted(address, allow)) return null
  if (!isPublic(address)) return 'the address is not public'
  return url.protocol === 'https:' ? null : 'a public address needs https'
}

/** The same for a URL without a DNS lookup: null for a name, which is checked when it is looked up. */
export function literalRefusal(url: URL, allow: readonly Range[]): string | null {
  const host = hostOf(url)
  return isIP(host) === 0 ? null : refusalOf(url, host, allow)
}

/** A literal address is not looked up, so it is checked before the connection. */
export function refuseLiteral(url: URL, allow: readonly Range[]): void {
  const refusal = literalRefusal(url, allow)
  if (refusal !== null) throw new Unreachable(refusal)
}

export function checkedLookup(
  url: URL,
  allow: readonly Range[],
  lookup: typeof dnsLookup = dnsLookup,
): LookupFunction {
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
