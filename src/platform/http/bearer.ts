/** Accepts a token in the Authorization header, with the Bearer scheme, and in a form where the route says so (RFC 6750 §2). */
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { type Form, formMediaType } from './oauth.ts'

const token = '[A-Za-z0-9._~+/-]+=*'
const shape = new RegExp(`^Bearer +(${token}) *$`, 'i')
const tokenAlone = new RegExp(`^${token}$`)

export function bearerToken(request: FastifyRequest, takesForm = false): string {
  const header = request.headers.authorization
  const inForm = takesForm ? tokenInForm(request) : undefined
  if (inForm !== undefined) {
    if (header !== undefined) throw new AppError('invalid-request', 'The token is given twice.')
    if (!tokenAlone.test(inForm)) throw new AppError('invalid-token')
    return inForm
  }
  if (header === undefined) throw new AppError('unauthenticated')
  const match = shape.exec(header)
  if (!match) throw new AppError(/^Bearer\b/i.test(header) ? 'invalid-token' : 'unauthenticated')
  return match[1]!
}

/** Not in JSON, in which a token is no credential. */
function tokenInForm({ mediaType, body }: FastifyRequest): string | undefined {
  return mediaType === formMediaType ? (body as Form | null | undefined)?.access_token : undefined
}
