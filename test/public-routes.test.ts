/** What somebody without any token can write: the table of docs/threat-model.md has every public route, and is true. */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { newClient, requestOf } from './support/authorize.ts'
import { freshNetwork } from './support/fresh.ts'
import { newVisit, startSignIn } from './support/school-account.ts'
import { type Service, startService } from './support/service.ts'

const page = readFileSync(new URL('../docs/threat-model.md', import.meta.url), 'utf8')
const section = /^## What a stranger can write$(.*?)^## /ms.exec(page)![1]!
const named = [...section.matchAll(/`((?:GET|POST) \/[^`]*)`/g)].map(([, route]) => route!)
/** Files that are served by name. */
const grouped = (route: string) => route.replace(/^(GET \/(?:web|assets)\/).*/, '$1*')

/** The tables that a request without a token may change, by route. Limits of networks are rows of `bucket`. */
const tablesOf: Readonly<Record<string, readonly string[]>> = {
  'POST /veterinarian/register': ['bucket', 'registration'],
  ...Object.fromEntries(
    ['veterinarian', 'student', 'staff'].flatMap((role) => [
      [`POST /${role}/send-otp`, ['bucket', 'quota', 'challenge', 'outbox', 'delivery']],
      [`POST /${role}/validate-otp`, ['bucket', 'failure']],
      [`POST /portal/${role}/validate-otp`, ['bucket', 'failure']],
    ]),
  ),
  ...Object.fromEntries(
    ['/passkey/options', '/passkey/validate', '/portal/passkey/validate'].map((path) => [
      `POST ${path}`,
      ['bucket'],
    ]),
  ),
  'POST /portal/authorize': ['authorization_ask'],
  ...Object.fromEntries(
    ['/oauth/token', '/oauth/introspect', '/oauth/revoke'].map((path) => [
      `POST ${path}`,
      ['bucket', 'quota'],
    ]),
  ),
}
/** What the service itself writes, whoever asks. */
const ownTables = ['lease', 'write_probe', 'person', 'event', 'event_counter']

suite('Strangers', () => {
  const routes = new Set<string>()
  let service: Service
  before(async () => {
    const watch = (message: unknown) => {
      const { fastify } = message as { fastify: FastifyInstance }
      fastify.addHook('onRoute', ({ method, url, config }: RouteOptions) => {
        const { access = '' } = (config ?? {}) as { access?: string }
        if (!['public', 'portal'].includes(access)) return
        for (const one of [method].flat()) if (one !== 'HEAD') routes.add(grouped(`${one} ${url}`))
      })
    }
    subscribe('fastify.initialization', watch)
    service = await startService('sqlite')
    unsubscribe('fastify.initialization', watch)
    await service.app.parts.sweeper.stop()
    await service.app.parts.outbox.stop()
  })
  after(() => service.stop())

  test('Every public route has a row in the table, and no other has', () => {
    assert.ok(routes.size > 40, String(routes.size))
    // The mailbox exists only outside production.
    const shown = named.filter((route) => !route.startsWith('GET /mailbox'))
    const found = [...routes].filter((route) => !route.startsWith('GET /mailbox'))
    assert.deepEqual(shown.toSorted(), found.toSorted())
  })

  const contents = async () => {
    const tables = await service.rows<{ name: string }>(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
    )
    const all = new Map<string, string>()
    for (const { name } of tables)
      if (!ownTables.includes(name))
        all.set(name, JSON.stringify(await service.rows(`select * from ${name}`)))
    return all
  }

  /** A body that gets as far as one can without a token. */
  const bodyFor = async (path: string) => {
    const email = `a${Math.random()}@clinic.example`
    const credential = { id: 'x', rawId: 'x', type: 'public-key', clientExtensionResults: {} }
    const client = await newClient(service)
    const query = requestOf(client.id, { prompt: 'login' })
    if (path.endsWith('/register')) return { email, firstname: 'Ada', lastname: 'Marsh' }
    if (path.endsWith('/send-otp')) return { email }
    if (path.endsWith('/validate-otp')) return { email, otp_code: 123_456, sessionId: 'x' }
    if (path === '/portal/authorize') return { query }
    if (path.endsWith('passkey/validate'))
      return {
        credential: {
          ...credential,
          response: { authenticatorData: 'x', clientDataJSON: 'x', signature: 'x' },
        },
      }
    if (path.endsWith('/refresh')) return { refresh_token: 'x' }
    return {}
  }

  test('A public route writes nothing that its row does not name', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const route of routes) {
      const [method = '', pattern = ''] = route.split(' ')
      const path = pattern.replace(/:\w+/g, 'AAAAAAAAAAAAAAAAAAAAAA').replace('*', 'x')
      const isForm = /^\/oauth\/|\/logout$/.test(path) && path !== '/portal/logout'
      const body = isForm
        ? 'grant_type=authorization_code&code=x&client_id=x&client_secret=y&token=x&logout_token=x'
        : await bodyFor(path)
      const first = await contents()
      await service.request(path, {
        method,
        headers: { ...freshNetwork(), ...(isForm && method === 'POST' && form) },
        ...(method === 'POST' && { body }),
      })
      const then = await contents()
      const changed = [...then].filter(([table, rows]) => first.get(table) !== rows).map(([table]) => table)
      const allowed = tablesOf[route] ?? []
      assert.deepEqual(
        changed.filter((table) => !allowed.includes(table)),
        [],
        route,
      )
      // Otherwise the request came to nothing, and nothing was tried.
      if (allowed.length > 0) assert.ok(changed.length > 0, `${route} changed nothing`)
    }
  })

  test('A sign-in at a provider that is not there touches no limit', async () => {
    const first = await contents()
    const reply = await startSignIn(service, 'AAAAAAAAAAAAAAAAAAAAAA', newVisit())
    assert.equal(reply.status, 404)
    assert.deepEqual(await contents(), first)
  })
})
