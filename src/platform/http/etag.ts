import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

export function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`
}

/** RFC 9110 §13.1.2: a list of tags, compared weakly, or `*`. */
export function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return header.split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag))
}

export function sendCached(request: FastifyRequest, reply: FastifyReply, text: string) {
  // Weak, because the same text may be sent in several encodings.
  const etag = `W/${etagOf(text)}`
  reply.headers({ 'Cache-Control': 'public, max-age=60', ETag: etag })
  return matches(request.headers['if-none-match'], etag) ? reply.code(304).send() : reply.send(text)
}
