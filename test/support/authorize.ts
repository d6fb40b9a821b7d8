/** The requests with which clients send people to the portal, and the calls of its pages. */
import { signToken } from '../../src/identity/session/jwt.ts'
import { minute } from '../../src/platform/lib/clock.ts'
import { addClient, type ClientOptions, type TestClient } from './applications.ts'
import { portalCall } from './portal.ts'
import type { Reply, Service } from './service.ts'

export const callback = 'https://client.example/callback'
export const afterLogout = 'https://client.example/bye'
/** The example of RFC 7636, appendix B. */
export const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

export const newClient = (service: Service, options: ClientOptions = {}): Promise<TestClient> =>
  addClient(service, {
    redirectUris: [callback],
    logoutUris: [afterLogout],
    scopes: 'openid profile email offline_access',
    ...options,
  })

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

/** Signed with the service's own key. */
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
