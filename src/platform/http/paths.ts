/**
 * The known paths, for requests that are refused unread, and for 405. The more specific of two matching paths wins:
 * GET /people/register does not match /people/{userId}.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'

export const paramLengthMax = 256

export interface Path {
  /** The path of the route: `/people/:userId`. */
  readonly pattern: string
  readonly methods: Set<string>
  /** Files and health are not queued. */
  isQueued: boolean
}

const path = Symbol('path')

export class Paths {
  readonly #byPattern = new Map<string, Path>()
  readonly #withParams: { readonly regex: RegExp; readonly path: Path }[] = []

  /** Call it before the first route and before hooks that use `pathOf`. */
  watch(app: FastifyInstance): void {
    app.decorateRequest(path, null)
    app.addHook('onRoute', ({ url, method, config }) => {
      const one = this.#byPattern.get(url) ?? this.#add(url)
      for (const name of [method].flat()) one.methods.add(name)
      one.isQueued ||= (config as { limit?: string } | undefined)?.limit !== 'none'
    })
    app.addHook('onRequest', (request, _reply, done) => {
      withPath(request)[path] = this.find(request.url)
      done()
    })
  }

  /** Null if the path is unknown or cannot be decoded. */
  find(url: string): Path | null {
    const name = decodedPath(url)
    if (name === null) return null
    return this.#byPattern.get(name) ?? this.#withParams.find(({ regex }) => regex.test(name))?.path ?? null
  }

  #add(pattern: string): Path {
    const one: Path = { pattern, methods: new Set(), isQueued: false }
    this.#byPattern.set(pattern, one)
    if (/[:*]/.test(pattern)) this.#withParams.push({ regex: regexOf(pattern), path: one })
    return one
  }
}

/** Fastify decodes before it looks for a route, and a client may send the whole URL (RFC 9112 §3.2.2). */
function decodedPath(url: string): string | null {
  const encoded = /^(?:https?:\/\/[^/?#]*)?([^?#]*)/i.exec(url)![1]!
  if (!encoded.includes('%')) return encoded
  try {
    return decodeURI(encoded)
  } catch {
    return null
  }
}

/** The pattern has parameters (`:userId`), or an asterisk at its end. */
function regexOf(pattern: string): RegExp {
  const parts = pattern.split(/(:\w+|\*)/).map((part, i) => {
    if (i % 2 === 0) return RegExp.escape(part)
    return part === '*' ? '.*' : `[^/]{0,${paramLengthMax}}`
  })
  return new RegExp(`^${parts.join('')}$`, 's')
}

/** Null as for `find`. */
export const pathOf = (request: FastifyRequest): Path | null => withPath(request)[path] ?? null

const withPath = (request: FastifyRequest) => request as FastifyRequest & { [path]?: Path | null }

export function hasOtherMethod(request: FastifyRequest): boolean {
  const known = pathOf(request)
  return known !== null && !known.methods.has(request.method)
}
