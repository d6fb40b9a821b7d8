/** Accepts a token only in the Authorization header, with the Bearer scheme. */
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'

const shape = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i

export function bearerToken(request: FastifyRequest): string {
  const header = request.headers.authorization
  if (header === undefined) throw new AppError('unauthenticated')
  const match = shape.exec(header)
  if (!match) throw new AppError(/^Bearer\b/i.test(header) ? 'invalid-token' : 'unauthenticated')
  return match[1]!
}
