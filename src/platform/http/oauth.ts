/**
 * Accepts requests of OAuth as forms and reports their errors as RFC 6749 §5.2 says. What HTTP itself refuses (size,
 * limits, faults) stays a problem document.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type OAuthCode, OAuthError } from '../../errors.ts'
import { asAppError } from './problem.ts'
import { Nullable } from './schemas.ts'
import { Type } from './type.ts'

export const formMediaType = 'application/x-www-form-urlencoded'

export type Form = Readonly<Partial<Record<string, string>>>

/** Routes of this scope take forms; `read` makes a form the body that they see. `count` is called for refusals. */
export function takeForms(
  scope: FastifyInstance,
  read: (form: Form) => unknown,
  count?: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  scope.addContentTypeParser(formMediaType, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    read(readForm(body)),
  )
  scope.setErrorHandler((thrown, request, reply) => {
    const isForm = request.mediaType === formMediaType
    const refusal = isForm ? asOAuthError(thrown) : null
    // Rethrown errors reach the outer error handler, which writes problems.
    if (refusal === null) throw thrown
    count?.(request, reply)
    const isUnknown = refusal.code === 'invalid_client'
    return reply
      .code(isUnknown ? 401 : 400)
      .headers({
        'Cache-Control': 'no-store',
        Pragma: 'no-cache',
        ...(isUnknown && { 'WWW-Authenticate': 'Basic realm="chiron", charset="UTF-8"' }),
      })
      .type('application/json; charset=utf-8')
      .serializer(JSON.stringify)
      .send({ error: refusal.code, error_description: refusal.message })
  })
}

/** Beside what the problem says for everybody (RFC 6750 §3.1). Without a token, there is no error to name. */
const bearerErrors: Partial<Record<AppError['code'], string>> = {
  'invalid-request': 'invalid_request',
  'invalid-token': 'invalid_token',
  'session-ended': 'invalid_token',
  forbidden: 'insufficient_scope',
}

/** Routes of this scope take a client's token, also in a form, and report errors as its library expects them. */
export function takeTokens(scope: FastifyInstance): void {
  scope.addContentTypeParser(formMediaType, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    readForm(body),
  )
  scope.setErrorHandler((thrown) => {
    const error =
      thrown instanceof OAuthError ? new AppError('invalid-request', thrown.message) : asAppError(thrown)
    const { code, message, extra } = error
    const oauthError = bearerErrors[code]
    if (oauthError === undefined) throw thrown
    const headers = { ...extra.headers, 'WWW-Authenticate': `Bearer error="${oauthError}"` }
    throw new AppError(code, message, { ...extra, oauthError, headers })
  })
}

/** Routes of this scope take a form that a browser posts, as the query that it would be in an address. */
export function takeFormsAsQueries(scope: FastifyInstance): void {
  scope.addContentTypeParser(formMediaType, { parseAs: 'string' }, async (_request: unknown, body: string) =>
    new URLSearchParams(body).toString(),
  )
}

/** For the schema of such a route. */
export const queryAsForm = { consumes: [formMediaType], body: Nullable(Type.String()) }

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** RFC 6749 §3.1: a parameter without a value counts as missing. */
function readForm(body: Buffer): Form {
  let form: URLSearchParams
  try {
    form = new URLSearchParams(utf8.decode(body))
  } catch {
    throw new OAuthError('invalid_request', 'The body is not UTF-8.')
  }
  const names = [...form.keys()]
  if (new Set(names).size < names.length)
    throw new OAuthError('invalid_request', 'A parameter appears twice.')
  return Object.fromEntries([...form].filter(([, value]) => value !== ''))
}

export function readRefreshForm({ grant_type: grant, refresh_token: token }: Form): {
  refresh_token: string
} {
  if (grant === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.')
  if (grant !== 'refresh_token')
    throw new OAuthError('unsupported_grant_type', 'The only grant_type here is refresh_token.')
  if (token === undefined) throw new OAuthError('invalid_request', 'refresh_token is missing.')
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
