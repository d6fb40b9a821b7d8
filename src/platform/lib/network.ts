/** IP addresses: which are this machine, which are trusted proxies, which belong to one network. */
import ipaddr from 'ipaddr.js'

export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '')
  if (name === 'localhost' || name.endsWith('.localhost')) return true
  return ipaddr.isValid(name) && ipaddr.process(name).range() === 'loopback'
}

export type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

export function parseRange(text: string): Range | null {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  if (!ipaddr.isValid(text) || (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text))) return null
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

export function isTrusted(address: string, trusted: readonly Range[]): boolean {
  if (trusted.length === 0 || !ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return trusted.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits))
}

/** A loopback, private or link-local address, so never that of a person on the Internet. */
export function isInternal(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const range = ipaddr.process(address).range()
  return range === 'loopback' || range === 'private' || range === 'uniqueLocal' || range === 'linkLocal'
}

/** All public IPv6 addresses are in here. Others, such as ::7f00:1, may stand for an IPv4 address. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * An address of the public Internet. Not one that only looks like it: an IPv6 address that carries an IPv4 address
 * (mapped, NAT64, 6to4, Teredo) can lead into a private network.
 */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(globalUnicast)) return false
  return parsed.range() === 'unicast'
}

/** Walks X-Forwarded-For from the right: the first hop that is not a trusted proxy is the client. */
export function clientAddress(
  peer: string,
  forwardedFor: string | undefined,
  trusted: readonly Range[],
): string {
  if (forwardedFor === undefined || !isTrusted(peer, trusted)) return peer
  const hops = forwardedFor.split(',').map((hop) => hop.trim())
  let client = peer
  for (let i = hops.length - 1; i >= 0; i--) {
    const hop = hops[i]!.replace(/^\[|\]$/g, '')
    if (!ipaddr.isValid(hop)) break
    client = hop
    if (!isTrusted(hop, trusted)) break
  }
  return client
}

/** One IPv4 address, or an IPv6 /64, within which a host can pick any address. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv4 ? parsed.toString() : prefix(parsed, 64)
}

/**
 * The networks around it, and how many times its limit each gets: somebody with a /48 or a /24 has many addresses to
 * send from.
 */
export function widerNetworksOf(address: string): { network: string; shares: number }[] {
  if (!ipaddr.isValid(address)) return []
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return [{ network: prefix(parsed, 24), shares: 16 }]
  return [
    { network: prefix(parsed, 56), shares: 4 },
    { network: prefix(parsed, 48), shares: 16 },
  ]
}

function prefix(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): string {
  const kind = address instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6
  return `${kind.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString()}/${bits}`
}
