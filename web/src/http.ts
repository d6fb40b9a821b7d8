/** One call to the service: JSON in, JSON out, and every failure is a `Problem`. Does not know who is signed in. */
import type { ErrorCode } from '../../src/errors.ts'
import { hearTime } from './clock.ts'

const patienceMs = 20_000

/** `unreachable`: there was no answer at all. */
export type ProblemCode = ErrorCode | 'unreachable'

export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly status: number
  /** The names of refused fields. */
  readonly fields: readonly string[]
  readonly attemptsLeft: number | null
  /** How the reader can prove again who they are. */
  readonly methods: readonly string[]
  /** False if the service has no such passkey. */
  readonly known: boolean
  /** By this device's clock. */
  readonly retryAt: number | null
  /** The reference to give to the operator. */
  readonly instance: string | null

  constructor(code: ProblemCode, about: Partial<Omit<Problem, 'code'>> = {}) {
    super(code)
    this.code = code
    this.status = about.status ?? 0
    this.fields = about.fields ?? []
    this.attemptsLeft = about.attemptsLeft ?? null
    this.methods = about.methods ?? []
    this.known = about.known ?? true
    this.retryAt = about.retryAt ?? null
    this.instance = about.instance ?? null
  }
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly body?: unknown
  readonly token?: string
  /** Must stay the same when a call is repeated. */
  readonly idempotencyKey?: string
  /** Ends the call when its answer is no longer wanted. */
  readonly signal?: AbortSignal
}

/** Undefined if the reply has no body. */
export async function send<T>(path: string, call: Call = {}): Promise<T> {
  const { method = 'GET', body, token, idempotencyKey, signal } = call
  const patience = AbortSignal.timeout(patienceMs)
  let reply: Response
  let text: string
  try {
    reply = await fetch(path, {
      method,
      cache: 'no-store',
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
      headers: {
        Accept: 'application/json',
        // The service writes mails in this language.
        'Accept-Language': document.documentElement.lang,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    hearTime(reply.headers.get('Date'))
    text = await reply.text()
  } catch {
    throw new Problem('unreachable')
  }
  if (!reply.ok) throw problemOf(reply.status, reply.headers.get('Retry-After'), text)
  return text === '' ? (undefined as T) : (JSON.parse(text) as T)
}

export function problemOf(status: number, retryAfter: string | null, text: string): Problem {
  const seconds = Number(retryAfter ?? Number.NaN)
  const retryAt = Number.isFinite(seconds) ? Date.now() + seconds * 1000 : null
  try {
    const { code, errors = [], attemptsLeft, methods, known, instance } = JSON.parse(text)
    const fields = errors.map(({ pointer = '' }: { pointer?: string }) => pointer.replace(/^#\//, ''))
    return new Problem(code, { status, fields, attemptsLeft, methods, known, instance, retryAt })
  } catch {
    // This reply came from a proxy that could not reach the service.
    return new Problem(status >= 500 ? 'unavailable' : 'internal-error', { status, retryAt })
  }
}

export const asProblem = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem('internal-error')
