/** Any parameters at the endpoints of clients: never a fault of the server, never tokens for a wrong request. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { addClient, codeFor, pkce, signInAt, type TestClient } from './support/applications.ts'
import { anyCharacter } from './support/arbitraries.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Service, type SignedIn, startService } from './support/service.ts'
import { wire } from './support/wire.ts'

/** RFC 6749 §5.2. */
const errors = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]
type Pairs = [name: string, value: string][]

const paths = ['/oauth/token', '/oauth/introspect', '/oauth/revoke'] as const

for (const engine of engines) {
  suite(`Requests of clients on ${engine}`, () => {
    let service: Service
    let who: SignedIn
    let clients: TestClient[]
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      who = await service.signIn(freshAddress())
      clients = [
        await addClient(service),
        await addClient(service, { kind: 'spa' }),
        await addClient(service, { kind: 'service' }),
      ]
    })
    after(() => service.stop())

    const send = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
      wire(service.url, path, {
        method: 'POST',
        headers: { ...freshNetwork(), 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body,
      })
    const refusedAsRfc6749 = ({ status, json, text, headers }: Awaited<ReturnType<typeof send>>) => {
      assert.ok(status === 400 || status === 401, `${status} ${text}`)
      assert.ok(errors.includes(json.error), text)
      assert.equal(status === 401, json.error === 'invalid_client')
      assert.deepEqual(Object.keys(json), ['error', 'error_description'])
      assert.match(json.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
      assert.equal(headers.get('cache-control'), 'no-store')
    }

    const anyText = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 60 }), fc.constant(''))
    const names = [
      'grant_type',
      'code',
      'redirect_uri',
      'code_verifier',
      'client_id',
      'client_secret',
      'refresh_token',
      'scope',
      'token',
      'token_type_hint',
      '__proto__',
    ]
    /** Values that pass the first checks. */
    const plausible = () =>
      fc.constantFrom(
        'authorization_code',
        'refresh_token',
        'client_credentials',
        'password',
        'openid',
        'roster.read',
        'https://app.example/back',
        'x'.repeat(43),
        'chiron',
        ...clients.map(({ id }) => id),
        who.access,
      )
    const pairs = () =>
      fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names), anyText), fc.oneof(plausible(), anyText)), {
        maxLength: 8,
      })

    test('Any form is refused as RFC 6749 says', async () => {
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...paths), pairs(), async (path, form) => {
          const reply = await send(path, new URLSearchParams(form).toString())
          // A client without a secret may revoke, and is not told that there was nothing to do.
          if (path === '/oauth/revoke' && reply.status === 200) assert.equal(reply.text, '{}')
          else refusedAsRfc6749(reply)
        }),
        { numRuns: 300 },
      )
    })

    test('Any bytes and any Authorization header are refused as RFC 6749 says', async () => {
      const header = fc.oneof(
        fc.base64String({ maxLength: 80 }).map((text) => `Basic ${text}`),
        fc.string({ maxLength: 40 }).map((text) => `Basic ${Buffer.from(text).toString('base64')}`),
        fc.constantFrom('Basic', 'Bearer x', 'Basic Og==', `Bearer ${who.access}`),
      )
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...paths),
          fc.uint8Array({ maxLength: 200 }),
          header,
          async (path, body, authorization) => {
            refusedAsRfc6749(await send(path, body, { authorization }))
          },
        ),
        { numRuns: 200 },
      )
    })

    test('A right request with one parameter changed, lost or doubled never gets tokens', async () => {
      const [web, spa] = clients as [TestClient, TestClient, TestClient]
      const change = fc.oneof(
        fc.record({ kind: fc.constant('replace' as const), value: fc.oneof(plausible(), anyText) }),
        fc.record({ kind: fc.constantFrom('lose' as const, 'double' as const), value: fc.constant('') }),
      )
      const redemption = async (client: TestClient): Promise<Pairs> => {
        const { verifier, challenge } = pkce()
        return [
          ['grant_type', 'authorization_code'],
          ['code', await codeFor(service, who, client, { challenge })],
          ['redirect_uri', client.redirectUri],
          ['code_verifier', verifier],
        ]
      }
      const refreshing = async (client: TestClient): Promise<Pairs> => [
        ['grant_type', 'refresh_token'],
        ['refresh_token', (await signInAt(service, who, client)).refresh],
      ]
      const input = [
        fc.constantFrom(web, spa),
        fc.constantFrom(redemption, refreshing),
        fc.nat({ max: 9 }),
        change,
      ] as const
      await fc.assert(
        fc.asyncProperty(...input, async (client, formOf, where, { kind, value }) => {
          const form = await formOf(client)
          if (client.secret === null) form.push(['client_id', client.id])
          const at = where % form.length
          const [name, before] = form[at]!
          if (kind === 'replace' && value === before) return
          const changed: Pairs = {
            replace: form.with(at, [name, value]),
            lose: form.toSpliced(at, 1),
            double: [...form, form[at]!],
          }[kind]
          const basic = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
          const headers: Record<string, string> = client.secret === null ? {} : { authorization: basic }
          refusedAsRfc6749(await send('/oauth/token', new URLSearchParams(changed).toString(), headers))
        }),
        { numRuns: 150 },
      )
    })
  })
}
