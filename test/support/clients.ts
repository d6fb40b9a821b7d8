/** Clients in the store, and the portal's calls that sign people in there and out again. */
import type { Client } from '../../src/identity/clients/client.ts'
import { signToken } from '../../src/identity/session/jwt.ts'
import { always } from '../../src/platform/db/db.ts'
import { bySystem } from '../../src/platform/lib/by.ts'
import { minute } from '../../src/platform/lib/clock.ts'
import { newId } from '../../src/platform/lib/random.ts'
import type { Role } from '../../src/roles.ts'
import { portalCall } from './portal.ts'
import type { Reply, Service } from './service.ts'

export const callback = 'https://client.example/callback'
export const afterLogout = 'https://client.example/bye'
/** The example of RFC 7636, appendix B. */
export const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

export type NewClient = Partial<Omit<Client, 'createdAt' | 'lastUsedAt' | 'subjectSalt'>>

export async function addClient(service: Service, client: NewClient = {}): Promise<string> {
  const {
    id = newId(),
    name = 'Moodle',
    kind = 'web',
    redirectUris = [callback],
    logoutUris = [afterLogout],
    backchannelUri = null,
    scopes = ['openid', 'profile', 'email', 'offline_access'],
    roles = ['veterinarian', 'student', 'staff'],
    consent = 'never',
    pkce = true,
    claimsInIdToken = false,
    disabledAt = null,
  } = client
  const values = [
    id,
    name,
    kind,
    JSON.stringify(redirectUris),
    JSON.stringify(logoutUris),
    backchannelUri,
    scopes.join(' '),
    roles.join(' '),
    consent,
    pkce ? 1 : 0,
    claimsInIdToken ? 1 : 0,
    service.clock.now(),
    disabledAt,
  ]
  await service.app.parts.db.run(
    `insert into client (id, name, kind, redirect_uris, logout_uris, backchannel_uri, scopes, roles, consent, pkce, claims_in_id_token, created_at, disabled_at)
     values (${values.map((_, i) => `$${i + 1}`).join(', ')})`,
    values,
  )
  return id
}

export type Parameters = Readonly<Record<string, string | undefined>>

/** A right request, with changes; undefined leaves a parameter out. */
export function requestOf(clientId: string, changes: Parameters = {}): string {
  const right = {
    client_id: clientId,
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid profile',
    state: 'a state',
    nonce: 'a nonce',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  const given = Object.entries({ ...right, ...changes }).filter(
    (one): one is [string, string] => one[1] !== undefined,
  )
  return new URLSearchParams(given).toString()
}

export const cookieFor = ({ refresh }: { refresh: string }) => `chiron_refresh=${refresh}`

/** What the page at /oauth/authorize asks. */
export function authorize(
  service: Service,
  query: string,
  { cookie, ...decision }: { cookie?: string; confirmed?: boolean; declined?: boolean } = {},
): Promise<Reply> {
  return portalCall(service, '/authorize', { ...(cookie && { cookie }), body: { query, ...decision } })
}

/** The parameters that an answer takes to the client. */
export const answerIn = (location: string): Record<string, string> =>
  Object.fromEntries(new URL(location).searchParams)

/** A session at a client, as a code starts one. */
export async function startAtClient(
  service: Service,
  { clientId, from, offline = false }: { clientId: string; from: string; offline?: boolean },
  role: Role = 'veterinarian',
): Promise<string> {
  const { sessions, db } = service.app.parts
  const session = { id: newId(), clientId, scope: 'openid', startedFrom: from, offline }
  const now = service.clock.now()
  await db.tx(sessions.startAtClient({ ...session, now }, role, bySystem, always))
  return session.id
}

export async function idToken(
  service: Service,
  claims: { aud: string; sub: string; sid: string },
  type: 'JWT' | 'at+jwt' | 'logout+jwt' = 'JWT',
): Promise<string> {
  const { app, clock, url } = service
  const [key, now] = [await app.parts.keys.signer(), clock.now()]
  return signToken(
    key,
    type,
    { iss: url.replace('127.0.0.1', 'localhost'), ...claims },
    { now, ttlMs: 15 * minute },
  )
}
