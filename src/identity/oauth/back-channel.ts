/**
 * Tells clients that one of their sessions has ended (OpenID Connect Back-Channel Logout). The call is queued in the
 * transaction that ends the session. Any process claims it under a lease, so if one dies, another repeats it.
 */
import { randomInt } from 'node:crypto'
import { attempt } from '../../messages/webhooks/webhooks.ts'
import type { Context } from '../../platform/context.ts'
import { bySystem } from '../../platform/lib/by.ts'
import { day, hour, minute, second } from '../../platform/lib/clock.ts'
import { Failure } from '../../platform/lib/failure.ts'
import type { Range } from '../../platform/lib/network.ts'
import { newId } from '../../platform/lib/random.ts'
import { Rounds } from '../../platform/lib/rounds.ts'
import { subjectOf } from '../clients/clients.ts'
import { type SigningKeys, signToken } from '../session/session.ts'
import { type CallRow, claimCalls, clientsToCall, pruneCalls, recordCall, releaseCall } from './store.ts'

const timeoutMs = 5 * second
const leaseMs = 3 * timeoutMs
const tokenTtlMs = 2 * minute
const connectionsPerClient = 8
/** 72 minutes in all. */
const pausesMs = [5 * second, 30 * second, 2 * minute, 10 * minute, hour]
/** Jitter: pauses are up to a tenth longer. */
const jitter = 0.1
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
  readonly #rounds: Rounds

  constructor(deps: Deps) {
    this.#deps = deps
    this.#rounds = new Rounds(() => this.#take(), new Failure(deps.log, 'telling applications of sign-outs'))
  }

  start(): void {
    this.#rounds.start(this.#deps.pollMs)
  }

  wake(): void {
    this.#rounds.wake()
  }

  /** Claims nothing more, and aborts requests that do not finish soon. */
  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  sweep(now: number) {
    return [pruneCalls(now - keptMs)]
  }

  async #take(): Promise<void> {
    const { db, clock } = this.#deps
    for (const { client_id: clientId } of await clientsToCall(db, clock.now())) {
      const limit = this.#rounds.roomFor(clientId, connectionsPerClient)
      if (limit <= 0) continue
      const now = clock.now()
      // A new id each time: a process that was too slow must not record what another has claimed since.
      const claim = { clientId, by: newId(), now, leaseUntil: now + leaseMs, limit }
      for (const row of await claimCalls(db, claim)) this.#rounds.begin(clientId, this.#call(row, claim.by))
    }
  }

  async #call(row: CallRow, by: string): Promise<void> {
    const { db, clock, allow, userAgent, log } = this.#deps
    const { signal } = this.#rounds
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'User-Agent': userAgent }
    const body = `logout_token=${await this.#logoutToken(row)}`
    let answer: Awaited<ReturnType<typeof attempt>>
    try {
      answer = await attempt({ url: new URL(row.uri), headers, body, allow, timeoutMs, signal })
    } catch (error) {
      if (!signal.aborted) throw error
      return void (await db.tx([releaseCall(row.session_id, by, clock.now())]))
    }
    const at = clock.now()
    const pauseMs = pausesMs[row.attempts]
    const outcome = answer.error === null ? 'delivered' : pauseMs === undefined ? 'failed' : null
    const nextAt = at + (pauseMs === undefined ? 0 : pauseMs + randomInt(Math.floor(pauseMs * jitter)))
    this.#deps.noted?.(outcome ?? 'deferred')
    await db.tx(recordCall({ sessionId: row.session_id, by, at, ...answer, nextAt, outcome }, bySystem))
    if (outcome === 'failed')
      log.warn(
        { client: row.client_id, host: new URL(row.uri).host, ...answer },
        'gave up telling an application that a session has ended',
      )
  }

  async #logoutToken(row: CallRow): Promise<string> {
    const { keys, clock, issuer } = this.#deps
    const claims = {
      iss: issuer,
      aud: row.client_id,
      sub: subjectOf(row.subject_salt, row.person_id),
      sid: row.session_id,
      jti: newId(),
      events: { [logoutEvent]: {} },
    }
    const times = { now: clock.now(), ttlMs: tokenTtlMs }
    return signToken(await keys.signer(row.id_token_alg), 'logout+jwt', claims, times)
  }
}
