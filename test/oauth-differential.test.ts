/**
 * The same requests to Chiron and to `oidc-provider`: the same kind of outcome, except where a difference is stated with
 * its reason. Each row is a right request with one change.
 */
import assert from 'node:assert/strict'
import { after, before, describe, suite, test } from 'node:test'
import fc from 'fast-check'
import { second } from '../src/platform/lib/clock.ts'
import { addClient, pkce, type TestClient } from './support/applications.ts'
import { authorize, cookieFor } from './support/authorize.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type ReferenceProvider, startReferenceProvider } from './support/reference-provider.ts'
import { type Reply, type Service, startService } from './support/service.ts'
import { wire } from './support/wire.ts'

const redirectUri = 'https://app.example/back'
const nativeUri = 'http://127.0.0.1:8000/cb'
const scopes = 'openid profile email offline_access'

/** Parameters as they are sent; names may repeat. */
type Pairs = [name: string, value: string][]
type Name = 'web' | 'other' | 'spa' | 'native' | 'legacy' | 'service'

const registered: Record<Name, { kind: 'web' | 'spa' | 'native' | 'service'; uri: string; pkce?: false }> = {
  web: { kind: 'web', uri: redirectUri },
  other: { kind: 'web', uri: redirectUri },
  spa: { kind: 'spa', uri: redirectUri },
  native: { kind: 'native', uri: nativeUri },
  legacy: { kind: 'web', uri: redirectUri, pkce: false },
  service: { kind: 'service', uri: '' },
}
const names = Object.keys(registered) as Name[]

interface Difference {
  readonly chiron: string
  readonly reference: string
  readonly why: string
}

/** One of the two, as a client and a browser see it. */
interface Side {
  readonly name: 'chiron' | 'reference'
  readonly url: string
  readonly clients: Readonly<Record<Name, TestClient>>
  readonly paths: Readonly<Record<'token' | 'introspect' | 'revoke' | 'userinfo', string>>
  /** What comes of an authorization request: a page, the client's address, or a question to the reader. */
  visit(query: string, isSignedIn: boolean): Promise<{ page: true } | { location: string } | { asks: true }>
}

suite('Chiron and oidc-provider', () => {
  let service: Service
  let reference: ReferenceProvider
  let sides: [Side, Side]

  before(async () => {
    service = await startService('sqlite')
    const chironClients = {} as Record<Name, TestClient>
    for (const name of names) {
      const { kind, uri, pkce } = registered[name]
      const options = kind === 'service' ? {} : { redirectUris: [uri], scopes }
      chironClients[name] = await addClient(service, { kind, ...options, ...(pkce === false && { pkce }) })
    }
    const hasSecret = (name: Name) => chironClients[name].secret !== null
    reference = await startReferenceProvider(
      names.map((name) => {
        const { kind, uri } = registered[name]
        return {
          client_id: name,
          ...(hasSecret(name) ? { client_secret: 'a secret of a client' } : {}),
          token_endpoint_auth_method: hasSecret(name) ? 'client_secret_basic' : 'none',
          application_type: kind === 'native' ? 'native' : 'web',
          scope: kind === 'service' ? 'roster.read events.read' : scopes,
          ...(kind === 'service'
            ? { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }
            : { grant_types: ['authorization_code', 'refresh_token'], redirect_uris: [uri] }),
        }
      }),
      ['legacy'],
    )
    const referenceClients = Object.fromEntries(
      names.map((name) => {
        const secret = hasSecret(name) ? 'a secret of a client' : null
        return [name, { id: name, secret, redirectUri: registered[name].uri }]
      }),
    ) as Record<Name, TestClient>
    const cookie = cookieFor(await service.signIn(freshAddress(), freshNetwork()))
    // A sign-in of this very moment would be the new proof that prompt=login wants.
    service.clock.advance(second)
    const chiron: Side = {
      name: 'chiron',
      url: service.url,
      clients: chironClients,
      paths: {
        token: '/oauth/token',
        introspect: '/oauth/introspect',
        revoke: '/oauth/revoke',
        userinfo: '/oauth/userinfo',
      },
      async visit(query, isSignedIn) {
        const page = await wire(service.url, `/oauth/authorize?${query}`, { headers: freshNetwork() })
        if (page.status === 400) return { page: true }
        if (page.status === 303) return { location: page.headers.get('location')! }
        assert.equal(page.status, 200)
        const { status, json } = await authorize(service, query, isSignedIn ? { cookie } : {})
        assert.equal(status, 200)
        return json.need ? { asks: true } : { location: json.location }
      },
    }
    const other: Side = {
      name: 'reference',
      url: reference.url,
      clients: referenceClients,
      paths: {
        token: '/token',
        introspect: '/token/introspection',
        revoke: '/token/revocation',
        userinfo: '/me',
      },
      async visit(query, isSignedIn) {
        const headers: Record<string, string> = isSignedIn ? { cookie: reference.cookie } : {}
        const reply = await wire(reference.url, `/auth?${query}`, { headers })
        const location = reply.headers.get('location')
        if (location === null) {
          assert.equal(reply.status, 400, reply.text)
          return { page: true }
        }
        return location.startsWith('/interaction/') ? { asks: true } : { location }
      },
    }
    sides = [chiron, other]
  })
  after(async () => {
    await service.stop()
    await reference.close()
  })

  /** What came of it in a word: `page`, `asks`, `code`, or the error that the client gets. */
  const outcomeOf = async (side: Side, query: string, isSignedIn: boolean): Promise<string> => {
    const result = await side.visit(query, isSignedIn)
    if ('page' in result) return 'page'
    if ('asks' in result) return 'asks'
    const { search, hash, hostname } = new URL(result.location)
    assert.ok(['app.example', '127.0.0.1'].includes(hostname), result.location)
    // The reference answers those who ask for a fragment in one.
    const answer = new URLSearchParams(search || hash.slice(1))
    assert.ok(answer.has('iss'))
    return answer.get('error') ?? (answer.has('code') ? 'code' : 'nothing')
  }

  interface Row {
    readonly name: string
    readonly client?: Name
    readonly change: (pairs: Pairs) => Pairs
    /** The outcomes for somebody signed in, and for somebody who is not. */
    readonly differs?: Difference
  }
  const set =
    (changes: Record<string, string | undefined>) =>
    (pairs: Pairs): Pairs => [
      ...pairs.filter(([name]) => !(name in changes)),
      ...Object.entries(changes).filter((pair): pair is [string, string] => pair[1] !== undefined),
    ]
  const add =
    (...more: Pairs) =>
    (pairs: Pairs): Pairs => [...pairs, ...more]

  const twice =
    (name: string) =>
    (pairs: Pairs): Pairs => {
      const value = pairs.find(([one]) => one === name)?.[1] ?? '1'
      return [...pairs.filter(([one]) => one !== name), [name, value], [name, value]]
    }

  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
  const right = (side: Side, name: Name): Pairs => [
    ['client_id', side.clients[name].id],
    ['redirect_uri', registered[name].uri],
    ['response_type', 'code'],
    ['scope', 'openid profile'],
    ['state', 'a state'],
    ['nonce', 'a nonce'],
    ['code_challenge', challenge],
    ['code_challenge_method', 'S256'],
  ]
  const noPkce = { code_challenge: undefined, code_challenge_method: undefined }

  const rows: Row[] = [
    { name: 'a right request', change: add() },
    { name: 'an unknown parameter', change: set({ utm_source: 'mail' }) },
    { name: 'no client', change: set({ client_id: undefined }) },
    { name: 'an unknown client', change: set({ client_id: 'nobody' }) },
    { name: 'no redirect URI', change: set({ redirect_uri: undefined }) },
    { name: 'another redirect URI', change: set({ redirect_uri: 'https://evil.example/back' }) },
    { name: 'a longer redirect URI', change: set({ redirect_uri: `${redirectUri}/` }) },
    { name: 'a redirect URI with a query', change: set({ redirect_uri: `${redirectUri}?x=1` }) },
    { name: 'no response_type', change: set({ response_type: undefined }) },
    { name: 'the implicit flow', change: set({ response_type: 'token' }) },
    { name: 'the hybrid flow', change: set({ response_type: 'code id_token' }) },
    { name: 'no state', change: set({ state: undefined }) },
    { name: 'no nonce', change: set({ nonce: undefined }) },
    {
      name: 'no scope',
      change: set({ scope: undefined }),
      differs: {
        chiron: 'invalid_scope, invalid_scope',
        reference: 'invalid_request, invalid_request',
        why: 'RFC 6749 §3.3 names this error',
      },
    },
    { name: 'openid alone', change: set({ scope: 'openid' }) },
    { name: 'a scope that the client does not have', change: set({ scope: 'openid roster.read' }) },
    { name: 'an unknown scope', change: set({ scope: 'openid admin' }) },
    { name: 'a scope twice', change: set({ scope: 'openid openid profile' }) },
    { name: 'no PKCE', change: set(noPkce) },
    { name: 'no PKCE, of a client without', client: 'legacy', change: set(noPkce) },
    { name: 'PKCE, of a client without', client: 'legacy', change: add() },
    { name: 'a method without a challenge', change: set({ code_challenge: undefined }) },
    { name: 'a challenge without a method', change: set({ code_challenge_method: undefined }) },
    { name: 'a plain challenge', change: set({ code_challenge_method: 'plain' }) },
    { name: 'a challenge that is too short', change: set({ code_challenge: challenge.slice(1) }) },
    { name: 'a challenge of other characters', change: set({ code_challenge: `${challenge.slice(1)}=` }) },
    { name: 'prompt none', change: set({ prompt: 'none' }) },
    { name: 'prompt login', change: set({ prompt: 'login' }) },
    { name: 'prompt consent', change: set({ prompt: 'consent' }) },
    {
      name: 'prompt select_account',
      change: set({ prompt: 'select_account' }),
      differs: {
        chiron: 'asks, asks',
        reference: 'invalid_request, invalid_request',
        why: 'the reference has it only with a policy of its own',
      },
    },
    { name: 'prompt none select_account', change: set({ prompt: 'none select_account' }) },
    { name: 'prompt login consent', change: set({ prompt: 'login consent' }) },
    { name: 'prompt none login', change: set({ prompt: 'none login' }) },
    { name: 'an unknown prompt', change: set({ prompt: 'dance' }) },
    { name: 'an empty prompt', change: set({ prompt: '' }) },
    { name: 'max_age', change: set({ max_age: '3600' }) },
    { name: 'a negative max_age', change: set({ max_age: '-1' }) },
    { name: 'a max_age that is not a number', change: set({ max_age: 'soon' }) },
    { name: 'response_mode query', change: set({ response_mode: 'query' }) },
    {
      name: 'an unknown response_mode',
      change: set({ response_mode: 'pigeon' }),
      differs: {
        chiron: 'invalid_request, invalid_request',
        reference: 'unsupported_response_mode, unsupported_response_mode',
        why: 'no standard has an error for it',
      },
    },
    { name: 'a request object', change: set({ request: 'e30.e30.' }) },
    { name: 'a request by reference', change: set({ request_uri: 'https://app.example/request' }) },
    { name: 'a registration', change: set({ registration: '{}' }) },
    { name: 'claims', change: set({ claims: '{"id_token":{"email":null}}' }) },
    {
      name: 'login_hint, ui_locales and acr_values',
      change: set({ login_hint: 'ada', ui_locales: 'fr', acr_values: 'x' }),
    },
    { name: 'a single-page application', client: 'spa', change: add() },
    { name: 'a single-page application without PKCE', client: 'spa', change: set(noPkce) },
    { name: 'a native application', client: 'native', change: add() },
    {
      name: 'a native application, prompt none',
      client: 'native',
      change: set({ prompt: 'none' }),
      differs: {
        chiron: 'consent_required, login_required',
        reference: 'interaction_required, login_required',
        why: 'a confirmation is what is missing',
      },
    },
    {
      name: 'a native application at another port',
      client: 'native',
      change: set({ redirect_uri: 'http://127.0.0.1:9/cb' }),
    },
    {
      name: 'a native application at another path',
      client: 'native',
      change: set({ redirect_uri: 'http://127.0.0.1:8000/other' }),
    },
    { name: 'a service', client: 'service', change: set({ redirect_uri: redirectUri }) },
    ...[
      'client_id',
      'response_type',
      'scope',
      'state',
      'nonce',
      'code_challenge',
      'prompt',
      'max_age',
      'login_hint',
    ].map((name): Row => ({ name: `${name} twice`, change: twice(name) })),
    { name: 'redirect_uri twice', change: twice('redirect_uri') },
    {
      name: 'an unknown parameter twice',
      change: twice('utm_source'),
      differs: {
        chiron: 'invalid_request, invalid_request',
        reference: 'code, asks',
        why: 'RFC 6749 §3.1 allows no parameter twice',
      },
    },
  ]

  const queryFor = (side: Side, { client = 'web', change }: Row) =>
    new URLSearchParams(change(right(side, client))).toString()
  const bothWays = async (side: Side, row: Row) => {
    const query = queryFor(side, row)
    return [await outcomeOf(side, query, true), await outcomeOf(side, query, false)].join(', ')
  }

  const same = (row: { differs?: Difference }, [chiron, reference]: string[]) => {
    const { differs } = row
    if (!differs) assert.equal(chiron, reference)
    else assert.deepEqual([chiron, reference], [differs.chiron, differs.reference])
  }

  describe('Authorization', () => {
    for (const row of rows)
      test(row.name, async () => {
        same(row, [await bothWays(sides[0], row), await bothWays(sides[1], row)])
      })

    test('Two changes together: a page, an error, a question or a code at both', async () => {
      const kindOf = (outcome: string) => (['page', 'asks', 'code'].includes(outcome) ? outcome : 'error')
      const alike = fc.constantFrom(...rows.filter(({ differs, client }) => !differs && !client))
      await fc.assert(
        fc.asyncProperty(alike, alike, fc.boolean(), async (one, two, isSignedIn) => {
          const row = { name: '', change: (pairs: Pairs) => two.change(one.change(pairs)) }
          const [chiron, other] = await Promise.all(
            sides.map(async (side) => kindOf(await outcomeOf(side, queryFor(side, row), isSignedIn))),
          )
          assert.equal(chiron, other, `${one.name} and ${two.name}`)
        }),
        { numRuns: 300 },
      )
    })
  })

  describe('Token endpoint', () => {
    const basic = ({ id, secret }: Pick<TestClient, 'id' | 'secret'>) =>
      `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret ?? '')}`).toString('base64')}`
    const post = (side: Side, path: string, pairs: Pairs, authorization?: string) =>
      wire(side.url, path, {
        method: 'POST',
        headers: {
          ...freshNetwork(),
          'content-type': 'application/x-www-form-urlencoded',
          ...(authorization && { authorization }),
        },
        body: new URLSearchParams(pairs).toString(),
      })
    const outcome = ({ status, json }: Reply) => [status, json?.error].filter(Boolean).join(' ')
    /** With its secret in the header, or its id in the form. */
    const call = (side: Side, name: Name, pairs: Pairs, path = side.paths.token) => {
      const client = side.clients[name]
      return client.secret === null
        ? post(side, path, add(['client_id', client.id])(pairs))
        : post(side, path, pairs, basic(client))
    }
    /** The form with which a client redeems a new code. */
    const redemption = async (side: Side, name: Name, { scope = 'openid', isPlain = false } = {}) => {
      const { verifier, challenge } = pkce()
      const query = set(isPlain ? noPkce : { code_challenge: challenge })(set({ scope })(right(side, name)))
      const result = await side.visit(new URLSearchParams(query).toString(), true)
      assert.ok('location' in result)
      const code = new URL(result.location).searchParams.get('code')
      assert.ok(code, result.location)
      const form: Pairs = [
        ['grant_type', 'authorization_code'],
        ['code', code],
        ['redirect_uri', registered[name].uri],
      ]
      return isPlain ? form : add(['code_verifier', verifier])(form)
    }
    const tokens = async (side: Side, name: Name, options = {}) => {
      const reply = await call(side, name, await redemption(side, name, options))
      assert.equal(reply.status, 200, reply.text)
      return reply.json as { access_token: string; refresh_token: string }
    }
    const refreshing = (token: string): Pairs => [
      ['grant_type', 'refresh_token'],
      ['refresh_token', token],
    ]
    const refresh = (side: Side, name: Name, token: string, change = add()) =>
      call(side, name, change(refreshing(token)))
    const isActive = async (side: Side, name: Name, token: string) =>
      `active: ${(await call(side, name, [['token', token]], side.paths.introspect)).json?.active}`

    const changed =
      (name: Name, change: (pairs: Pairs) => Pairs, options = {}) =>
      async (side: Side) =>
        outcome(await call(side, name, change(await redemption(side, name, options))))
    const asService = (change: (pairs: Pairs) => Pairs) => async (side: Side) =>
      outcome(await call(side, 'service', change([['grant_type', 'client_credentials']])))
    const refreshed =
      (change: (pairs: Pairs) => Pairs, name: Name = 'web') =>
      async (side: Side) =>
        outcome(
          await refresh(
            side,
            name,
            (await tokens(side, name, { scope: 'openid profile' })).refresh_token,
            change,
          ),
        )

    const cases: { name: string; run: (side: Side) => Promise<string>; differs?: Difference }[] = [
      { name: 'a right code', run: changed('web', add()) },
      { name: 'a right code of a single-page application', run: changed('spa', add()) },
      { name: 'a right code without PKCE', run: changed('legacy', add(), { isPlain: true }) },
      { name: 'an unknown parameter', run: changed('web', add(['x', 'y'])) },
      { name: 'no grant_type', run: changed('web', set({ grant_type: undefined })) },
      { name: 'an empty grant_type', run: changed('web', set({ grant_type: '' })) },
      { name: 'an unknown grant_type', run: changed('web', set({ grant_type: 'dance' })) },
      { name: 'a password', run: changed('web', set({ grant_type: 'password' })) },
      { name: 'grant_type twice', run: changed('web', twice('grant_type')) },
      { name: 'code twice in the form', run: changed('web', twice('code')) },
      { name: 'code_verifier twice', run: changed('web', twice('code_verifier')) },
      { name: 'no code', run: changed('web', set({ code: undefined })) },
      { name: 'an unknown code', run: changed('web', set({ code: 'x'.repeat(43) })) },
      {
        name: 'no redirect URI',
        run: changed('web', set({ redirect_uri: undefined })),
        differs: {
          chiron: '400 invalid_grant',
          reference: '400 invalid_request',
          why: 'one error for every address that is not that of the request',
        },
      },
      { name: 'another redirect URI', run: changed('web', set({ redirect_uri: `${redirectUri}/` })) },
      { name: 'no verifier', run: changed('web', set({ code_verifier: undefined })) },
      { name: 'another verifier', run: changed('web', set({ code_verifier: pkce().verifier })) },
      {
        name: 'a short verifier',
        run: changed('web', set({ code_verifier: 'x' })),
        differs: {
          chiron: '400 invalid_grant',
          reference: '400 invalid_request',
          why: 'RFC 7636 §4.6 has one error for every verifier that does not fit',
        },
      },
      {
        name: 'a verifier where there was no challenge',
        run: changed('legacy', add(['code_verifier', pkce().verifier]), { isPlain: true }),
      },
      {
        name: 'a code of another client',
        run: async (side) => outcome(await call(side, 'other', await redemption(side, 'web'))),
      },
      {
        name: 'a code used twice, and what it had given',
        async run(side) {
          const form = await redemption(side, 'web')
          const first = await call(side, 'web', form)
          const second = await call(side, 'web', form)
          const after = await refresh(side, 'web', first.json.refresh_token)
          return [first, second, after].map(outcome).join(', ')
        },
      },
      {
        name: 'a right refresh token, twice in a chain',
        async run(side) {
          const first = await refresh(side, 'web', (await tokens(side, 'web')).refresh_token)
          return [first, await refresh(side, 'web', first.json.refresh_token)].map(outcome).join(', ')
        },
      },
      { name: 'a refresh of a single-page application', run: refreshed(add(), 'spa') },
      { name: 'a narrower scope', run: refreshed(add(['scope', 'openid'])) },
      { name: 'a wider scope', run: refreshed(add(['scope', 'openid email'])) },
      { name: 'no refresh token', run: refreshed(set({ refresh_token: undefined })) },
      { name: 'an unknown refresh token', run: refreshed(set({ refresh_token: 'x' })) },
      { name: 'a refresh token twice', run: refreshed(twice('refresh_token')) },
      {
        name: 'a refresh token of another client',
        run: async (side) => outcome(await refresh(side, 'other', (await tokens(side, 'web')).refresh_token)),
      },
      {
        name: 'a refresh token from before the previous, and then the newest',
        async run(side) {
          const { refresh_token: first } = await tokens(side, 'web')
          const second = (await refresh(side, 'web', first)).json.refresh_token
          const third = (await refresh(side, 'web', second)).json.refresh_token
          return [await refresh(side, 'web', first), await refresh(side, 'web', third)]
            .map(outcome)
            .join(', ')
        },
      },
      {
        name: 'the previous refresh token at once, and then the newest',
        async run(side) {
          const { refresh_token: first } = await tokens(side, 'web')
          const { refresh_token: second } = (await refresh(side, 'web', first)).json
          return [await refresh(side, 'web', first), await refresh(side, 'web', second)]
            .map(outcome)
            .join(', ')
        },
        differs: {
          chiron: '200, 200',
          reference: '400 invalid_grant, 400 invalid_grant',
          why: 'the reply may have been lost, so it is given again',
        },
      },
      {
        name: 'an access token as a refresh token',
        run: async (side) => outcome(await refresh(side, 'web', (await tokens(side, 'web')).access_token)),
      },
      { name: 'a service', run: asService(add()) },
      { name: 'a service with a scope', run: asService(add(['scope', 'roster.read'])) },
      { name: 'a service with a scope of people', run: asService(add(['scope', 'openid'])) },
      {
        name: 'a service with an unknown scope',
        run: asService(add(['scope', 'roster.read admin'])),
      },
      {
        name: 'a client of people asks for itself',
        run: async (side) => outcome(await call(side, 'web', [['grant_type', 'client_credentials']])),
        differs: {
          chiron: '400 unauthorized_client',
          reference: '400 invalid_request',
          why: 'RFC 6749 §5.2 names this error for a grant that is not the client’s',
        },
      },
      {
        name: 'a service with a code',
        run: async (side) => outcome(await call(side, 'service', await redemption(side, 'web'))),
        differs: {
          chiron: '400 unauthorized_client',
          reference: '400 invalid_request',
          why: 'RFC 6749 §5.2 names this error for a grant that is not the client’s',
        },
      },
      {
        name: 'no client',
        run: async (side) => outcome(await post(side, side.paths.token, await redemption(side, 'web'))),
        differs: {
          chiron: '401 invalid_client',
          reference: '400 invalid_request',
          why: 'RFC 6749 §5.2 names this error for missing credentials',
        },
      },
      {
        name: 'an unknown client',
        run: async (side) =>
          outcome(
            await post(
              side,
              side.paths.token,
              await redemption(side, 'web'),
              basic({ id: 'nobody', secret: 'x' }),
            ),
          ),
      },
      {
        name: 'a wrong secret',
        run: async (side) =>
          outcome(
            await post(
              side,
              side.paths.token,
              await redemption(side, 'web'),
              basic({ id: side.clients.web.id, secret: 'x' }),
            ),
          ),
      },
      {
        name: 'no secret',
        run: async (side) =>
          outcome(
            await post(
              side,
              side.paths.token,
              add(['client_id', side.clients.web.id])(await redemption(side, 'web')),
            ),
          ),
      },
      {
        name: 'a header that is not Basic',
        run: async (side) =>
          outcome(await post(side, side.paths.token, await redemption(side, 'web'), 'Basic !')),
        differs: {
          chiron: '401 invalid_client',
          reference: '400 invalid_request',
          why: 'RFC 6749 §5.2 names this error for missing credentials',
        },
      },
      {
        name: 'the secret in the header and in the form',
        run: async (side) =>
          outcome(
            await call(
              side,
              'web',
              add(['client_secret', side.clients.web.secret!])(await redemption(side, 'web')),
            ),
          ),
      },
      {
        name: 'one client in the header, another in the form',
        run: async (side) =>
          outcome(
            await call(side, 'web', add(['client_id', side.clients.other.id])(await redemption(side, 'web'))),
          ),
      },
      {
        name: 'the secret in the form',
        run: async (side) => {
          const { id, secret } = side.clients.web
          const form = add(['client_id', id], ['client_secret', secret!])(await redemption(side, 'web'))
          return outcome(await post(side, side.paths.token, form))
        },
      },
      {
        name: 'a single-page application with a secret',
        run: async (side) => {
          const { id } = side.clients.spa
          return outcome(
            await post(side, side.paths.token, await redemption(side, 'spa'), basic({ id, secret: 'x' })),
          )
        },
      },
      {
        name: 'introspection of one’s own tokens, and of an unknown one',
        async run(side) {
          const { access_token, refresh_token } = await tokens(side, 'web')
          return [
            await isActive(side, 'web', access_token),
            await isActive(side, 'web', refresh_token),
            await isActive(side, 'web', 'x'),
          ].join(', ')
        },
      },
      {
        name: 'introspection without a token',
        run: async (side) => outcome(await call(side, 'web', [], side.paths.introspect)),
      },
      {
        name: 'introspection with a wrong secret',
        run: async (side) =>
          outcome(
            await post(
              side,
              side.paths.introspect,
              [['token', 'x']],
              basic({ id: side.clients.web.id, secret: 'x' }),
            ),
          ),
      },
      {
        name: 'introspection of another client’s token',
        run: async (side) => isActive(side, 'other', (await tokens(side, 'web')).access_token),
        differs: {
          chiron: 'active: false',
          reference: 'active: true',
          why: 'a client learns about its own tokens only',
        },
      },
      {
        name: 'revocation of a refresh token, and what is left',
        async run(side) {
          const { access_token, refresh_token } = await tokens(side, 'web')
          const revoked = await call(side, 'web', [['token', refresh_token]], side.paths.revoke)
          return [
            outcome(revoked),
            await isActive(side, 'web', refresh_token),
            await isActive(side, 'web', access_token),
            outcome(await refresh(side, 'web', refresh_token)),
          ].join(', ')
        },
      },
      {
        name: 'revocation of a token that is unknown',
        run: async (side) => outcome(await call(side, 'web', [['token', 'x']], side.paths.revoke)),
      },
      {
        name: 'revocation without a token',
        run: async (side) => outcome(await call(side, 'web', [], side.paths.revoke)),
      },
      {
        name: 'revocation of another client’s token',
        async run(side) {
          const { refresh_token } = await tokens(side, 'web')
          const revoked = await call(side, 'other', [['token', refresh_token]], side.paths.revoke)
          return [outcome(revoked), await isActive(side, 'web', refresh_token)].join(', ')
        },
        differs: {
          chiron: '200, active: true',
          reference: '400 invalid_request, active: true',
          why: 'the reply does not tell whether the token exists',
        },
      },
      {
        name: 'userinfo with an access token, a refresh token, and none',
        async run(side) {
          const { access_token, refresh_token } = await tokens(side, 'web')
          const ask = (headers: Record<string, string>) => wire(side.url, side.paths.userinfo, { headers })
          const replies = [
            await ask({ authorization: `Bearer ${access_token}` }),
            await ask({ authorization: `Bearer ${refresh_token}` }),
            await ask({}),
          ]
          return replies.map(({ status }) => status).join(', ')
        },
      },
      {
        name: 'userinfo with the token in a form, in a form and the header, and with a refresh token in a form',
        async run(side) {
          const { access_token, refresh_token } = await tokens(side, 'web')
          const ask = (token: string, headers: Record<string, string> = {}) =>
            wire(side.url, side.paths.userinfo, {
              method: 'POST',
              headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
              body: new URLSearchParams({ access_token: token }).toString(),
            })
          const replies = [
            await ask(access_token),
            await ask(access_token, { authorization: `Bearer ${access_token}` }),
            await ask(refresh_token),
          ]
          return replies.map(({ status, json }) => `${status} ${json.error ?? ''}`).join(', ')
        },
      },
    ]
    for (const row of cases)
      test(row.name, async () => {
        same(row, [await row.run(sides[0]), await row.run(sides[1])])
      })
  })
})
