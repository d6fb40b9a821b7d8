/**
 * The only place where an error becomes a reply: `application/problem+json` (RFC 9457). Anything that is not an
 * AppError is our fault: it is logged in full and answered with a bare 500.
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type ErrorCode, errorKinds, type FieldError } from '../../errors.ts'
import { errorFields } from '../lib/error-fields.ts'
import { chooseLanguage, type Language } from '../lib/languages.ts'
import { apiVersion, pageContentPolicy } from './headers.ts'
import { weightsOf } from './preference.ts'
import { problemMediaType } from './problem-schemas.ts'
import type { RequestLog } from './request-log.ts'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly code: ErrorCode
  readonly errors?: readonly FieldError[]
  readonly attemptsLeft?: number
  readonly within?: number
  readonly methods?: readonly string[]
  readonly known?: false
  readonly error?: string
  readonly error_description?: string
}

const challenges: Partial<Record<ErrorCode, string>> = {
  unauthenticated: 'Bearer',
  'invalid-token': 'Bearer error="invalid_token"',
  'session-ended': 'Bearer error="invalid_token"',
  'otp-incorrect': 'OTP',
  'otp-unusable': 'OTP',
  'passkey-unusable': 'Passkey',
}

export function problemOf(error: AppError, publicUrl: string, requestId: string): Problem {
  const { status, title } = errorKinds[error.code]
  const { errors, attemptsLeft, within, methods, known, oauthError } = error.extra
  return {
    type: `${publicUrl}/problems/${error.code}`,
    title: error.extra.title ?? title,
    status,
    detail: error.message,
    instance: requestId,
    code: error.code,
    ...(errors && { errors }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
    ...(within !== undefined && { within }),
    ...(methods && { methods }),
    ...(known === false && { known }),
    ...(oauthError !== undefined && { error: oauthError, error_description: error.message }),
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

interface ErrorHooks {
  countUncounted(request: FastifyRequest, reply: FastifyReply): void
  failed(error: AppError, request: FastifyRequest): void
}

export function errorHandler(
  publicUrl: string,
  { countUncounted, failed }: ErrorHooks,
  log: FastifyBaseLogger,
  notFoundPage: (language: Language) => string,
) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    let error = asAppError(thrown)
    try {
      if (errorKinds[error.code].status < 429) countUncounted(request, reply)
    } catch (refusal) {
      error = asAppError(refusal)
    }
    failed(error, request)
    const { status } = errorKinds[error.code]
    const requestId = request.id
    if (status === 500) log.error({ requestId, err: thrown }, 'a request failed')
    else if (status === 503 && error.extra.cause)
      log.warn({ requestId, reason: errorFields(error.extra.cause).message }, error.message)
    if (error.code === 'not-found' && isForPeople(request))
      return reply
        .code(status)
        .headers({ 'Cache-Control': 'no-store', 'Content-Security-Policy': pageContentPolicy })
        .type('text/html; charset=utf-8')
        .send(notFoundPage(chooseLanguage(request.headers['accept-language'])))
    return reply
      .code(status)
      .headers({ 'Cache-Control': 'no-store', ...problemHeaders(error) })
      .type(problemMediaType)
      .serializer(JSON.stringify)
      .send(problemOf(error, publicUrl, request.id))
  }
}

/** A person looking for a missing page. Programs ask for JSON or for anything. */
function isForPeople(request: FastifyRequest): boolean {
  const { method, is404, headers, routeOptions } = request
  if (method !== 'GET' && method !== 'HEAD') return false
  const { schema } = routeOptions
  const isPage = is404 || schema === undefined || (schema as { hide?: boolean }).hide === true
  return isPage && prefersHtml(headers.accept ?? '')
}

/** RFC 9110 §12.5.1. HTML must be named explicitly, and JSON wins a tie. */
function prefersHtml(accept: string): boolean {
  const weights = weightsOf(accept)
  const html = weights.get('text/html') ?? 0
  const json = Math.max(...[problemMediaType, 'application/json'].map((type) => weights.get(type) ?? 0))
  const others = weights.get('application/*') ?? weights.get('*/*') ?? 0
  return html > json && html >= others
}

/** Turns Fastify's own errors into ours. */
export function asAppError(thrown: unknown): AppError {
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
    case 'ECONNRESET': // the client disconnected
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
    const missing = keyword === 'required' ? `/${params.missingProperty}` : ''
    const path = `${instancePath}${missing}`
    const detail = missing ? 'is missing' : wording(keyword, params, message)
    if (context === undefined || context === 'body') return { pointer: `#${path}`, detail }
    // In a query or header, a repeated parameter arrives as an array and fails the type check.
    return {
      parameter: path.split('/')[1] ?? '',
      detail: keyword === 'type' ? 'must be given once' : detail,
    }
  }

function wording(keyword: string, params: Record<string, unknown>, message: string | undefined): string {
  if (keyword === 'type') return `must be a JSON ${params.type}`
  if (keyword === 'const') return `must be ${params.allowedValue}`
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as string[]).join(', ')}`
  if (keyword === 'pattern') return 'holds a character that is not allowed, or is too long or too short'
  return message ?? 'is not valid'
}

/** Answers requests that could not be parsed: broken or oversized headers, and timeouts. */
export function clientErrorHandler(publicUrl: string, requests: RequestLog) {
  return (error: Error & { code?: string }, socket: Socket) => {
    const brokeOff = error.code === 'HPE_INVALID_EOF_STATE' && requests.isReceiving(socket)
    if (error.code === 'ECONNRESET' || brokeOff || !socket.writable) return void socket.destroy()
    const appError = clientError(error.code)
    const requestId = requests.refuse(socket, errorKinds[appError.code].status)
    if (requestId === null) return void socket.destroy()
    writeProblem(socket, problemOf(appError, publicUrl, requestId))
  }
}

/** An unknown `Expect` header (RFC 9110 §10.1.1) gets the same problem as any unreadable request. */
export function expectationHandler(publicUrl: string, requests: RequestLog) {
  return ({ socket, method }: IncomingMessage) => {
    const appError = new AppError('invalid-request', 'The Expect header is not understood.')
    const requestId = requests.refuse(socket, errorKinds[appError.code].status, method ?? null)
    if (requestId !== null) writeProblem(socket, problemOf(appError, publicUrl, requestId))
  }
}

function writeProblem(socket: Socket, problem: Problem): void {
  const { status, instance } = problem
  const body = JSON.stringify(problem)
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `Content-Type: ${problemMediaType}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `Request-Id: ${instance}`,
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
