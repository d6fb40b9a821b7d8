/**
 * Compresses replies over 1 kB. Files that were compressed at build time pass unchanged. BREACH does not apply: no
 * reply contains both a secret and text that a page elsewhere can choose.
 */
import { pipeline, Readable } from 'node:stream'
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { weightsOf } from './preference.ts'

const bytesMin = 1_024
const compressible = /^(?:text\/|image\/svg\+xml|application\/(?:json|javascript|[\w.-]+\+json))/
// At this quality Brotli is at least as small as gzip and faster.
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 } }

type Encoding = 'br' | 'gzip'

export function compressReplies(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (bytesOf(reply, payload) < bytesMin || !isCompressible(reply)) return done(null, payload)
    addVary(reply)
    const encoding = chooseEncoding(request.headers['accept-encoding'])
    if (encoding === null) return done(null, payload)
    reply.header('Content-Encoding', encoding).removeHeader('Content-Length')
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) {
      if (encoding === 'br') brotliCompress(payload, brotli, done)
      else gzip(payload, done)
    } else {
      done(null, request.method === 'HEAD' ? payload : compressStream(payload as Readable, encoding))
    }
  })
}

function bytesOf(reply: FastifyReply, payload: unknown): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload)
  if (Buffer.isBuffer(payload)) return payload.length
  return payload instanceof Readable ? Number(reply.getHeader('content-length') ?? 0) : 0
}

function isCompressible(reply: FastifyReply): boolean {
  return compressible.test(String(reply.getHeader('content-type'))) && !reply.hasHeader('content-encoding')
}

function chooseEncoding(header: string | string[] | undefined): Encoding | null {
  if (header === undefined) return null
  const weights = weightsOf([header].flat().join(','))
  const [br, gz] = ['br', 'gzip'].map((name) => weights.get(name) ?? weights.get('*') ?? 0)
  if (br! > 0 && br! >= gz!) return 'br'
  return gz! > 0 ? 'gzip' : null
}

/** Uncompressed replies need it too, or a cache could send one variant to everybody. */
function addVary(reply: FastifyReply): void {
  const vary = String(reply.getHeader('vary') ?? '')
  if (!/\baccept-encoding\b/i.test(vary))
    reply.header('Vary', vary ? `${vary}, Accept-Encoding` : 'Accept-Encoding')
}

function compressStream(payload: Readable, encoding: Encoding): Readable {
  const compressor = encoding === 'br' ? createBrotliCompress(brotli) : createGzip()
  // The consumer of the compressor sees its error.
  return pipeline(payload, compressor, () => {})
}
