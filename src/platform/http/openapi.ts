/** The OpenAPI 3.1 document, generated from the route schemas, and the reference page. */
import { STATUS_CODES } from 'node:http'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { type Role, roles } from '../../roles.ts'
import { routeConfig } from './access.ts'
import { isOptionalBody } from './bodies.ts'
import { sendCached } from './etag.ts'
import { apiVersion, pageContentPolicy } from './headers.ts'
import { referencePage } from './reference.ts'
import { languageNames } from './schemas.ts'

const description = `The access service of a veterinary school: who is who, by a code sent to their e-mail.

**A sign-in**, in this order:

1. \`POST /veterinarian/register\`: once for each veterinarian. Students are on the roster and need none.
2. \`POST /veterinarian/send-otp\` (or \`/student/send-otp\`): the reply has a \`sessionId\`, and a code is mailed.
3. The person reads the mail. Its subject has the \`reference\` of the reply, so that they know which mail is which.
4. \`POST /veterinarian/validate-otp\` (or \`/student/validate-otp\`): address, code and \`sessionId\` give an \`access_token\` and a \`refresh_token\`.
5. \`GET /veterinarian/me\`, \`GET /student/me\` and the rest: with the access token, for 15 minutes.
6. \`POST /session/refresh\`: new tokens for the refresh token, which is used up. Keep the new one.
7. \`DELETE /session\`: sign out here; \`/session/all\`: everywhere.

Errors are \`application/problem+json\` (RFC 9457): decide by \`code\`; [/problems](/problems) explains each. Members, codes and replies may be added: ignore what you do not know.`

const roleTags: Record<Role, string> = {
  veterinarian: 'Registration, sign-in and profiles of veterinarians',
  student: 'Profile and classes of students on the roster',
  staff: 'For the people of the school who run it: people, mail, the roster, events and members of staff',
}

/** Await this before adding the first route. */
export async function describeApi(app: FastifyInstance, version: string, cookieName: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Chiron',
        version,
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      // Relative, so that trying calls works under every host name.
      servers: [{ url: '/' }],
      tags: [
        ...roles.map((name) => ({ name, description: roleTags[name] })),
        { name: 'session', description: 'Refreshing, listing and ending sessions' },
        {
          name: 'portal',
          // No security scheme: the reference page would offer to set the cookie, which no script can.
          description: `For the portal’s own pages. The refresh token is in the HttpOnly cookie \`${cookieName}\`, which the browser keeps and sends by itself; pages of other origins get 403.`,
        },
        { name: 'tokens', description: 'For services that check our tokens themselves' },
        { name: 'operation', description: 'For those who run the service' },
      ],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description:
              'The `access_token` of validate-otp or /session/refresh (RFC 9068, ES256, 15 minutes). It stops working at once when its session ends.',
          },
        },
      },
      security: [{ bearer: [] }],
    },
    transformObject: (document) => describe((document as { openapiObject: OpenApi }).openapiObject),
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => (json.$id as string) ?? `def-${i}` },
  })
}

type Refs = Record<string, { $ref: string }>

interface Reply {
  description: string
  headers?: Refs
}

interface Operation {
  security?: object[]
  parameters?: object[]
  requestBody?: { required?: boolean; content: Record<string, { schema: object }> }
  responses: Record<string, Reply>
}

interface OpenApi {
  components: object
  paths: Record<string, Record<string, Operation>>
}

const text = { type: 'string' }
// No examples: the reference page would send them with every call.
const parameters = {
  ApiVersion: {
    name: 'API-Version',
    in: 'header',
    description: 'The version that the client was made for; one that is not served is 400.',
    schema: { ...text, enum: [apiVersion] },
  },
  TraceParent: {
    name: 'traceparent',
    in: 'header',
    description:
      'W3C Trace Context, such as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`; its trace id is in the service’s log.',
    schema: text,
  },
  AcceptLanguage: {
    name: 'Accept-Language',
    in: 'header',
    description: `The language of the mail, such as \`fr-CH, fr;q=0.9, en;q=0.5\`: ${languageNames}.`,
    schema: text,
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The ETag of an earlier reply; if it still holds, the answer is 304.',
    schema: text,
  },
}

const headers = {
  RequestId: { description: 'Finds the request in the service’s log.', schema: text },
  ApiVersion: { description: 'The version that answered.', schema: { ...text, const: apiVersion } },
  RetryAfter: { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  ETag: { description: 'For If-None-Match.', schema: text },
  RateLimit: {
    description: 'What is left of the network’s share (IETF draft on RateLimit headers).',
    schema: { ...text, examples: ['"network";r=1999;t=1'] },
  },
  RateLimitPolicy: {
    description: 'The network’s share.',
    schema: { ...text, examples: ['"network";q=2000;w=120'] },
  },
  WwwAuthenticate: {
    description: 'Bearer (RFC 6750), or OTP where a code was refused.',
    schema: { ...text, examples: ['Bearer error="invalid_token"'] },
  },
  Accept: { description: 'The media types that are taken.', schema: text },
}

const parameter = (name: keyof typeof parameters) => ({ $ref: `#/components/parameters/${name}` })
const header = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` })

/** Adds what follows from an operation’s path, statuses and security. */
function describe(document: OpenApi): OpenApi {
  const described = withDocumented(document) as OpenApi
  for (const [path, item] of Object.entries(described.paths)) {
    for (const operation of Object.values(item)) describeOperation(path, operation)
  }
  return { ...described, components: { ...described.components, parameters, headers } }
}

function describeOperation(path: string, operation: Operation): void {
  const { responses } = operation
  const hasETag = '304' in responses
  operation.parameters = [
    ...(operation.parameters ?? []),
    ...(/\/(send-otp|me\/email)$/.test(path) ? [parameter('AcceptLanguage')] : []),
    ...(hasETag ? [parameter('IfNoneMatch')] : []),
    parameter('ApiVersion'),
    parameter('TraceParent'),
  ]
  describeBody(operation)
  const isPublic = operation.security?.length === 0
  for (const [status, reply] of Object.entries(responses)) {
    if (reply.description === 'Default Response') reply.description = STATUS_CODES[status] ?? ''
    // With a token the session's limit applies, which headers do not show.
    const showsLimit =
      !path.startsWith('/health/') && (isPublic || status === '401' || path.includes('/me/email'))
    reply.headers = {
      ...reply.headers,
      'Request-Id': header('RequestId'),
      'API-Version': header('ApiVersion'),
      ...(showsLimit && { RateLimit: header('RateLimit'), 'RateLimit-Policy': header('RateLimitPolicy') }),
      ...(hasETag && (status === '200' || status === '304') && { ETag: header('ETag') }),
      ...((status === '401' || status === '403') && { 'WWW-Authenticate': header('WwwAuthenticate') }),
      ...((status === '429' || status === '503') && { 'Retry-After': header('RetryAfter') }),
      ...(status === '415' && { Accept: header('Accept') }),
    }
  }
}

/** Null stands for a body that is left out, which OpenAPI says in another way. */
function describeBody({ requestBody }: Operation): void {
  for (const media of Object.values(requestBody?.content ?? {})) {
    if (!isOptionalBody(media.schema)) continue
    const { anyOf } = media.schema as { anyOf: { type?: string }[] }
    media.schema = anyOf.find(({ type }) => type !== 'null')!
    requestBody!.required = false
  }
}

/** Copies the document and moves `documented` keywords (schemas.ts) up into their schemas. */
function withDocumented(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDocumented)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([name, one]) =>
    name === 'documented' ? Object.entries(one as object) : [[name, withDocumented(one)]],
  )
  return Object.fromEntries(entries)
}

export function openApiRoutes(app: FastifyInstance): void {
  const page = { config: routeConfig({ access: 'public', limit: 'none' }), schema: { hide: true } }
  let document = ''
  let reference = ''
  const written = () => {
    document ||= JSON.stringify(app.swagger())
    return document
  }

  app.get(
    '/openapi.json',
    { config: routeConfig({ access: 'public' }), schema: { hide: true } },
    async (request, reply) => {
      return sendCached(request, reply.type('application/json; charset=utf-8'), written())
    },
  )

  app.get('/docs', page, async (request, reply) => {
    reference ||= referencePage(JSON.parse(written()))
    return sendCached(
      request,
      reply.header('Content-Security-Policy', pageContentPolicy).type('text/html; charset=utf-8'),
      reference,
    )
  })
}
