/** `oidc-provider`, certified by the OpenID Foundation, set up as Chiron is as far as it can be. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type ClientMetadata } from 'oidc-provider'
import { keyPair } from './authenticator.ts'
import type { Reply } from './service.ts'
import { wire } from './wire.ts'

export interface ReferenceProvider {
  readonly url: string
  /** The cookies of a browser in which somebody is signed in. */
  readonly cookie: string
  close(): Promise<void>
}

const accountId = 'ada'
const peopleScopes = ['openid', 'profile', 'email', 'offline_access']

export async function startReferenceProvider(
  clients: ClientMetadata[],
  withoutPkce: readonly string[],
): Promise<ReferenceProvider> {
  let listener: (...args: Parameters<ReturnType<Provider['callback']>>) => unknown = () => {}
  const server = createServer((request, response) => listener(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = keyPair('ES256')
  const provider = new Provider(url, {
    clients,
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] },
    cookies: { keys: ['a key of the reference'] },
    scopes: [...peopleScopes, 'roster.read', 'events.read'],
    claims: { profile: ['name'], email: ['email'] },
    responseTypes: ['code'],
    allowOmittingSingleRegisteredRedirectUri: false,
    pkce: { required: (_ctx, { clientId }) => !withoutPkce.includes(clientId) },
    features: {
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      devInteractions: { enabled: false },
    },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, name: 'Ada Marsh' }) }),
    // The school's own applications need no consent.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client!.clientId,
        accountId: oidc.session!.accountId!,
      })
      grant.addOIDCScope(peopleScopes.join(' '))
      await grant.save()
      return grant
    },
    renderError: (ctx) => {
      ctx.type = 'html'
      ctx.body = 'a page'
    },
  })
  const callback = provider.callback()
  listener = async (request, response) => {
    if (!request.url!.startsWith('/interaction/')) return callback(request, response)
    await provider.interactionFinished(request, response, { login: { accountId } })
  }
  const [first] = clients
  const cookie = await signedIn(url, first!)
  return {
    url,
    cookie,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Follows the redirects of a sign-in, as a browser does. */
async function signedIn(url: string, client: ClientMetadata): Promise<string> {
  const jar = new Map<string, string>()
  const cookie = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const visit = async (path: string): Promise<Reply> => {
    const reply = await wire(url, path, { headers: { cookie: cookie() } })
    for (const line of reply.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';')[0]!.split('=')
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return reply
  }
  const query = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: client.redirect_uris![0]!,
    response_type: 'code',
    scope: 'openid',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  })
  let at = `/auth?${query}`
  for (let i = 0; i < 3; i++) {
    const location = (await visit(at)).headers.get('location')!
    const { pathname, search } = new URL(location, url)
    at = pathname + search
  }
  return cookie()
}
