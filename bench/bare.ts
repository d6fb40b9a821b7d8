/** The limit: a bare node:http server that answers 250 fixed bytes, on the port of its first argument. */
import { createServer } from 'node:http'

const body = Buffer.from(JSON.stringify({ fixed: 'x'.repeat(238) }))
const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': body.length }

createServer((_request, reply) => {
  reply.writeHead(200, headers)
  reply.end(body)
}).listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('listening\n'))
