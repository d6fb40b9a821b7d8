/** Code that must not compile, and the few casts that switch types off. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import { operation } from '../src/identity/session/operation.ts'
import { eventHappened, eventOf } from '../src/messages/events/events.ts'
import { Guard } from '../src/platform/http/access.ts'
import { Type } from '../src/platform/http/type.ts'
import { bySystem } from '../src/platform/lib/by.ts'
import { systemClock } from '../src/platform/lib/clock.ts'
import type { Role } from '../src/roles.ts'

const sessions = { authenticate: () => Promise.reject(new Error('nobody')), touch: () => undefined }
const root = fileURLToPath(new URL('../', import.meta.url))

/** Never called; `tsc` fails if one of these lines does compile. */
export function mustNotCompile(): void {
  const about = { id: 'x', tag: 'x', summary: 'x' }
  const answer = () => undefined
  operation('GET /right', { ...about, access: 'veterinarian', limit: 'own', answer })
  // @ts-expect-error: there is no such access
  operation('GET /wrong', { ...about, access: 'veterinary', answer })
  // @ts-expect-error: there is no such limit
  operation('GET /wrong', { ...about, access: 'public', limit: 'nobody', answer })
  // @ts-expect-error: a call for staff says which right it needs
  operation('GET /wrong', { ...about, access: 'staff', answer })
  // @ts-expect-error: a call for applications says which scope it needs
  operation('GET /wrong', { ...about, access: 'service', answer })
  // @ts-expect-error: every call says who may make it
  operation('GET /wrong', { ...about, limit: 'none', answer })
  // @ts-expect-error: there is no such error
  operation('GET /wrong', { ...about, access: 'public', refuses: ['refused'], answer })
  // @ts-expect-error: a stranger has no session
  operation('GET /wrong', { ...about, access: 'public', answer: ({ caller }) => caller.id })
  // @ts-expect-error: a student is not a member of staff
  operation('GET /wrong', { ...about, access: 'student', answer: ({ caller }) => caller.may })

  const reply = Type.Object({ name: Type.String() })
  const body = Type.Object({ first: Type.String() })
  operation('POST /right', {
    ...about,
    access: 'public',
    body,
    reply,
    answer: async ({ body: { first } }) => ({ name: first }),
  })
  // @ts-expect-error: the reply is not what the schema says
  operation('GET /wrong', { ...about, access: 'public', reply, answer: async () => ({ name: 1 }) })
  // @ts-expect-error: the body has no such member
  operation('POST /wrong', { ...about, access: 'public', body, answer: ({ body: { last } }) => last })

  // @ts-expect-error: students do not close their accounts
  eventHappened('student.closed', bySystem, { id: '', at: 0 })
  // @ts-expect-error: only a veterinarian's account is closed
  eventOf<Role>('veterinarian', 'closed')
  // @ts-expect-error: there is no such event
  eventHappened('session.begun', bySystem, { id: '', at: 0 })
}

test('A route that does not say who may call it, or says it in other words, stops the start', async () => {
  const app = Fastify()
  new Guard(app, {
    sessions,
    proofs: { mustUsePasskey: () => false, methodsOf: async () => [] },
    buckets: null,
    clock: systemClock,
    log: app.log,
    networkOf: () => ({ fingerprint: '', wider: [] }),
    portal: { refuseForeign: () => {} },
  })
  const bare = { method: 'GET', url: '/bare', handler: async () => ({}) } as const
  assert.throws(() => app.route(bare), /GET \/bare does not say who may call it/)
  assert.throws(() => app.route({ ...bare, config: { access: 'publik' } }), /does not say/)
  app.route({ ...bare, config: { access: 'public' } })
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
