import type { FastifyRequest } from 'fastify'
import { BoundedMap } from '../lib/bounded-map.ts'
import type { CallerNetwork } from '../lib/bucket.ts'
import { clientAddress, networkOf, type Range, widerNetworksOf } from '../lib/network.ts'
import { fingerprint, type Secrets } from '../lib/secret.ts'

const networksMax = 10_000

/** Returns what limits count: the fingerprint of a caller's network, and of those around it. */
export function callerNetworks({ current }: Secrets, trustedProxies: readonly Range[]) {
  const known = new BoundedMap<string, CallerNetwork>(networksMax)
  const fingerprintOf = (network: string) => fingerprint(current, 'network', network)
  return (request: FastifyRequest): CallerNetwork => {
    const peer = request.raw.socket.remoteAddress ?? ''
    const forwarded = request.headers['x-forwarded-for']
    const client = clientAddress(peer, [forwarded].flat().join(',') || undefined, trustedProxies)
    const found = known.get(client)
    if (found) return found
    const network = {
      fingerprint: fingerprintOf(networkOf(client)),
      wider: widerNetworksOf(client).map(({ network: wider, shares }) => ({
        fingerprint: fingerprintOf(wider),
        shares,
      })),
    }
    known.set(client, network)
    return network
  }
}
