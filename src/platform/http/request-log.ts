/** Writes one log line per request: answered, refused by the parser, timed out or aborted. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { newId } from '../lib/random.ts'
import { traceParentOf } from '../lib/traceparent.ts'
import type { Log } from '../log.ts'
import { pathOf } from './paths.ts'

export interface RequestNote {
  readonly requestId: string
  readonly method: string | null
  readonly route: string | null
  /** Null if the client left before a reply. */
  readonly status: number | null
  /** The client left before it had the whole reply. */
  readonly aborted?: true | undefined
  readonly ms: number
  readonly traceId?: string | undefined
}

interface Exchange {
  readonly id: string
  readonly request: IncomingMessage
  readonly reply: ServerResponse
  /** Set if the reply was written directly to the socket. */
  status?: number
}

export class RequestLog {
  /** Requests whose bodies may still be arriving. */
  readonly #receiving = new WeakMap<Socket, Exchange>()
  readonly #log: Log
  readonly #answered: ((note: RequestNote) => void) | undefined

  constructor(log: Log, answered?: (note: RequestNote) => void) {
    this.#log = log
    this.#answered = answered
  }

  begin(request: FastifyRequest, reply: FastifyReply, over: () => void): void {
    const since = performance.now()
    const exchange: Exchange = { id: request.id, request: request.raw, reply: reply.raw }
    const { socket } = request.raw
    if (hasBody(request.raw)) this.#receiving.set(socket, exchange)
    // Also emitted if the client leaves before the reply.
    reply.raw.on('close', () => {
      if (this.#receiving.get(socket) === exchange) this.#receiving.delete(socket)
      this.#note({
        requestId: request.id,
        method: request.method,
        // The route pattern, never the path: a path may contain a secret.
        route: pathOf(request)?.pattern ?? null,
        ...outcomeOf(exchange),
        ms: Math.round((performance.now() - since) * 10) / 10,
        traceId: traceParentOf(request.headers.traceparent)?.traceId,
      })
      over()
    })
  }

  isReceiving(socket: Socket): boolean {
    return this.#receiving.get(socket)?.request.complete === false
  }

  /**
   * For replies written directly to the socket: unparsable requests, and bodies that broke off or took too long.
   * Returns the request id, or null if a reply has already begun.
   */
  refuse(socket: Socket, status: number, method: string | null = null): string | null {
    const exchange = this.#receiving.get(socket)
    if (exchange && !exchange.request.complete) {
      if (exchange.reply.headersSent) return null
      exchange.status = status
      return exchange.id
    }
    const requestId = newId()
    this.#note({ requestId, method, route: null, status, ms: 0 })
    return requestId
  }

  #note(note: RequestNote): void {
    this.#log.info(note, 'request')
    this.#answered?.(note)
  }
}

function outcomeOf({ request, reply, status }: Exchange): Pick<RequestNote, 'status' | 'aborted'> {
  if (status !== undefined) return { status }
  // Node reports this reply as finished although the client left while sending.
  if (!reply.headersSent || request.errored) return { status: null, aborted: true }
  return { status: reply.statusCode, aborted: reply.writableFinished ? undefined : true }
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
