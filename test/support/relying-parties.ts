/** Applications made with libraries that others wrote, which sign people in here. One interface for both libraries. */
import assert from 'node:assert/strict'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import type { TestClient } from './applications.ts'
import { freshNetwork } from './fresh.ts'
import type { Calls } from './service.ts'

export interface Tokens {
  readonly access: string
  readonly refresh: string
  readonly idToken: string
  readonly scope: string
  /** The claims of the ID token, after the library has checked it. */
  readonly claims: Readonly<Record<string, unknown>> & { readonly sub: string }
}

export interface Sending {
  /** Where the application sends the browser. */
  readonly url: URL
  /** Takes the address to which the browser came back. */
  finish(back: URL): Promise<Tokens>
}

export interface SendOptions {
  readonly scope?: string
  readonly pkce?: boolean
  readonly state?: string
  readonly more?: Readonly<Record<string, string>>
  /** In seconds. */
  readonly maxAge?: number
}

export interface RelyingParty {
  send(options?: SendOptions): Promise<Sending>
  userinfo(tokens: Tokens): Promise<Readonly<Record<string, unknown>>>
  refresh(token: string, scope?: string): Promise<Tokens>
  introspect(token: string): Promise<Readonly<Record<string, unknown>> & { readonly active: boolean }>
  revoke(token: string): Promise<void>
  /** Tokens of a service. */
  ownToken(scope: string): Promise<{ readonly access: string; readonly scope: string }>
  logoutUrl(parameters: Record<string, string>): URL
}

export type AuthMethod = 'client_secret_basic' | 'client_secret_post' | 'none'

interface Party {
  readonly issuer: string
  readonly client: TestClient
  readonly method: AuthMethod
}

type Library = (party: Party) => Promise<RelyingParty>

export const libraries: Readonly<Record<string, Library>> = {
  'openid-client': openidClient,
  oauth4webapi: byOauth4webapi,
}

const defaultScope = 'openid profile email'

async function openidClient({ issuer, client, method }: Party): Promise<RelyingParty> {
  const secret = client.secret ?? ''
  const auth = {
    client_secret_basic: () => openid.ClientSecretBasic(secret),
    client_secret_post: () => openid.ClientSecretPost(secret),
    none: () => openid.None(),
  }[method]()
  const config = await openid.discovery(new URL(issuer), client.id, undefined, auth, {
    // Also checks the signature of ID tokens that come straight from the token endpoint.
    execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
  })
  const tokensOf = (reply: openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers): Tokens => ({
    access: reply.access_token,
    refresh: reply.refresh_token!,
    idToken: reply.id_token!,
    scope: reply.scope!,
    claims: { ...reply.claims()! },
  })
  return {
    async send({ scope = defaultScope, pkce = true, state = openid.randomState(), more, maxAge } = {}) {
      const [verifier, nonce] = [openid.randomPKCECodeVerifier(), openid.randomNonce()]
      const challenge = await openid.calculatePKCECodeChallenge(verifier)
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: client.redirectUri,
        scope,
        state,
        nonce,
        ...(pkce && { code_challenge: challenge, code_challenge_method: 'S256' }),
        ...(maxAge !== undefined && { max_age: String(maxAge) }),
        ...more,
      })
      const checks = {
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
        ...(pkce && { pkceCodeVerifier: verifier }),
        ...(maxAge !== undefined && { maxAge }),
      }
      return {
        url,
        finish: async (back) => tokensOf(await openid.authorizationCodeGrant(config, back, checks)),
      }
    },
    userinfo: ({ access, claims }) => openid.fetchUserInfo(config, access, claims.sub),
    refresh: async (token, scope) =>
      tokensOf(await openid.refreshTokenGrant(config, token, scope === undefined ? {} : { scope })),
    introspect: (token) => openid.tokenIntrospection(config, token),
    revoke: (token) => openid.tokenRevocation(config, token),
    async ownToken(scope) {
      const reply = await openid.clientCredentialsGrant(config, { scope })
      return { access: reply.access_token, scope: reply.scope! }
    },
    logoutUrl: (parameters) => openid.buildEndSessionUrl(config, parameters),
  }
}

const insecure = { [oauth.allowInsecureRequests]: true }

/** The steps are those of the library's own documentation. */
async function byOauth4webapi({ issuer, client, method }: Party): Promise<RelyingParty> {
  const id = new URL(issuer)
  const server = await oauth.processDiscoveryResponse(id, await oauth.discoveryRequest(id, insecure))
  const me = { client_id: client.id }
  const secret = client.secret ?? ''
  const auth = {
    client_secret_basic: () => oauth.ClientSecretBasic(secret),
    client_secret_post: () => oauth.ClientSecretPost(secret),
    none: () => oauth.None(),
  }[method]()
  const tokensOf = async (reply: oauth.TokenEndpointResponse, response: Response): Promise<Tokens> => {
    await oauth.validateApplicationLevelSignature(server, response, insecure)
    return {
      access: reply.access_token,
      refresh: reply.refresh_token!,
      idToken: reply.id_token!,
      scope: reply.scope!,
      claims: { ...oauth.getValidatedIdTokenClaims(reply)! },
    }
  }
  return {
    async send({
      scope = defaultScope,
      pkce = true,
      state = oauth.generateRandomState(),
      more,
      maxAge,
    } = {}) {
      const [verifier, nonce] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomNonce()]
      const url = new URL(server.authorization_endpoint!)
      url.search = new URLSearchParams({
        client_id: client.id,
        redirect_uri: client.redirectUri,
        response_type: 'code',
        scope,
        state,
        nonce,
        ...(pkce && {
          code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        }),
        ...(maxAge !== undefined && { max_age: String(maxAge) }),
        ...more,
      }).toString()
      const finish = async (back: URL) => {
        const parameters = oauth.validateAuthResponse(server, me, back, state)
        const response = await oauth.authorizationCodeGrantRequest(
          server,
          me,
          auth,
          parameters,
          client.redirectUri,
          pkce ? verifier : oauth.nopkce,
          insecure,
        )
        const reply = await oauth.processAuthorizationCodeResponse(server, me, response, {
          expectedNonce: nonce,
          requireIdToken: true,
          ...(maxAge !== undefined && { maxAge }),
        })
        return tokensOf(reply, response)
      }
      return { url, finish }
    },
    async userinfo({ access, claims }) {
      const response = await oauth.userInfoRequest(server, me, access, insecure)
      return oauth.processUserInfoResponse(server, me, claims.sub, response)
    },
    async refresh(token, scope) {
      const options = { ...insecure, ...(scope !== undefined && { additionalParameters: { scope } }) }
      const response = await oauth.refreshTokenGrantRequest(server, me, auth, token, options)
      return tokensOf(await oauth.processRefreshTokenResponse(server, me, response), response)
    },
    async introspect(token) {
      const response = await oauth.introspectionRequest(server, me, auth, token, insecure)
      return oauth.processIntrospectionResponse(server, me, response)
    },
    async revoke(token) {
      await oauth.processRevocationResponse(await oauth.revocationRequest(server, me, auth, token, insecure))
    },
    async ownToken(scope) {
      const response = await oauth.clientCredentialsGrantRequest(server, me, auth, { scope }, insecure)
      const reply = await oauth.processClientCredentialsResponse(server, me, response)
      return { access: reply.access_token, scope: reply.scope! }
    },
    logoutUrl(parameters) {
      const url = new URL(server.end_session_endpoint!)
      url.search = new URLSearchParams({ client_id: client.id, ...parameters }).toString()
      return url
    },
  }
}

/** What somebody at the portal decides; `cookie` is that of their session. */
export interface Decision {
  readonly cookie?: string
  readonly confirmed?: boolean
  readonly declined?: boolean
}

/** The browser goes to the page, which asks with the cookie, and goes where it is sent. */
export async function browse(at: Calls, url: URL, { cookie, ...decision }: Decision): Promise<URL> {
  const page = await at.request(url.href)
  if (page.status === 303) return new URL(page.headers.get('location')!)
  assert.equal(page.status, 200)
  const reply = await at.request('/portal/authorize', {
    body: { query: url.search.slice(1), ...decision },
    headers: { ...freshNetwork(), ...(cookie !== undefined && { cookie }) },
  })
  assert.ok(reply.json.location, `a location, not ${reply.text}`)
  return new URL(reply.json.location)
}
