/**
 * Accepts the token request of RFC 6749 as a form and reports its errors as §5.2 says. What HTTP itself refuses (size,
 * limits, faults) stays a problem document.
 */
import type { FastifyInstance } from 'fastify'
import type { AppError } from '../../errors.ts'
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

/** Routes of this scope also take a refresh token as a form. They see the same body as with JSON. */
export function takeRefreshForms(scope: FastifyInstance): void {
  scope.addContentTypeParser(formMediaType, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    readRefreshForm(body),
  )
  scope.setErrorHandler((thrown, request, reply) => {
    const isForm = request.mediaType === formMediaType
    const refusal = isForm ? asOAuthError(thrown) : null
    // Rethrown errors reach the outer error handler, which writes problems.
    if (refusal === null) throw thrown
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
    throw new OAuthError('invalid_request', 'A parameter appears twice.')
  // RFC 6749 §3.1: a parameter without a value counts as missing.
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
