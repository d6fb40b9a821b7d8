/** Sends one event to an endpoint as a signed request (Standard Webhooks 1.0), and returns the outcome. */
import { Webhook } from 'standardwebhooks'
import type { Context } from '../../platform/context.ts'
import { second } from '../../platform/lib/clock.ts'
import { errorFields } from '../../platform/lib/error-fields.ts'
import { Unreachable } from '../../platform/lib/reachable.ts'
import type { EventView } from '../events/events.ts'
import { type Post, post } from './post.ts'

const timeoutMs = 15 * second

export type SendDeps = Pick<Context, 'clock' | 'allow' | 'userAgent'>

export interface Answer {
  /** Null if there was none. */
  readonly status: number | null
  /** Null if the event was accepted. Our own words or an error code, never text from outside. */
  readonly error: string | null
}

export async function sendEvent(
  { url, secrets }: { url: string; secrets: readonly string[] },
  event: Omit<EventView, 'type'> & { readonly type: string },
  { clock, allow, userAgent }: SendDeps,
  signal: AbortSignal,
): Promise<Answer> {
  const body = JSON.stringify({ type: event.type, timestamp: event.at, data: event })
  const sentAt = new Date(clock.now())
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': userAgent,
    'webhook-id': event.id,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(event.id, sentAt, body)).join(' '),
  }
  return attempt({ url: new URL(url), headers, body, allow, timeoutMs, signal })
}

/** One request and its outcome. Ends with `signal` at the latest, and then throws. */
export async function attempt(request: Post): Promise<Answer> {
  try {
    const status = await post(request)
    return { status, error: errorOf(status) }
  } catch (error) {
    request.signal.throwIfAborted()
    return { status: null, error: describe(error) }
  }
}

function errorOf(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? 'it redirects' : `it answered ${status}`
}

function describe(error: unknown): string {
  if (error instanceof Unreachable) return error.message
  return String(errorFields(error).code ?? 'the connection failed')
}
