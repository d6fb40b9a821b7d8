/** Addresses of hosts and peers: which are this machine, which may speak for others, which are one network. */
import ipaddr from 'ipaddr.js'

export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '')
  if (name === 'localhost' || name.endsWith('.localhost')) return true
  return ipaddr.isValid(name) && ipaddr.process(name).range() === 'loopback'
}

export type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** An address or a CIDR; null if it is neither. */
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

/** Of this machine or of the network it stands in: never a person's own address on the Internet. */
export function isInternal(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const range = ipaddr.process(address).range()
  return range === 'loopback' || range === 'private' || range === 'uniqueLocal' || range === 'linkLocal'
}

/** The right-most hop that no trusted proxy vouches for is the client. */
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

/** One IPv4 address, or the /64 that an IPv6 host can choose from freely. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv4 ? parsed.toString() : prefix(parsed, 64)
}

/**
 * The networks around that one, and how many times its share of a limit each has: whoever was given a /48 or a /24 has
 * thousands of addresses to ask from.
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
