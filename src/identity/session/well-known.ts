/** Public keys and issuer metadata, for services that verify our tokens themselves. */
import type { FastifyInstance } from 'fastify'
import { routeConfig } from '../../platform/http/access.ts'
import { problems } from '../../platform/http/problem-schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { languages } from '../../platform/lib/languages.ts'
import type { SigningKeys } from './keys.ts'

const PublicKey = Type.Object(
  {
    kty: Type.String(),
    crv: Type.String(),
    x: Type.String(),
    y: Type.String(),
    kid: Type.String(),
    use: Type.String(),
    alg: Type.String(),
  },
  { title: 'PublicKey' },
)
const PublicKeys = Type.Object({ keys: Type.Array(PublicKey) }, { title: 'PublicKeys' })

const IssuerMetadata = Type.Object(
  {
    issuer: Type.String(),
    jwks_uri: Type.String(),
    token_endpoint: Type.String(),
    grant_types_supported: Type.Array(Type.String()),
    response_types_supported: Type.Array(Type.String()),
    token_endpoint_auth_methods_supported: Type.Array(Type.String()),
    service_documentation: Type.String(),
    ui_locales_supported: Type.Array(Type.String()),
  },
  { title: 'IssuerMetadata' },
)

export function wellKnownRoutes(app: FastifyInstance, deps: { keys: SigningKeys; issuer: string }): void {
  const config = routeConfig({ access: 'public' })
  const cached = 'public, max-age=300'
  const tags = ['tokens']

  app.get(
    '/.well-known/jwks.json',
    {
      config,
      schema: {
        tags,
        operationId: 'getPublicKeys',
        summary: 'Public keys (RFC 7517)',
        security: [],
        response: {
          200: PublicKeys,
          ...problems(),
        },
      },
    },
    async (_request, reply) => {
      reply.header('Cache-Control', cached)
      return { keys: await deps.keys.publicKeys() }
    },
  )

  const metadata = {
    issuer: deps.issuer,
    jwks_uri: `${deps.issuer}/.well-known/jwks.json`,
    token_endpoint: `${deps.issuer}/session/refresh`,
    grant_types_supported: ['refresh_token'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
    service_documentation: `${deps.issuer}/docs`,
    ui_locales_supported: Object.keys(languages),
  }
  app.get(
    '/.well-known/oauth-authorization-server',
    {
      config,
      schema: {
        tags,
        operationId: 'getIssuerMetadata',
        summary: 'Issuer metadata (RFC 8414)',
        security: [],
        response: {
          200: IssuerMetadata,
          ...problems(),
        },
      },
    },
    async (_request, reply) => {
      reply.header('Cache-Control', cached)
      return metadata
    },
  )
}
