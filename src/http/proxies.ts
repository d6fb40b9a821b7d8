/** Says once, in the log, that a proxy in front of the service is not trusted: all behind it share one network's limits. */
import type { FastifyInstance } from 'fastify'
import { isInternal, isTrusted, type Range } from '../lib/network.ts'

const forwarding = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const

export function warnOfUntrustedProxy(
  app: FastifyInstance,
  trusted: readonly Range[],
  log: { warn(fields: object, message: string): void },
): void {
  let warned = false
  app.addHook('onRequest', ({ headers, raw, routeOptions }, _reply, done) => {
    if (warned) return done()
    const header = forwarding.find((name) => headers[name] !== undefined)
    if (header === undefined) return done()
    const peer = raw.socket.remoteAddress ?? ''
    // The mailbox turns proxies away by design.
    if (isTrusted(peer, trusted) || routeOptions.url?.startsWith('/mailbox')) return done()
    warned = true
    log.warn(
      // From outside it may be a person who made the header up.
      { header, ...(isInternal(peer) && { peer }) },
      'a request came with a forwarding header from a peer that is not trusted, so the header is ignored; if the peer is your proxy, add its address to CHIRON_TRUSTED_PROXIES',
    )
    done()
  })
}
