/** The OpenAPI 3.1 document, generated from the route schemas, and the reference page. */
import { STATUS_CODES } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { type Role, roles } from '../../roles.ts'
import { routeConfig } from './access.ts'
import { isOptionalBody } from './bodies.ts'
import { sendCached } from './etag.ts'
import { apiVersion, pageContentPolicy } from './headers.ts'
import { exampleProblem, Problem, problemMediaType } from './problem-schemas.ts'
import { referencePage } from './reference.ts'
import { languageNames } from './schemas.ts'

const description = `The access service of a veterinary school: people sign in with a code sent to their e-mail address.

**A sign-in**, in this order:

1. \`POST /veterinarian/register\`: once for each veterinarian. Students are on the roster and do not register.
2. \`POST /veterinarian/send-otp\` (or \`/student/send-otp\`): the reply has a \`sessionId\`, and a code is mailed.
3. The person reads the mail. Its subject has the \`reference\` of the reply, so that they know which mail is which.
4. \`POST /veterinarian/validate-otp\` (or \`/student/validate-otp\`): address, code and \`sessionId\` give an \`access_token\` and a \`refresh_token\`.
5. \`GET /veterinarian/me\`, \`GET /student/me\` and the rest: with the access token, for 15 minutes.
6. \`POST /session/refresh\`: new tokens in exchange for the refresh token, which works once. Keep the new one.
7. \`DELETE /session\`: sign out here; \`/session/all\`: everywhere.

Errors are \`application/problem+json\` (RFC 9457): base decisions on \`code\`; [/problems](/problems) explains each. Members, codes and replies may be added: ignore any that you do not know.`

const roleTags: Record<Role, string> = {
  veterinarian: 'Registration, sign-in and profiles of veterinarians',
  student: 'Profile and classes of students on the roster',
  staff: 'For school staff: people, mail, the roster, events and members of staff',
}

/** Await this before adding the first route. */
export async function describeApi(
  app: FastifyInstance,
  version: string,
  cookieName: string,
  webhooks: Webhooks = {},
): Promise<void> {
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
        { name: 'session', description: 'Refreshing, listing, renewing and ending sessions' },
        { name: 'passkey', description: 'Signing in with passkeys, and managing them' },
        {
          name: 'portal',
          // No security scheme: the reference page would offer to set the cookie, which no script can.
          description: `For the portal’s own pages. The refresh token is in the HttpOnly cookie \`${cookieName}\`, which the browser stores and sends; pages of other origins get 403.`,
        },
        { name: 'tokens', description: 'For services that check our tokens themselves' },
        { name: 'operation', description: 'For operators' },
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
    transformObject: (document) => describe((document as { openapiObject: OpenApi }).openapiObject, webhooks),
  })
}

interface Ref {
  $ref: string
  description?: string
}

interface Reply {
  description: string
  headers?: Record<string, Ref>
  content?: Record<string, object>
}

type Parameter = Ref | { name: string; in: string }

interface Operation {
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, { schema: object }> }
  responses: Record<string, Reply | Ref>
}

interface OpenApi {
  components: object
  paths: Record<string, Record<string, Operation>>
}

/** Requests that the service sends, by the type of their event. */
type Webhooks = Readonly<Record<string, object>>

const text = { type: 'string' }
// No examples: the reference page would send them with every call.
const parameters = {
  ApiVersion: {
    name: 'API-Version',
    in: 'header',
    description: 'The API version that the client expects; an unsupported one is 400.',
    schema: { $ref: '#/components/schemas/ApiVersion' },
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
    description: 'The ETag of an earlier reply; if it still matches, the reply is 304.',
    schema: text,
  },
}

const headers = {
  RequestId: { description: 'Identifies the request in the service’s log.', schema: text },
  ApiVersion: { description: 'The version that answered.', schema: { ...text, const: apiVersion } },
  RetryAfter: { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  ETag: { description: 'For If-None-Match.', schema: text },
  RateLimit: {
    description: 'Remaining quota of the network (IETF draft on RateLimit headers).',
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
  Accept: { description: 'The accepted media types.', schema: text },
}

const parameter = (name: keyof typeof parameters) => ({ $ref: `#/components/parameters/${name}` })
const header = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` })

/** Every error of every call. */
const problemReply = {
  description: 'Decide by `code`.',
  headers: {
    'Request-Id': header('RequestId'),
    'API-Version': header('ApiVersion'),
    RateLimit: header('RateLimit'),
    'RateLimit-Policy': header('RateLimitPolicy'),
    'WWW-Authenticate': header('WwwAuthenticate'),
    'Retry-After': header('RetryAfter'),
    Accept: header('Accept'),
  },
  content: { [problemMediaType]: { schema: Problem, example: exampleProblem } },
}

interface Described {
  readonly paths: OpenApi['paths']
  readonly webhooks: OpenApi['paths']
  readonly responses: object
}

/** Names what several operations share, and adds what follows from an operation’s path, statuses and security. */
function describe(document: OpenApi, webhooks: Webhooks): OpenApi {
  const schemas = { ApiVersion: { ...text, enum: [apiVersion] } }
  const parts = { paths: document.paths, webhooks, responses: { Problem: problemReply } }
  const { responses, ...described } = named(parts, schemas) as Described
  for (const [path, item] of Object.entries(described.paths)) {
    for (const operation of Object.values(item)) describeOperation(path, operation)
  }
  const operations = Object.values(described).flatMap((items) => Object.values(items).flatMap(Object.values))
  const components = {
    ...document.components,
    schemas,
    responses,
    parameters: { ...parameters, ...namedHeaders(operations) },
    headers,
  }
  return { ...document, ...described, components }
}

/** Puts header parameters of routes and webhooks into components, and refers to them. */
function namedHeaders(operations: readonly Operation[]): Record<string, object> {
  const found: Record<string, object> = {}
  for (const operation of operations) {
    operation.parameters = operation.parameters!.map((one) => {
      if (!('name' in one) || one.in !== 'header') return one
      const name = one.name.replace(/(?:^|-)(\w)/g, (_, letter) => letter.toUpperCase())
      found[name] = one
      return { $ref: `#/components/parameters/${name}` }
    })
  }
  return found
}

/** Idempotency-Key for idempotency-key. */
const inUsualCase = (one: Parameter): Parameter =>
  'name' in one && one.in === 'header'
    ? { ...one, name: one.name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()) }
    : one

function describeOperation(path: string, operation: Operation): void {
  const replies = Object.entries(operation.responses as Record<string, Reply>)
  const hasETag = '304' in operation.responses
  operation.parameters = [
    ...(operation.parameters ?? []).map(inUsualCase),
    ...(/\/(send-otp|me\/email)$/.test(path) ? [parameter('AcceptLanguage')] : []),
    ...(hasETag ? [parameter('IfNoneMatch')] : []),
    parameter('ApiVersion'),
    parameter('TraceParent'),
  ]
  describeBody(operation)
  const isPublic = operation.security?.length === 0
  // With a token the session's limit applies, which headers do not show.
  const showsLimit = !path.startsWith('/health/') && (isPublic || path.includes('/me/email'))
  for (const [status, reply] of replies.filter(([, one]) => !isProblem(one))) {
    if (reply.description === 'Default Response') reply.description = STATUS_CODES[status] ?? ''
    reply.headers = {
      ...reply.headers,
      'Request-Id': header('RequestId'),
      'API-Version': header('ApiVersion'),
      ...(showsLimit && { RateLimit: header('RateLimit'), 'RateLimit-Policy': header('RateLimitPolicy') }),
      ...(hasETag && (status === '200' || status === '304') && { ETag: header('ETag') }),
    }
  }
  describeProblems(
    operation,
    replies.filter(([, one]) => isProblem(one)),
  )
}

const isProblem = ({ content = {} }: Reply) => Object.keys(content).join() === problemMediaType

/** Each status of an error refers to the one problem reply, and lists its codes. */
function describeProblems({ responses }: Operation, problems: readonly [string, Reply][]): void {
  for (const [status, { description }] of problems)
    responses[status] = { $ref: '#/components/responses/Problem', description }
}

/** A null body means an optional one, which OpenAPI expresses differently. */
function describeBody({ requestBody }: Operation): void {
  for (const media of Object.values(requestBody?.content ?? {})) {
    if (!isOptionalBody(media.schema)) continue
    const { anyOf } = media.schema as { anyOf: { type?: string }[] }
    media.schema = anyOf.find(({ type }) => type !== 'null')!
    requestBody!.required = false
  }
}

/**
 * Copies a part of the document, moves `documented` keywords (schemas.ts) up into their schemas, and puts every schema
 * that has a title into `schemas` under that name.
 */
function named(value: unknown, schemas: Record<string, object>): unknown {
  if (Array.isArray(value)) return value.map((one) => named(one, schemas))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([name, one]) => {
    if (name === 'documented') return Object.entries(one as object)
    return [[name, /^examples?$/.test(name) ? one : named(one, schemas)]]
  })
  const { title, ...copy } = Object.fromEntries(entries) as Record<string, unknown>
  if (typeof title !== 'string') return title === undefined ? copy : Object.fromEntries(entries)
  if (title in schemas && !isDeepStrictEqual(schemas[title], copy))
    throw new Error(`two different schemas have the title ${title}`)
  schemas[title] = copy
  return { $ref: `#/components/schemas/${title}` }
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
