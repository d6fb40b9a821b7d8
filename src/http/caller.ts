import type { FastifyReply } from 'fastify'
import type { Caller, CallerNetwork } from '../lib/bucket.ts'
import { showLimit } from './limits.ts'

/** The caller of a route with a limit of its own: its network, and the reply that shows what is left. */
export function requestCaller(network: CallerNetwork, reply: FastifyReply): Caller {
  return { network, noteLimit: (state) => showLimit(reply, state) }
}
