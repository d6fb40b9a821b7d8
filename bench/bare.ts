/** A bare node:http server on the port of its first argument. The reply to /250 is 250 fixed bytes. */
import { createServer } from 'node:http'

const replies = new Map<string, { body: Buffer; headers: Record<string, string | number> }>()

function replyTo(path: string) {
  const body = Buffer.alloc(Number(path.slice(1)), 'x')
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': body.length }
  replies.set(path, { body, headers })
  return { body, headers }
}

const server = createServer((request, reply) => {
  const { body, headers } = replies.get(request.url!) ?? replyTo(request.url!)
  reply.writeHead(200, headers)
  reply.end(body)
})
// Like Fastify's: connections stay open while another server has its turn.
server.keepAliveTimeout = 72_000
server.listen(Number(process.argv[2]), '127.0.0.1')
