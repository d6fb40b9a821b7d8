/**
 * Warns once if a proxy in front of the service is not trusted: all its users would share the limits of one network.
 */
import type { FastifyInstance } from 'fastify'
import { isInternal, isTrusted, type Range } from '../lib/network.ts'

const forwarding = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const

export function warnOfUntrustedProxy(
  app: FastifyInstance,
  trusted: readonly Range[],
  log: { warn(fields: object, message: string): void },
): void {
  let warned = false
  app.addHook('onRequest', ({ headers, raw }, _reply, done) => {
    if (warned) return done()
    const header = forwarding.find((name) => headers[name] !== undefined)
    if (header === undefined) return done()
    const peer = raw.socket.remoteAddress ?? ''
    if (isTrusted(peer, trusted)) return done()
    warned = true
    log.warn(
      // A public peer may be a person who made the header up, so its address is not logged.
      { header, ...(isInternal(peer) && { peer }) },
      'ignoring a forwarding header from a peer that is not trusted; if the peer is your proxy, add its address to CHIRON_TRUSTED_PROXIES',
    )
    done()
  })
}
