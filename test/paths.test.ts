/** Whether a path exists is decided apart from Fastify's routes, and must agree with them. */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import Fastify from 'fastify'
import { Paths, paramLengthMax } from '../src/platform/http/paths.ts'

const patterns = ['/', '/v/:id', '/v/me', '/v/:id/x', '/calendar/:token.ics', '/c/*']
const longest = 'a'.repeat(paramLengthMax)
const piece = fc.constantFrom(
  ...['/', '/v/', '/v/me', '/x', '/calendar/', '.ics', '/c/', 'me', ':id', '*', '.', ';', '?'],
  ...['%6d', '%2F', '%25', '%252F', '%C3%A9', '%zz', '%', longest, `${longest}a`],
)

test('A path is found where Fastify finds a route, and nowhere else', async (t) => {
  const app = Fastify({ routerOptions: { maxParamLength: paramLengthMax } })
  const agent = new Agent({ keepAlive: true })
  t.after(() => {
    agent.destroy()
    return app.close()
  })
  const paths = new Paths()
  paths.watch(app)
  for (const pattern of patterns) app.get(pattern, () => pattern)
  await app.listen({ port: 0 })
  const { port } = app.server.address() as AddressInfo

  const routeOf = (path: string) =>
    new Promise<string | null>((resolve, reject) => {
      request({ port, path, agent }, async (reply) => {
        const text = Buffer.concat(await reply.toArray()).toString()
        resolve(reply.statusCode === 200 ? text : null)
      })
        .on('error', reject)
        .end()
    })
  const found = new Set<string | null>()
  const anyUrl = fc
    .tuple(fc.constantFrom('/', 'http://localhost/', 'HTTP://a:1/'), fc.array(piece, { maxLength: 4 }))
    .map(([start, rest]) => start + rest.join('').replace(/^\//, ''))
  await fc.assert(
    fc.asyncProperty(anyUrl, async (url) => {
      const route = await routeOf(url)
      found.add(route)
      assert.equal(paths.find(url)?.pattern ?? null, route)
    }),
    {
      numRuns: 2_000,
      examples: ['/', '/v/a', '/v/me', '/v/a/x', '/calendar/a.ics', '/c/a'].map((url) => [url]),
    },
  )
  assert.equal(found.size, patterns.length + 1)
})
