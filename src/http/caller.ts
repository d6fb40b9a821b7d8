import type { FastifyReply } from 'fastify'
import type { BucketState } from '../limits/limits.ts'
import { showLimit } from './limits.ts'

/** The caller of a route with a limit of its own: its network, and the reply that shows what is left. */
export function requestCaller(networkHash: string, reply: FastifyReply) {
  return { networkHash, noteLimit: (state: BucketState) => showLimit(reply, state) }
}
