/** Public keys and issuer metadata, for services that verify our tokens themselves. */

import type { TUnsafe } from 'typebox'
import { Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { everyLanguage } from '../../platform/lib/languages.ts'
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

const cached = 'public, max-age=300'

export function wellKnownRoutes(keys: SigningKeys, issuer: string, offers: Offers) {
  const metadata = issuerMetadata(issuer, offers)
  const IssuerMetadata = Titled('IssuerMetadata', schemasOf(metadata))
  return [
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
          return metadata
        },
      }),
    ),
  ]
}

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
    ui_locales_supported: everyLanguage,
  }
}

/** Schemas of texts, of lists of them, and of booleans. */
function schemasOf<Value extends object>(value: Value): { [Name in keyof Value]: TUnsafe<Value[Name]> } {
  const schemaOf = (one: unknown) =>
    Array.isArray(one) ? Type.Array(Type.String()) : typeof one === 'string' ? Type.String() : Type.Boolean()
  const schemas = Object.entries(value).map(([name, one]) => [name, schemaOf(one)])
  return Object.fromEntries(schemas)
}
