/**
 * Which body a route takes, by its schema. A documented body is required, unless the schema also allows null; it has
 * one of the media types in `consumes`, or is JSON. Any other body is refused before it is read, and the request has
 * no effect.
 */
import { finished } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { parseJsonBody } from './json.ts'
import { hasBody } from './request-log.ts'

export const jsonMediaType = 'application/json'
/** Larger bodies are answered before they are read to the end. */
const discardedBytesMax = 1024 * 1024

interface BodySchema {
  readonly body?: unknown
  readonly consumes?: readonly string[]
}

const schemaOf = (request: FastifyRequest) => request.routeOptions.schema as BodySchema | undefined

/** A body that may be left out. */
export function isOptionalBody(body: unknown): boolean {
  const { anyOf = [] } = body as { readonly anyOf?: readonly { readonly type?: string }[] }
  return anyOf.some(({ type }) => type === 'null')
}

/** For a request without a body, or with one of no bytes: undefined, if the route allows that. */
function withoutBody(request: FastifyRequest): undefined {
  const { body } = schemaOf(request) ?? {}
  if (body === undefined || isOptionalBody(body)) return undefined
  throw new AppError('invalid-request', 'This call needs a body.', {
    errors: [{ pointer: '#', detail: 'is missing' }],
  })
}

const takenBy = (request: FastifyRequest) => schemaOf(request)?.consumes ?? [jsonMediaType]

const fileTypes: Readonly<Record<string, string>> = {
  'application/zip': 'zip',
  'text/csv': 'CSV',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'XLSX',
}

/** For people who send a file: "zip, CSV or XLSX". */
function titleOf(types: readonly string[]): string | undefined {
  const names = types.flatMap((type) => fileTypes[type] ?? [])
  if (names.length < types.length) return undefined
  return `The body must be ${names.join(', ').replace(/, (?=[^,]*$)/, ' or ')}`
}

/** The reply says what the route takes. */
function unsupportedBody(
  request: FastifyRequest,
  detail = `Send the body as ${takenBy(request).join(' or ')}.`,
  headers: Record<string, string> = {},
): AppError {
  const Accept = takenBy(request).join(', ')
  const title = titleOf(takenBy(request))
  return new AppError('unsupported-media-type', detail, {
    headers: { Accept, ...headers },
    ...(title && { title }),
  })
}

export function takeBodies(app: FastifyInstance): void {
  demandBodies(app)
  refuseEncoded(app)
  readLarge(app)
  parseJson(app)
}

function demandBodies(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (schemaOf(request)?.body === undefined) return done()
    try {
      if (!hasBody(request.raw)) withoutBody(request)
      else if (!takenBy(request).includes(mediaTypeOf(request))) throw unsupportedBody(request)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}

function mediaTypeOf({ headers }: FastifyRequest): string {
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1)
  return type.trim().toLowerCase()
}

function refuseEncoded(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const encoding = request.headers['content-encoding']
    if (encoding === undefined || /^\s*identity\s*$/i.test(encoding) || !hasBody(request.raw)) return done()
    const detail = 'Send the body without Content-Encoding.'
    done(unsupportedBody(request, detail, { 'Accept-Encoding': 'identity' }))
  })
}

/**
 * Reads a body that is too large before it is refused. Fastify would answer at once and close the connection. With part
 * of the body unread, that resets the connection, and a proxy answers 502 instead of passing the 413 on.
 */
function readLarge(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const length = Number(request.headers['content-length'] ?? 0)
    if (length <= request.routeOptions.bodyLimit || length > discardedBytesMax) return done()
    finished(payload, { writable: false }, (error) => done(error ?? new AppError('body-too-large')))
    payload.resume()
  })
}

function parseJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(jsonMediaType, { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, jsonOf(request, body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
}

function jsonOf(request: FastifyRequest, body: Buffer): unknown {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw unsupportedBody(request, 'Send the body in UTF-8.')
  return body.length === 0 ? withoutBody(request) : parseJsonBody(body)
}
