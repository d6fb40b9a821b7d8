/**
 * RFC 6749 for those who speak it: a token request as a form, and what is wrong with it as §5.2 has it. What HTTP itself
 * refuses (size, limits, faults) stays a problem.
 */
import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'
import { asAppError } from './problem.ts'

export const formMediaType = 'application/x-www-form-urlencoded'

type OAuthCode = 'invalid_request' | 'invalid_grant' | 'unsupported_grant_type'

class OAuthError extends Error {
  readonly code: OAuthCode

  constructor(code: OAuthCode, description: string) {
    super(description)
    this.code = code
  }
}

/** Lets the routes of this scope take a refresh token as a form, too. They see the body that JSON would have given. */
export function takeRefreshForms(scope: FastifyInstance): void {
  scope.addContentTypeParser(formMediaType, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    readRefreshForm(body),
  )
  scope.setErrorHandler((thrown, request, reply) => {
    const isForm = request.mediaType === formMediaType
    const refusal = isForm ? asOAuthError(thrown) : null
    // What a handler throws goes on to the one around it, which writes problems.
    if (refusal === null) throw withAccept(thrown)
    return reply
      .code(400)
      .headers({ 'Cache-Control': 'no-store', Pragma: 'no-cache' })
      .send({ error: refusal.code, error_description: refusal.message })
  })
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function readRefreshForm(body: Buffer): { refresh_token: string } {
  let form: URLSearchParams
  try {
    form = new URLSearchParams(utf8.decode(body))
  } catch {
    throw new OAuthError('invalid_request', 'The body is not UTF-8.')
  }
  const names = [...form.keys()]
  if (new Set(names).size < names.length)
    throw new OAuthError('invalid_request', 'A parameter is there twice.')
  // §3.1: without a value a parameter counts as left out.
  const grant = form.get('grant_type') || null
  const token = form.get('refresh_token') || null
  if (grant === null) throw new OAuthError('invalid_request', 'grant_type is missing.')
  if (grant !== 'refresh_token')
    throw new OAuthError('unsupported_grant_type', 'The only grant_type here is refresh_token.')
  if (token === null) throw new OAuthError('invalid_request', 'refresh_token is missing.')
  return { refresh_token: token }
}

const codes: Partial<Record<AppError['code'], OAuthCode>> = {
  'invalid-request': 'invalid_request',
  'invalid-token': 'invalid_grant',
  'session-ended': 'invalid_grant',
}

function asOAuthError(thrown: unknown): OAuthError | null {
  if (thrown instanceof OAuthError) return thrown
  const { code, message } = asAppError(thrown)
  const name = codes[code]
  return name === undefined ? null : new OAuthError(name, message)
}

function withAccept(thrown: unknown): unknown {
  const error = asAppError(thrown)
  if (error.code !== 'unsupported-media-type') return thrown
  const headers = { ...error.extra.headers, Accept: `application/json, ${formMediaType}` }
  return new AppError(error.code, error.message, { ...error.extra, headers })
}
