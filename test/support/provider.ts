/**
 * A provider of school accounts over real HTTP that signs what a test says, so that it can lie in every way. It answers
 * for the account that the test has put at its browser.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose/jwt/sign'
import { exportJWK } from 'jose/key/export'
import { generateKeyPair } from 'jose/key/generate/keypair'

export type TestClaims = Readonly<Record<string, unknown>>

/** Ways in which the provider is not as it should be. */
export interface Wrongs {
  /** In the ID token. */
  readonly issuer?: string
  readonly audience?: string
  readonly nonce?: string
  /** How far its clock is off. */
  readonly clockOffMs?: number
  readonly lifetimeMs?: number
  /** Signs with a key that is not among those it publishes. */
  readonly foreignKey?: boolean
  readonly unsigned?: boolean
  /** The `iss` of its answer; null leaves it out. */
  readonly answerIssuer?: string | null
  /** An OAuth error instead of a code. */
  readonly error?: string
  readonly state?: string
  readonly tokenStatus?: number
}

export interface TestProvider {
  readonly issuer: string
  readonly clientId: string
  readonly secret: string
  /** Who is at the provider's form. */
  claims: TestClaims
  /** Claims that only userinfo has. */
  userinfo: TestClaims
  wrongs: Wrongs
  /** Whether it shows a page with a link, as a form would, or sends the browser back at once. */
  shows: 'page' | 'nothing'
  /** The issuer of its metadata, if that changes. */
  metadataIssuer: string
  /** The paths that fail or are never answered. */
  broken: Map<string, 'fails' | 'hangs' | 'huge' | 'redirects'>
  /** Requests by path. */
  readonly seen: Map<string, number>
  /** The parameters of the last authorization request. */
  asked: URLSearchParams
  /** Replaces the key. The old one is no longer published. */
  rotateKey(): Promise<void>
  logoutToken(claims: TestClaims, wrongs?: Wrongs): Promise<string>
  stop(): Promise<void>
}

const keyPair = () => generateKeyPair('RS256', { extractable: true })

export async function startProvider(now: () => number, port = 0): Promise<TestProvider> {
  let kid = 0
  let key = await keyPair()
  const foreign = await keyPair()
  const codes = new Map<
    string,
    { claims: TestClaims; nonce: string; challenge: string; maxAge: string | null; wrongs: Wrongs }
  >()
  const tokens = new Map<string, TestClaims>()

  const sign = (claims: TestClaims, type: string, wrongs: Wrongs) => {
    const at = Math.floor((now() + (wrongs.clockOffMs ?? 0)) / 1000)
    const all = {
      iss: wrongs.issuer ?? provider.issuer,
      aud: wrongs.audience ?? provider.clientId,
      iat: at,
      exp: at + (wrongs.lifetimeMs ?? 300_000) / 1000,
      ...claims,
    }
    if (wrongs.unsigned) {
      const text = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      return `${text({ alg: 'none' })}.${text(all)}.`
    }
    return new SignJWT(all)
      .setProtectedHeader({ alg: 'RS256', typ: type, kid: `key-${kid}` })
      .sign((wrongs.foreignKey ? foreign : key).privateKey)
  }

  const answers: Record<
    string,
    (request: IncomingMessage, url: URL, reply: ServerResponse) => Promise<void>
  > = {
    async '/.well-known/openid-configuration'(_request, _url, reply) {
      const { issuer } = provider
      json(reply, 200, {
        issuer: provider.metadataIssuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        userinfo_endpoint: `${issuer}/userinfo`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        id_token_signing_alg_values_supported: ['RS256'],
        subject_types_supported: ['public'],
      })
    },
    async '/keys'(_request, _url, reply) {
      const jwk = await exportJWK(key.publicKey)
      json(reply, 200, { keys: [{ ...jwk, kid: `key-${kid}`, use: 'sig', alg: 'RS256' }] })
    },
    async '/authorize'(_request, url, reply) {
      const asked = url.searchParams
      provider.asked = asked
      const { wrongs } = provider
      const code = `code-${codes.size}-${Math.random()}`
      codes.set(code, {
        claims: provider.claims,
        nonce: asked.get('nonce') ?? '',
        challenge: asked.get('code_challenge') ?? '',
        maxAge: asked.get('max_age'),
        wrongs,
      })
      const back = new URL(asked.get('redirect_uri')!)
      if (wrongs.error) back.searchParams.set('error', wrongs.error)
      else back.searchParams.set('code', code)
      back.searchParams.set('state', wrongs.state ?? asked.get('state')!)
      if (wrongs.answerIssuer !== null) back.searchParams.set('iss', wrongs.answerIssuer ?? provider.issuer)
      if (provider.shows === 'nothing') return void reply.writeHead(302, { Location: back.href }).end()
      reply
        .writeHead(200, { 'Content-Type': 'text/html' })
        .end(`<!doctype html><title>School</title><a href="${back.href.replaceAll('&', '&amp;')}">Go on</a>`)
    },
    async '/token'(request, _url, reply) {
      const form = new URLSearchParams(await textOf(request))
      const basic = Buffer.from((request.headers.authorization ?? '').slice(6), 'base64').toString()
      // RFC 6749 §2.3.1: both parts are encoded as in a form.
      const [id, secret] =
        basic === ''
          ? [form.get('client_id'), form.get('client_secret')]
          : basic.split(':').map(decodeURIComponent)
      if (id !== provider.clientId || secret !== provider.secret)
        return json(reply, 401, { error: 'invalid_client' })
      const code = codes.get(form.get('code') ?? '')
      codes.delete(form.get('code') ?? '')
      const digest = await crypto.subtle.digest('SHA-256', Buffer.from(form.get('code_verifier') ?? ''))
      if (!code || Buffer.from(digest).toString('base64url') !== code.challenge)
        return json(reply, 400, { error: 'invalid_grant' })
      const { claims, maxAge, wrongs } = code
      if (wrongs.tokenStatus) return json(reply, wrongs.tokenStatus, { error: 'server_error' })
      const nonce = wrongs.nonce ?? code.nonce
      const accessToken = `access-${Math.random()}`
      tokens.set(accessToken, claims)
      json(reply, 200, {
        access_token: accessToken,
        token_type: 'Bearer',
        // OpenID Connect Core §3.1.2.1: whoever asks with max_age is told when it was. A test may take it away.
        id_token: await sign(
          { ...(maxAge !== null && { auth_time: Math.floor(now() / 1000) }), ...claims, nonce },
          'JWT',
          wrongs,
        ),
      })
    },
    async '/userinfo'(request, _url, reply) {
      const claims = tokens.get((request.headers.authorization ?? '').slice('Bearer '.length))
      if (!claims) return json(reply, 401, {})
      json(reply, 200, { sub: claims.sub, ...provider.userinfo })
    },
  }

  const server = createServer((request, reply) => {
    const url = new URL(request.url!, 'http://localhost')
    provider.seen.set(url.pathname, (provider.seen.get(url.pathname) ?? 0) + 1)
    const broken = provider.broken.get(url.pathname)
    if (broken === 'hangs') return
    if (broken === 'fails') return void reply.writeHead(500).end('down')
    if (broken === 'redirects') return void reply.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end()
    if (broken === 'huge') return json(reply, 200, { issuer: 'x'.repeat(1_000_000) })
    const answer = answers[url.pathname]
    if (answer) answer(request, url, reply).catch(() => reply.destroy())
    else reply.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const provider: TestProvider = {
    issuer,
    clientId: 'chiron-at-school',
    secret: 'a-secret-of-the-provider',
    claims: {},
    userinfo: {},
    wrongs: {},
    shows: 'nothing',
    metadataIssuer: issuer,
    broken: new Map(),
    seen: new Map(),
    asked: new URLSearchParams(),
    async rotateKey() {
      kid++
      key = await keyPair()
    },
    async logoutToken(claims, wrongs = {}) {
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
      return sign({ jti: String(Math.random()), events, ...claims }, 'logout+jwt', wrongs)
    },
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  return provider
}

function json(reply: ServerResponse, status: number, body: object): void {
  reply.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
