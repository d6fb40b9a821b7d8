import type { FastifyReply } from 'fastify'
import type { Caller, CallerNetwork } from '../lib/bucket.ts'
import { showLimit } from './limits.ts'

/** The caller as limits see it: its network, and a way to show the remaining limit in the reply. */
export function requestCaller(network: CallerNetwork, reply: FastifyReply): Caller {
  return { network, noteLimit: (state) => showLimit(reply, state) }
}
