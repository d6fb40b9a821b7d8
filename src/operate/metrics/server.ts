/** Serves /metrics on a port of its own, so that a proxy in front of the service cannot show it to strangers. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'
import { UsageError } from '../../errors.ts'
import { Failure, type FailureLog } from '../../platform/lib/failure.ts'

export interface MetricsServer {
  readonly port: number
  close(): Promise<void>
}

export async function serveMetrics(
  { host, port }: { host: string; port: number },
  text: () => Promise<string>,
  log: FailureLog,
): Promise<MetricsServer> {
  const failure = new Failure(log, 'reading the metrics')
  const server = createServer(async (request, reply) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (request.url?.split('?')[0] !== '/metrics') return void reply.writeHead(404).end()
    if (!isRead) return void reply.writeHead(405, { Allow: 'GET, HEAD' }).end()
    try {
      const body = await text()
      failure.over()
      reply
        .writeHead(200, { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE, 'Cache-Control': 'no-store' })
        .end(body)
    } catch (error) {
      failure.began(error)
      reply.writeHead(500).end()
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new UsageError(`port ${port} is in use: stop the other program, or set CHIRON_METRICS_PORT`)
          : error,
      ),
    )
    server.listen(port, host, resolve)
  })
  const bound = (server.address() as AddressInfo).port
  log.info({ port: bound }, 'metrics are served')
  return {
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
