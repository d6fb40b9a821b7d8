/**
 * Tells clients that one of their sessions has ended (OpenID Connect Back-Channel Logout). The call is queued in the
 * transaction that ends the session. Any process claims it under a lease, so if one dies, another repeats it.
 */
import { jittered, Worker } from '../../messages/queue/queue.ts'
import { attempt } from '../../messages/webhooks/webhooks.ts'
import type { Context } from '../../platform/context.ts'
import { bySystem } from '../../platform/lib/by.ts'
import { day, hour, minute, second } from '../../platform/lib/clock.ts'
import type { Range } from '../../platform/lib/network.ts'
import { newId } from '../../platform/lib/random.ts'
import { subjectOf } from '../clients/clients.ts'
import { type SigningKeys, signToken } from '../session/session.ts'
import * as store from './store.ts'

const timeoutMs = 5 * second
const leaseMs = 3 * timeoutMs
const tokenTtlMs = 2 * minute
const connectionsPerClient = 8
/** 72 minutes in all. */
const pausesMs = [5 * second, 30 * second, 2 * minute, 10 * minute, hour]
const keptMs = 7 * day
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

interface Deps extends Pick<Context, 'db' | 'clock' | 'log'> {
  readonly keys: SigningKeys
  readonly issuer: string
  readonly pollMs: number
  /** Private addresses that may be reached. */
  readonly allow: readonly Range[]
  readonly userAgent: string
  /** Called for every attempt. */
  noted?(outcome: 'delivered' | 'deferred' | 'failed'): void
}

export class BackChannel {
  readonly #deps: Deps
  readonly #worker: Worker<store.CallRow>

  constructor(deps: Deps) {
    this.#deps = deps
    this.#worker = new Worker(deps, {
      what: 'telling applications of sign-outs',
      table: store.calls,
      leaseMs,
      dueLanes: async () =>
        (await store.clientsToCall(deps.db, deps.clock.now())).map(({ client_id }) => ({
          ...store.callsTo(client_id),
          jobsMax: connectionsPerClient,
          work: (call, signal) => this.#call(call, signal),
        })),
    })
  }

  start(): void {
    this.#worker.start(this.#deps.pollMs)
  }

  wake(): void {
    this.#worker.wake()
  }

  /** Claims nothing more, and aborts requests that do not finish soon. */
  stop(): Promise<void> {
    return this.#worker.stop()
  }

  sweep(now: number) {
    return [store.pruneCalls(now - keptMs)]
  }

  async #call(call: store.CallRow, signal: AbortSignal): Promise<void> {
    const { db, clock, allow, userAgent, log } = this.#deps
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'User-Agent': userAgent }
    const body = `logout_token=${await this.#logoutToken(call)}`
    const answer = await attempt({ url: new URL(call.uri), headers, body, allow, timeoutMs, signal })
    const at = clock.now()
    const pauseMs = pausesMs[call.attempts]
    const outcome = answer.error === null ? 'delivered' : pauseMs === undefined ? 'failed' : null
    const nextAt = pauseMs === undefined ? at : at + jittered(pauseMs)
    this.#deps.noted?.(outcome ?? 'deferred')
    await db.tx(store.recordCall(call, { at, ...answer, nextAt, outcome }, bySystem))
    if (outcome === 'failed')
      log.warn(
        { client: call.client_id, host: new URL(call.uri).host, ...answer },
        'gave up telling an application that a session has ended',
      )
  }

  async #logoutToken(call: store.CallRow): Promise<string> {
    const { keys, clock, issuer } = this.#deps
    const claims = {
      iss: issuer,
      aud: call.client_id,
      sub: subjectOf(call.subject_salt, call.person_id),
      sid: call.session_id,
      jti: newId(),
      events: { [logoutEvent]: {} },
    }
    const times = { now: clock.now(), ttlMs: tokenTtlMs }
    return signToken(await keys.signer(call.id_token_alg), 'logout+jwt', claims, times)
  }
}
