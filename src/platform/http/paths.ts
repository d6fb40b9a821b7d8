/**
 * Which paths there are, for requests that are turned away unread, or whose method a path does not have. Of two paths
 * that match, the more exact one counts: GET /veterinarian/register is no call of /veterinarian/{userId}.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import findMyWay from 'find-my-way'

export const paramLengthMax = 256

export interface Path {
  /** As the route has it: `/veterinarian/:userId`. */
  readonly pattern: string
  readonly methods: Set<string>
  /** Files and health are not queued. */
  isQueued: boolean
}

const path = Symbol('path')

export class Paths {
  readonly #router = findMyWay({ maxParamLength: paramLengthMax })

  /** Call it before the first route and before hooks that use `pathOf`. */
  watch(app: FastifyInstance): void {
    app.decorateRequest(path, null)
    app.addHook('onRoute', ({ url, method, config }) => {
      const known: Path | undefined = this.#router.findRoute('GET', url)?.store
      const one: Path = known ?? { pattern: url, methods: new Set(), isQueued: false }
      for (const name of [method].flat()) one.methods.add(name)
      one.isQueued ||= (config as { limit?: string } | undefined)?.limit !== 'none'
      if (!known) this.#router.on('GET', url, () => {}, one)
    })
    app.addHook('onRequest', (request, _reply, done) => {
      withPath(request)[path] = this.find(request.url)
      done()
    })
  }

  /** Null if there is no such path, or one that cannot be decoded. */
  find(url: string): Path | null {
    return this.#router.find('GET', url)?.store ?? null
  }
}

/** Null as for `find`. */
export const pathOf = (request: FastifyRequest): Path | null => withPath(request)[path] ?? null

const withPath = (request: FastifyRequest) => request as FastifyRequest & { [path]?: Path | null }

export function hasOtherMethod(request: FastifyRequest): boolean {
  const known = pathOf(request)
  return known !== null && !known.methods.has(request.method)
}
