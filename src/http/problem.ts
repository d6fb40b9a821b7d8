/**
 * The one place where an error becomes a reply: `application/problem+json` (RFC 9457). What is not an AppError is a
 * fault of ours: it is logged whole and answered with a bare 500.
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type ErrorCode, errorKinds, type FieldError } from '../errors.ts'
import { newId } from '../lib/random.ts'
import { apiVersion } from './headers.ts'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly code: ErrorCode
  readonly errors?: readonly FieldError[]
  readonly attemptsLeft?: number
}

export const problemMediaType = 'application/problem+json'

const challenges: Partial<Record<ErrorCode, string>> = {
  unauthenticated: 'Bearer',
  'invalid-token': 'Bearer error="invalid_token"',
  'session-ended': 'Bearer error="invalid_token"',
  'otp-incorrect': 'OTP',
  'otp-unusable': 'OTP',
}

export function problemOf(error: AppError, publicUrl: string, requestId: string): Problem {
  const { status, title } = errorKinds[error.code]
  const { errors, attemptsLeft } = error.extra
  return {
    type: `${publicUrl}/problems/${error.code}`,
    title,
    status,
    detail: error.message,
    instance: requestId,
    code: error.code,
    ...(errors && { errors }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
  }
}

export function problemHeaders(error: AppError): Record<string, string> {
  const { retryAfterSeconds, headers } = error.extra
  const challenge = challenges[error.code]
  return {
    ...(challenge && { 'WWW-Authenticate': challenge }),
    ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    ...(error.code === 'unsupported-media-type' && { Accept: 'application/json' }),
    ...headers,
  }
}

type Count = (request: FastifyRequest, reply: FastifyReply) => void

export function errorHandler(publicUrl: string, countUncounted: Count, log: FastifyBaseLogger) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    let error = asAppError(thrown)
    try {
      if (errorKinds[error.code].status < 429) countUncounted(request, reply)
    } catch (refusal) {
      error = asAppError(refusal)
    }
    const { status } = errorKinds[error.code]
    const requestId = request.id
    if (status === 500) log.error({ requestId, err: thrown }, 'a request failed')
    else if (status === 503)
      log.warn({ requestId, reason: (error.extra.cause as Error | undefined)?.message }, error.message)
    return reply
      .code(status)
      .headers({ 'Cache-Control': 'no-store', ...problemHeaders(error) })
      .type(problemMediaType)
      .serializer(JSON.stringify)
      .send(problemOf(error, publicUrl, request.id))
  }
}

/** Fastify's own errors in our words. */
function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  const error = thrown as FastifyError
  if (error.validation) {
    return new AppError('invalid-request', undefined, {
      errors: error.validation.map(fieldError(error.validationContext)),
    })
  }
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('body-too-large')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AppError('unsupported-media-type')
    case 'ECONNRESET': // the sender went away
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new AppError('invalid-request', 'The body is not as long as Content-Length says.')
    default:
      return new AppError('internal-error', undefined, { cause: thrown })
  }
}

type ValidationError = NonNullable<FastifyError['validation']>[number]

const fieldError =
  (context: string | undefined) =>
  ({ instancePath, keyword, params, message }: ValidationError): FieldError => {
    const base = context === 'querystring' ? '?' : '#'
    const missing = keyword === 'required' ? `/${params.missingProperty}` : ''
    return {
      pointer: `${base}${instancePath}${missing}`,
      detail: missing ? 'is missing' : wording(keyword, params, message),
    }
  }

function wording(keyword: string, params: Record<string, unknown>, message: string | undefined): string {
  if (keyword === 'type') return `must be a JSON ${params.type}`
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as string[]).join(', ')}`
  return message ?? 'is not valid'
}

/** Answers what never became a request: broken or oversized heads, and those that took too long. */
export function clientErrorHandler(publicUrl: string) {
  return (error: Error & { code?: string }, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    writeProblem(socket, clientError(error.code), publicUrl)
  }
}

/** An `Expect` that we do not know (RFC 9110 §10.1.1) gets the same problem as any request that we cannot read. */
export function expectationHandler(publicUrl: string) {
  return (request: IncomingMessage) =>
    writeProblem(
      request.socket,
      new AppError('invalid-request', 'The Expect header is not understood.'),
      publicUrl,
    )
}

function writeProblem(socket: Socket, appError: AppError, publicUrl: string): void {
  const requestId = newId()
  const body = JSON.stringify(problemOf(appError, publicUrl, requestId))
  const { status } = errorKinds[appError.code]
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `Content-Type: ${problemMediaType}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `Request-Id: ${requestId}`,
      `API-Version: ${apiVersion}`,
      'Cache-Control: no-store',
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

function clientError(code: string | undefined): AppError {
  if (code === 'HPE_HEADER_OVERFLOW') return new AppError('headers-too-large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new AppError('timeout')
  return new AppError('invalid-request', 'This is not a well-formed HTTP request.')
}
