import type { FastifyReply } from 'fastify'
import type { Caller, CallerNetwork } from '../lib/bucket.ts'
import { showLimit } from './limits.ts'

/** The caller as limits and events see it: network, request id, and a way to show the remaining limit in the reply. */
export function requestCaller(network: CallerNetwork, reply: FastifyReply): Caller {
  return { network, requestId: reply.request.id, noteLimit: (state) => showLimit(reply, state) }
}
