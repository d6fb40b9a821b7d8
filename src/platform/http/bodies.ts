/**
 * Which body a route takes, by its schema. A documented body is required, unless the schema also allows null; it has
 * one of the media types in `consumes`, or is JSON. Any other body is refused before it is read, and the request has
 * no effect.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { hasBody } from './request-log.ts'

export const jsonMediaType = 'application/json'

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
export function withoutBody(request: FastifyRequest): undefined {
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
export function unsupportedBody(
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

export function demandBodies(app: FastifyInstance): void {
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
