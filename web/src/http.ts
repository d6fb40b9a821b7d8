/** One call to the service: JSON in, JSON out, and whatever fails is a `Problem`. Knows nothing of who is signed in. */
import type { ErrorCode } from '../../src/errors.ts'

const patienceMs = 20_000

/** `unreachable`: no answer came at all. */
export type ProblemCode = ErrorCode | 'unreachable'

export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly status: number
  /** Names of the fields that were refused. */
  readonly fields: readonly string[]
  readonly attemptsLeft: number | null
  /** When to try again, by the clock of this device. */
  readonly retryAt: number | null
  /** What to tell the operator. */
  readonly instance: string | null

  constructor(code: ProblemCode, about: Partial<Omit<Problem, 'code'>> = {}) {
    super(code)
    this.code = code
    this.status = about.status ?? 0
    this.fields = about.fields ?? []
    this.attemptsLeft = about.attemptsLeft ?? null
    this.retryAt = about.retryAt ?? null
    this.instance = about.instance ?? null
  }
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly body?: unknown
  readonly token?: string
  /** The same in every repetition of one call. */
  readonly idempotencyKey?: string
}

/** The body of the reply; undefined when it has none. */
export async function send<T>(path: string, call: Call = {}): Promise<T> {
  const { method = 'GET', body, token, idempotencyKey } = call
  let reply: Response
  let text: string
  try {
    reply = await fetch(path, {
      method,
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(patienceMs),
      headers: {
        Accept: 'application/json',
        // Mails are written in the language of the page.
        'Accept-Language': document.documentElement.lang,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    text = await reply.text()
  } catch {
    throw new Problem('unreachable')
  }
  if (!reply.ok) throw problemOf(reply, text)
  return text === '' ? (undefined as T) : (JSON.parse(text) as T)
}

function problemOf(reply: Response, text: string): Problem {
  const seconds = Number(reply.headers.get('Retry-After') ?? Number.NaN)
  const retryAt = Number.isFinite(seconds) ? Date.now() + seconds * 1000 : null
  const { status } = reply
  try {
    const { code, errors = [], attemptsLeft, instance } = JSON.parse(text)
    const fields = errors.map(({ pointer = '' }: { pointer?: string }) => pointer.replace(/^#\//, ''))
    return new Problem(code, { status, fields, attemptsLeft, instance, retryAt })
  } catch {
    // Not from the service: a proxy in front of it that cannot reach it.
    return new Problem(status >= 500 ? 'unavailable' : 'internal-error', { status, retryAt })
  }
}

export const asProblem = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem('internal-error')
