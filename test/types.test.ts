/** Code that must not compile, and the few casts that switch types off. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance } from 'fastify'
import { eventHappened, eventOf } from '../src/messages/events/events.ts'
import { guardAccess, routeConfig } from '../src/platform/http/access.ts'
import { problems } from '../src/platform/http/problem-schemas.ts'
import { Type } from '../src/platform/http/type.ts'
import { bySystem } from '../src/platform/lib/by.ts'
import { systemClock } from '../src/platform/lib/clock.ts'
import type { Role } from '../src/roles.ts'

const sessions = { authenticate: () => Promise.reject(new Error('nobody')), touch: () => undefined }
const root = fileURLToPath(new URL('../', import.meta.url))

/** Never called; `tsc` fails if one of these lines does compile. */
export function mustNotCompile(root: FastifyInstance): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const config = routeConfig({ access: 'veterinarian', limit: 'own' })
  // @ts-expect-error: there is no such access
  routeConfig({ access: 'veterinary' })
  // @ts-expect-error: there is no such limit
  routeConfig({ access: 'public', limit: 'nobody' })
  // @ts-expect-error: a route for staff says which right it needs
  routeConfig({ access: 'staff' })
  // @ts-expect-error: every route says who may call it
  routeConfig({ limit: 'none' })

  // @ts-expect-error: students do not close their accounts
  eventHappened('student.closed', bySystem, { id: '', at: 0 })
  // @ts-expect-error: only a veterinarian's account is closed
  eventOf<Role>('veterinarian', 'closed')
  // @ts-expect-error: there is no such event
  eventHappened('session.begun', bySystem, { id: '', at: 0 })

  const response = { 200: Type.Object({ name: Type.String() }), ...problems('not-found') }
  app.get('/right', { config, schema: { response } }, async () => ({ name: 'Ada' }))
  // @ts-expect-error: not what the schema says
  app.get('/wrong', { config, schema: { response } }, async () => ({ name: 1 }))
}

test('A route that does not say who may call it, or says it in other words, stops the start', async () => {
  const app = Fastify()
  guardAccess(app, {
    sessions,
    proofs: { mustUsePasskey: () => false, methodsOf: async () => [] },
    buckets: null,
    clock: systemClock,
    log: app.log,
    networkOf: () => ({ fingerprint: '', wider: [] }),
  })
  const bare = { method: 'GET', url: '/bare', handler: async () => ({}) } as const
  assert.throws(() => app.route(bare), /GET \/bare does not say who may call it/)
  assert.throws(() => app.route({ ...bare, config: { access: 'publik' } }), /does not say/)
  app.route({ ...bare, config: routeConfig({ access: 'public' }) })
})

const casts = /\bas (?:never|any|unknown as|object)\b/g

const known: Record<string, { times: number; because: string }> = {
  'src/platform/http/openapi.ts': { times: 1, because: 'a document is walked whatever is in it' },
  'src/platform/http/type.ts': { times: 1, because: 'our few lines stand in for all of TypeBox' },
}

test('Types are switched off nowhere but where it is said why', () => {
  const found: Record<string, number> = {}
  for (const file of globSync('{src,web/src}/**/*.{ts,tsx}', { cwd: root })) {
    const code = readFileSync(`${root}${file}`, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    const times = code.match(casts)?.length ?? 0
    if (times > 0) found[file] = times
  }
  assert.deepEqual(found, Object.fromEntries(Object.entries(known).map(([file, { times }]) => [file, times])))
})
