import type { FastifyReply } from 'fastify'
import type { Caller } from '../limits/limits.ts'
import { showLimit } from './limits.ts'

/** The caller of a route with a limit of its own: its network, and the reply that shows what is left. */
export function requestCaller(networkHash: string, reply: FastifyReply): Caller {
  return { networkHash, noteLimit: (state) => showLimit(reply, state) }
}
