/** A small reverse proxy, for set-ups that a real one would have to be configured into. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ProxyOptions {
  /** What it sends as X-Forwarded-For: the caller added, as it should; what it was sent; or nothing. */
  readonly forwards: 'caller-added' | 'unchanged' | 'nothing'
  /** The address that it calls the service from. */
  readonly from?: string
  /** Where it listens; by default anywhere. */
  readonly port?: number
  /** Replies carry the time of a clock that is off by this. */
  readonly clockOffMs?: number
}

export async function startProxy(
  target: string,
  options: ProxyOptions,
): Promise<{ url: string; close(): void }> {
  const { hostname, port } = new URL(target)
  const server = createServer((incoming, outgoing) => {
    const { 'x-forwarded-for': given, ...headers } = incoming.headers
    const caller = incoming.socket.remoteAddress ?? ''
    const forwarded = {
      'caller-added': [given, caller].filter(Boolean).join(', '),
      unchanged: given,
      nothing: undefined,
    }
    const value = forwarded[options.forwards]
    const passed = request(
      {
        hostname,
        port,
        path: incoming.url,
        method: incoming.method,
        headers: { ...headers, ...(value !== undefined && { 'x-forwarded-for': value }) },
        ...(options.from !== undefined && { localAddress: options.from }),
      },
      (reply) => {
        const date = new Date(Date.now() + (options.clockOffMs ?? 0)).toUTCString()
        outgoing.writeHead(reply.statusCode ?? 502, { ...reply.headers, date })
        reply.pipe(outgoing)
      },
    )
    passed.on('error', () => outgoing.writeHead(502).end())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
