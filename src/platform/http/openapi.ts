/** The OpenAPI 3.1 document, generated from the route schemas, and the reference page. */
import { STATUS_CODES } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { isOptionalBody } from './bodies.ts'
import { sendCached } from './etag.ts'
import { pageContentPolicy } from './headers.ts'
import { type Operation, page } from './operation.ts'
import { exampleProblem, Problem, problemMediaType } from './problem-schemas.ts'
import { referencePage } from './reference.ts'
import { languageNames } from './schemas.ts'

export interface ApiAbout {
  readonly version: string
  /** Markdown. */
  readonly description: string
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly webhooks: Webhooks
}

/** Await this before adding the first route. */
export async function describeApi(
  app: FastifyInstance,
  { version, description, tags, webhooks }: ApiAbout,
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
      tags: [...tags],
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

interface Described {
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, { schema: object }> }
  responses: Record<string, Reply | Ref>
}

interface OpenApi {
  components: object
  paths: Record<string, Record<string, Described>>
  webhooks?: Webhooks
}

/**
 * Requests that the service sends, by the type of their event. They refer to nothing: oapi-codegen drops components that
 * only webhooks use.
 */
type Webhooks = Readonly<Record<string, object>>

const text = { type: 'string' }
// No examples: the reference page would send them with every call.
const parameters = {
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
  ETag: { description: 'For If-None-Match.', schema: text },
}

const parameter = (name: keyof typeof parameters) => ({ $ref: `#/components/parameters/${name}` })
const header = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` })

/** Every error of every call. */
const problemReply = {
  description: 'Decide by `code`.',
  content: { [problemMediaType]: { schema: Problem, example: exampleProblem } },
}

/** Names what several operations share, and adds what follows from an operation’s path, statuses and security. */
function describe(document: OpenApi, webhooks: Webhooks): OpenApi {
  const schemas = {}
  const paths = named(document.paths, schemas) as OpenApi['paths']
  const responses = named({ Problem: problemReply }, schemas)
  for (const [path, item] of Object.entries(paths)) {
    for (const operation of Object.values(item)) describeOperation(path, operation)
  }
  const components = {
    ...document.components,
    schemas,
    responses,
    parameters: { ...parameters, ...namedHeaders(Object.values(paths).flatMap(Object.values)) },
    headers,
  }
  return { ...document, paths, webhooks, components }
}

/** Puts header parameters of routes into components, and refers to them. */
function namedHeaders(operations: readonly Described[]): Record<string, object> {
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

function describeOperation(path: string, operation: Described): void {
  const replies = Object.entries(operation.responses as Record<string, Reply>)
  const hasETag = '304' in operation.responses
  operation.parameters = [
    ...(operation.parameters ?? []).map(inUsualCase),
    ...(/\/(send-otp|me\/email)$/.test(path) ? [parameter('AcceptLanguage')] : []),
    ...(hasETag ? [parameter('IfNoneMatch')] : []),
  ]
  describeBody(operation)
  for (const [status, reply] of replies.filter(([, one]) => !isProblem(one))) {
    if (reply.description === 'Default Response') reply.description = STATUS_CODES[status] ?? ''
    if (hasETag && (status === '200' || status === '304'))
      reply.headers = { ...reply.headers, ETag: header('ETag') }
  }
  describeProblems(
    operation,
    replies.filter(([, one]) => isProblem(one)),
  )
}

const isRef = (value: object) => '$ref' in value

const isProblem = ({ content = {} }: Reply) => Object.keys(content).join() === problemMediaType

/** Each status of an error refers to the one problem reply, and lists its codes. */
function describeProblems({ responses }: Described, problems: readonly [string, Reply][]): void {
  for (const [status, { description }] of problems)
    responses[status] = { $ref: '#/components/responses/Problem', description }
}

/** A null body means an optional one, which OpenAPI expresses differently. */
function describeBody({ requestBody }: Described): void {
  for (const media of Object.values(requestBody?.content ?? {})) {
    if (!isOptionalBody(media.schema)) continue
    const { anyOf } = media.schema as { anyOf: { type?: string }[] }
    media.schema = anyOf.find(({ type }) => type !== 'null')!
    requestBody!.required = false
  }
}

/**
 * Copies a part of the document, moves `documented` keywords (schemas.ts) up into their schemas, and puts every schema
 * that has a title into `schemas` under that name. A choice between such schemas is a `oneOf`: openapi-generator merges
 * those of an `anyOf` into one, with the required members of all.
 */
function named(value: unknown, schemas: Record<string, object>): unknown {
  if (Array.isArray(value)) return value.map((one) => named(one, schemas))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([name, one]) => {
    if (name === 'documented') return Object.entries(one as object)
    if (/^examples?$/.test(name)) return [[name, one]]
    const copy = named(one, schemas)
    return [[name === 'anyOf' && Array.isArray(copy) && copy.every(isRef) ? 'oneOf' : name, copy]]
  })
  const { title, ...copy } = Object.fromEntries(entries) as Record<string, unknown>
  if (typeof title !== 'string') return title === undefined ? copy : Object.fromEntries(entries)
  if (title in schemas && !isDeepStrictEqual(schemas[title], copy))
    throw new Error(`two different schemas have the title ${title}`)
  schemas[title] = copy
  return { $ref: `#/components/schemas/${title}` }
}

export function openApiRoutes(app: FastifyInstance): Operation[] {
  let document = ''
  let reference = ''
  const written = () => {
    document ||= JSON.stringify(app.swagger())
    return document
  }

  return [
    page('GET /openapi.json', ({ request, reply }) =>
      sendCached(request, reply.type('application/json; charset=utf-8'), written()),
    ),

    page(
      'GET /docs',
      ({ request, reply }) => {
        reference ||= referencePage(JSON.parse(written()))
        reply.header('Content-Security-Policy', pageContentPolicy).type('text/html; charset=utf-8')
        return sendCached(request, reply, reference)
      },
      { limit: 'none' },
    ),
  ]
}
