/** Clients of the OpenID provider, written straight into the store, and the calls that they make. */
import { createHash, randomBytes } from 'node:crypto'
import { digestOf, registrationOf, secretIsRight } from '../../src/identity/clients/client.ts'
import { type ClientKind, hasSecret } from '../../src/identity/clients/kinds.ts'
import { accessTtlMs } from '../../src/identity/session/session.ts'
import type { Db } from '../../src/platform/db/db.ts'
import { bySystem } from '../../src/platform/lib/by.ts'
import type { Clock } from '../../src/platform/lib/clock.ts'
import { newId } from '../../src/platform/lib/random.ts'
import type { Role } from '../../src/roles.ts'
import type { Reply, Service, SignedIn } from './service.ts'

export interface TestClient {
  readonly id: string
  readonly secret: string | null
  readonly redirectUri: string
}

export interface ClientOptions {
  readonly name?: string
  readonly kind?: ClientKind
  readonly scopes?: string
  readonly roles?: string
  readonly redirectUris?: readonly string[]
  readonly logoutUris?: readonly string[]
  readonly backchannelUri?: string
  readonly consent?: 'never' | 'once'
  readonly subjectSalt?: string
  readonly pkce?: boolean
  readonly claimsInIdToken?: boolean
  readonly idTokenAlg?: 'ES256' | 'RS256'
  /** Null as in rows of programs before there was a choice. */
  readonly unverifiedVeterinarians?: boolean | null
  readonly disabled?: boolean
}

/** A service in this process, or the store and clock of one in another. */
type Registry = { readonly app: { readonly parts: { readonly db: Db } }; readonly clock: Pick<Clock, 'now'> }

export async function addClient(service: Registry, options: ClientOptions = {}): Promise<TestClient> {
  const { kind = 'web', redirectUris = kind === 'service' ? [] : ['https://app.example/back'] } = options
  const scopes =
    options.scopes ??
    (kind === 'service' ? 'roster.read events.read' : 'openid profile email classes account offline_access')
  const { unverifiedVeterinarians: unverified = true } = options
  const id = newId()
  const secret = hasSecret(kind) ? randomBytes(32).toString('base64url') : null
  await service.app.parts.db.run(
    `insert into client (id, name, kind, redirect_uris, logout_uris, backchannel_uri, scopes, roles, consent,
       subject_salt, pkce, claims_in_id_token, unverified_veterinarians, secret_digest, created_at, disabled_at,
       id_token_alg)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
    [
      id,
      options.name ?? 'Moodle',
      kind,
      JSON.stringify(redirectUris),
      JSON.stringify(options.logoutUris ?? []),
      options.backchannelUri ?? null,
      scopes,
      options.roles ?? 'veterinarian student staff',
      options.consent ?? 'never',
      options.subjectSalt ?? null,
      options.pkce === false ? 0 : 1,
      options.claimsInIdToken ? 1 : 0,
      unverified === null ? null : Number(unverified),
      secret && digestOf(secret),
      service.clock.now(),
      options.disabled ? service.clock.now() : null,
      options.idTokenAlg ?? 'ES256',
    ],
  )
  return { id, secret, redirectUri: redirectUris[0] ?? '' }
}

/** Whether a client can authenticate with this secret. */
export async function secretWorks(
  { app, clock }: Service,
  clientId: string,
  secret: string,
  at = clock.now(),
): Promise<boolean> {
  return secretIsRight(await registrationOf(app.parts.db, clientId), secret, at)
}

export function pkce() {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export interface AtClient {
  readonly access: string
  readonly refresh: string
  readonly idToken: string
  readonly sessionId: string
  readonly scope: string
}

interface AskOptions {
  readonly scope?: string
  readonly nonce?: string
  readonly challenge?: string | null
}

/** The code that the portal gives to a client for somebody who is signed in. */
export async function codeFor(
  service: Service,
  who: { readonly sessionId: string; readonly userId: string },
  client: TestClient,
  { scope = 'openid profile email', nonce = 'n', challenge = null }: AskOptions = {},
): Promise<string> {
  const code = randomBytes(32).toString('base64url')
  await service.app.parts.db.run(
    `insert into authorization_code (digest, client_id, redirect_uri, code_challenge, scope, nonce, person_id, parent_id, expires_at, language)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'en')`,
    [
      digestOf(code),
      client.id,
      client.redirectUri,
      challenge,
      scope,
      nonce,
      who.userId,
      who.sessionId,
      service.clock.now() + 60_000,
    ],
  )
  return code
}

/** Signs somebody in at a client. */
export async function signInAt(
  service: Service,
  who: { readonly sessionId: string; readonly userId: string },
  client: TestClient,
  options: AskOptions = {},
): Promise<AtClient> {
  const { verifier, challenge } = pkce()
  const code = await codeFor(service, who, client, { ...options, challenge })
  const { redirectUri: redirect_uri } = client
  const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier }
  const { status, json, text } = await callAs(service, client, '/oauth/token', form)
  if (status !== 200) throw new Error(`the token endpoint answered ${status}: ${text}`)
  const { sid } = JSON.parse(Buffer.from(json.access_token.split('.')[1], 'base64url').toString())
  return {
    access: json.access_token,
    refresh: json.refresh_token,
    idToken: json.id_token,
    sessionId: sid,
    scope: json.scope,
  }
}

/** A form to one of the endpoints, with the client's secret in the Authorization header if it has one. */
export function callAs(
  service: Service,
  client: Pick<TestClient, 'id' | 'secret'> | null,
  path: string,
  form: Record<string, string>,
): Promise<Reply> {
  const basic = (secret: string) => `Basic ${Buffer.from(`${client!.id}:${secret}`).toString('base64')}`
  const isPublic = client && client.secret === null
  return service.request(path, {
    method: 'POST',
    body: new URLSearchParams({ ...form, ...(isPublic && { client_id: client.id }) }).toString(),
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      ...(client?.secret && { Authorization: basic(client.secret) }),
    },
  })
}

/** Chiron's own interface. */
const audienceOf = ({ url }: Service) => url.replace('127.0.0.1', 'localhost')

/** A token that the client has for itself, with any scope. */
export async function serviceToken(
  service: Service,
  { id: clientId }: TestClient,
  scope: string,
): Promise<string> {
  const jti = newId()
  await service.app.parts.db.run(
    'insert into service_token (id, client_id, scope, expires_at) values ($1, $2, $3, $4)',
    [jti, clientId, scope, service.clock.now() + accessTtlMs],
  )
  const { sessions } = service.app.parts
  return sessions.accessToken({ sub: clientId, jti, clientId, audience: audienceOf(service), scope })
}

/** A token of a client for somebody who is signed in, with any scope. */
export async function clientToken(
  service: Service,
  { client, scope, role, from }: { client: TestClient; scope: string; role: Role; from: SignedIn },
): Promise<string> {
  const { sessions, db } = service.app.parts
  const id = newId()
  const clientId = client.id
  const session = {
    id,
    clientId,
    personId: from.userId,
    scope,
    startedFrom: from.sessionId,
    language: 'en',
    offline: false,
    now: service.clock.now(),
  }
  await db.decide(sessions.startingAtClient(session, bySystem))
  const about = { sub: from.userId, sid: id, roles: [role], jti: newId(), clientId, scope }
  return sessions.accessToken({ ...about, audience: audienceOf(service) })
}
