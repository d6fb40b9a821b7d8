/**
 * Which paths there are, for requests whose method a path does not have. Of two paths that match, the more exact one
 * counts: GET /veterinarian/register is no call of /veterinarian/{userId}.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import findMyWay from 'find-my-way'

export const paramLengthMax = 256

interface Path {
  /** As the route has it: `/veterinarian/:userId`. */
  readonly pattern: string
  readonly methods: Set<string>
}

const path = Symbol('path')

/** Call it before the first route and before hooks that use `pathOf`. */
export function watchPaths(app: FastifyInstance): void {
  const router = findMyWay({ maxParamLength: paramLengthMax })
  app.decorateRequest(path, null)
  app.addHook('onRoute', ({ url, method }) => {
    const known: Path | undefined = router.findRoute('GET', url)?.store
    const { methods } = known ?? { methods: new Set() }
    for (const name of [method].flat()) methods.add(name)
    if (!known) router.on('GET', url, () => {}, { pattern: url, methods })
  })
  app.addHook('onRequest', (request, _reply, done) => {
    withPath(request)[path] = router.find('GET', request.url)?.store ?? null
    done()
  })
}

/** Null if there is no such path, or one that cannot be decoded. */
export const pathOf = (request: FastifyRequest): Path | null => withPath(request)[path] ?? null

const withPath = (request: FastifyRequest) => request as FastifyRequest & { [path]?: Path | null }

export function hasOtherMethod(request: FastifyRequest): boolean {
  const known = pathOf(request)
  return known !== null && !known.methods.has(request.method)
}
