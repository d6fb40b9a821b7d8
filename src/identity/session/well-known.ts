/** Public keys and issuer metadata, for services that verify our tokens themselves. */
import { Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { languages } from '../../platform/lib/languages.ts'
import { algorithms } from './jwt.ts'
import type { SigningKeys } from './keys.ts'
import { operation } from './operation.ts'

const PublicKey = Titled('PublicKey', {
  kty: Type.String({ description: '`EC` or `RSA`.' }),
  crv: Type.Optional(Type.String({ description: 'With `x` and `y`, for `EC`.' })),
  x: Type.Optional(Type.String()),
  y: Type.Optional(Type.String()),
  n: Type.Optional(Type.String({ description: 'With `e`, for `RSA`.' })),
  e: Type.Optional(Type.String()),
  kid: Type.String(),
  use: Type.String(),
  alg: Type.String(),
})
type Jwk = Awaited<ReturnType<SigningKeys['publicKeys']>>[number]
const PublicKeys = Titled('PublicKeys', { keys: Type.Array(Type.Unsafe<Jwk>(PublicKey)) })

const IssuerMetadata = Titled('IssuerMetadata', {
  issuer: Type.String(),
  authorization_endpoint: Type.String(),
  token_endpoint: Type.String(),
  userinfo_endpoint: Type.String(),
  jwks_uri: Type.String(),
  introspection_endpoint: Type.String(),
  revocation_endpoint: Type.String(),
  end_session_endpoint: Type.String(),
  scopes_supported: Type.Array(Type.String()),
  response_types_supported: Type.Array(Type.String()),
  response_modes_supported: Type.Array(Type.String()),
  grant_types_supported: Type.Array(Type.String()),
  subject_types_supported: Type.Array(Type.String()),
  id_token_signing_alg_values_supported: Type.Array(Type.String()),
  token_endpoint_auth_methods_supported: Type.Array(Type.String()),
  introspection_endpoint_auth_methods_supported: Type.Array(Type.String()),
  revocation_endpoint_auth_methods_supported: Type.Array(Type.String()),
  code_challenge_methods_supported: Type.Array(Type.String()),
  prompt_values_supported: Type.Array(Type.String()),
  acr_values_supported: Type.Array(Type.String()),
  claims_supported: Type.Array(Type.String()),
  claim_types_supported: Type.Array(Type.String()),
  claims_parameter_supported: Type.Boolean(),
  request_parameter_supported: Type.Boolean(),
  request_uri_parameter_supported: Type.Boolean(),
  authorization_response_iss_parameter_supported: Type.Boolean(),
  backchannel_logout_supported: Type.Boolean(),
  backchannel_logout_session_supported: Type.Boolean(),
  service_documentation: Type.String(),
  ui_locales_supported: Type.Array(Type.String()),
})

const cached = 'public, max-age=300'

export const wellKnownRoutes = (keys: SigningKeys, issuer: string, offers: Offers) => [
  operation('GET /.well-known/jwks.json', {
    access: 'public',
    tag: 'tokens',
    id: 'getPublicKeys',
    summary: 'Public keys (RFC 7517)',
    reply: PublicKeys,
    async answer({ reply }) {
      reply.header('Cache-Control', cached)
      return { keys: await keys.publicKeys() }
    },
  }),
  ...metadataDocuments.map(([name, id, standard]) =>
    operation(`GET /.well-known/${name}`, {
      access: 'public',
      tag: 'tokens',
      id,
      summary: `Issuer metadata (${standard})`,
      reply: IssuerMetadata,
      answer({ reply }) {
        reply.header('Cache-Control', cached)
        return issuerMetadata(issuer, offers)
      },
    }),
  ),
]

const metadataDocuments = [
  ['openid-configuration', 'getOpenIdConfiguration', 'OpenID Connect Discovery'],
  ['oauth-authorization-server', 'getIssuerMetadata', 'RFC 8414'],
] as const

/** What clients can ask for. */
export interface Offers {
  readonly scopes: readonly string[]
  readonly responseModes: readonly string[]
  readonly prompts: readonly string[]
  readonly acrValues: readonly string[]
  readonly claims: readonly string[]
}

function issuerMetadata(issuer: string, { scopes, responseModes, prompts, acrValues, claims }: Offers) {
  const bySecret = ['client_secret_basic', 'client_secret_post']
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    end_session_endpoint: `${issuer}/oauth/logout`,
    scopes_supported: [...scopes],
    response_types_supported: ['code'],
    response_modes_supported: [...responseModes],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    subject_types_supported: ['public', 'pairwise'],
    id_token_signing_alg_values_supported: [...algorithms],
    token_endpoint_auth_methods_supported: [...bySecret, 'none'],
    introspection_endpoint_auth_methods_supported: bySecret,
    revocation_endpoint_auth_methods_supported: [...bySecret, 'none'],
    code_challenge_methods_supported: ['S256'],
    prompt_values_supported: [...prompts],
    acr_values_supported: [...acrValues],
    claims_supported: [...claims],
    claim_types_supported: ['normal'],
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    service_documentation: `${issuer}/docs`,
    ui_locales_supported: Object.keys(languages),
  }
}
