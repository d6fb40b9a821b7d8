/**
 * Sheds load: refuses requests while the queue is full. It runs before Fastify, because a refusal must be cheap, or
 * the service would do nothing else. So these requests are not logged individually; the queue logs their number.
 */
import { randomInt } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, errorKinds } from '../../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { newId } from '../lib/random.ts'
import { readableBy } from './cors.ts'
import type { Path, Paths } from './paths.ts'
import { problemOf } from './problem.ts'
import { problemMediaType } from './problem-schemas.ts'
import type { RequestQueue } from './queue.ts'
import type { RequestNote } from './request-log.ts'

/** Jitter, so that refused clients do not all come back at the same moment. */
const retryAfterSeconds = { min: 1, max: 4 }

export const overloaded = () =>
  new AppError('unavailable', 'The service is overloaded.', { retryAfterSeconds: someSeconds() })

const someSeconds = () => randomInt(retryAfterSeconds.min, retryAfterSeconds.max + 1)

interface Shedding {
  readonly queue: RequestQueue
  readonly paths: Paths
  readonly clock: Pick<Clock, 'elapsed'>
  readonly publicUrl: string
  readonly corsOrigins: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  failed(error: AppError, request: null): void
  answered?(note: RequestNote): void
}

/** Puts the refusals before `handle`. */
export function shedLoad(handle: RequestListener, deps: Shedding): RequestListener {
  const { queue, paths, clock } = deps
  /** Until then, requests on this connection are refused: the next one may have waited unread for long. */
  const notBefore = new WeakMap<Socket, number>()
  const refuse = refuserOf(deps)
  return (request, reply) => {
    if (!queue.isOverloaded) return handle(request, reply)
    const { url = '', socket } = request
    const path = paths.find(url)
    if (path?.isQueued === false) return handle(request, reply)
    const now = clock.elapsed()
    if (queue.isClosed) notBefore.set(socket, now + retryAfterSeconds.min * 1_000)
    if (now >= (notBefore.get(socket) ?? 0)) return handle(request, reply)
    queue.noteRefused()
    refuse(request, reply, path)
  }
}

function refuserOf({ publicUrl, corsOrigins, headers, failed, answered }: Shedding) {
  const paused = new PausedConnections()
  const error = overloaded()
  const { status } = errorKinds[error.code]
  return (request: IncomingMessage, reply: ServerResponse, path: Path | null) => {
    const { method, socket } = request
    const { origin = '' } = request.headers
    const requestId = newId()
    const body = JSON.stringify(problemOf(error, publicUrl, requestId))
    reply.writeHead(status, {
      ...headers,
      ...(corsOrigins.includes(origin) && readableBy(origin)),
      'request-id': requestId,
      'retry-after': String(someSeconds()),
      'content-type': problemMediaType,
      'content-length': Buffer.byteLength(body),
    })
    reply.end(body)
    // Not before the request's own body is read: reading it would resume the connection.
    request.resume().once('close', () => paused.add(socket))
    failed(error, null)
    answered?.({ requestId, method: method ?? null, route: path?.pattern ?? null, status, ms: 0 })
  }
}

/**
 * Refused connections wait before they are read again; each turn of the event loop reads this many. If all were read at
 * once, a thousand of them could bring their next requests so fast that the turn would not end: libuv asks for further
 * events as long as it gets a full batch, and neither the store nor any timer would run.
 */
const readAgainPerTurn = 50

class PausedConnections {
  readonly #sockets: Socket[] = []

  add(socket: Socket): void {
    socket.pause()
    if (this.#sockets.push(socket) === 1) setImmediate(this.#readSome)
  }

  readonly #readSome = () => {
    for (const socket of this.#sockets.splice(0, readAgainPerTurn)) socket.resume()
    if (this.#sockets.length > 0) setImmediate(this.#readSome)
  }
}
