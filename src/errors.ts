/**
 * Every way a request can fail, by a stable code. Code throws `new AppError(code, …)`; only `http/problem.ts` turns it
 * into a reply, and `/problems` explains each code from this table.
 */

interface ErrorKind {
  readonly status: number
  readonly title: string
  /** For the developer who reads /problems/{code}. */
  readonly explanation: string
}

export const errorKinds = {
  'invalid-request': {
    status: 400,
    title: 'The request is not valid',
    explanation:
      'Something is missing or breaks a rule. `errors` lists each one: `pointer` says where in the body (or `parameter` which one of the path, query or headers), `detail` what was expected.',
  },
  'malformed-json': {
    status: 400,
    title: 'The body is not well-formed JSON',
    explanation:
      'The body must be one JSON value in UTF-8, without duplicate member names, without a member named `__proto__`, and nested at most 32 deep.',
  },
  'unsupported-version': {
    status: 400,
    title: 'This API version is not served',
    explanation: 'Send `API-Version: 1`, or leave the header out.',
  },
  unauthenticated: {
    status: 401,
    title: 'A token is needed',
    explanation:
      'Send `Authorization: Bearer <access token>`. A token comes from validate-otp or from /session/refresh.',
  },
  'invalid-token': {
    status: 401,
    title: 'The token is not valid',
    explanation:
      'It is malformed, forged or expired, or another issuer issued it. Refresh it, or sign in again.',
  },
  'session-ended': {
    status: 401,
    title: 'The session has ended',
    explanation:
      'The token is genuine, but its session has ended: it was signed out, expired or revoked, an old refresh token was reused, or the account was suspended or closed. Sign in again.',
  },
  'otp-incorrect': {
    status: 401,
    title: 'The code is not correct',
    explanation: '`attemptsLeft` says how many attempts remain. When none are left, ask for a new code.',
  },
  'otp-unusable': {
    status: 401,
    title: 'The code can no longer be used',
    explanation:
      'It has expired, has been used, or had too many wrong answers; or the session is unknown or belongs to another address. Ask for a new code.',
  },
  'passkey-unusable': {
    status: 401,
    title: 'The passkey cannot be used',
    explanation:
      'Nobody has this passkey, its answer is not right, its challenge is older than five minutes or was answered before, or its account cannot sign in. Ask for new options, or sign in with a code. With `known: false` the passkey does not exist here: tell the browser with `PublicKeyCredential.signalUnknownCredential`.',
  },
  forbidden: {
    status: 403,
    title: 'Not allowed',
    explanation:
      'The token is valid, but it belongs to another role, its owner lacks the required right, or the request came from another site.',
  },
  'recent-sign-in-required': {
    status: 403,
    title: 'Sign in again first',
    explanation:
      'Actions that are hard to undo need a recent proof of who you are; `within` says how recent, in seconds. Prove it again in this session by one of `methods`, with POST /session/step-up/options (`passkey`) or POST /session/step-up/send-otp (`code`), and repeat the call.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    explanation: 'The path is unknown, or the resource does not exist or is not visible to you.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    explanation: 'The `Allow` header lists the methods this path supports.',
  },
  timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    explanation:
      'Headers and body must arrive within 10 seconds, a roster within 10 minutes. Send the request again.',
  },
  conflict: {
    status: 409,
    title: 'The current state does not allow this',
    explanation:
      'The request is valid but conflicts with the current state. `detail` says why: for example, it would remove the last admin, the address belongs to somebody else, or the account is suspended. Fetch the current state before you repeat the call.',
  },
  'passkey-exists': {
    status: 409,
    title: 'This passkey was added before',
    explanation: 'The authenticator already has a passkey of this account. Use it, or choose another one.',
  },
  'roster-moved-on': {
    status: 409,
    title: 'The roster has changed in the meantime',
    explanation:
      'A roster was imported or undone after this plan was made, so the plan is out of date. Make a new plan and review it.',
  },
  'body-too-large': {
    status: 413,
    title: 'The body is too large',
    explanation: 'A body may be at most 16 KiB, a roster 64 MiB.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported media type',
    explanation:
      'The `Accept` header of the reply lists the media types this call takes: `application/json`, or for a roster those of zip, CSV and XLSX files. Set `Content-Type` accordingly, and send no `Content-Encoding`.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    explanation: 'Wait for the number of seconds in `Retry-After`, then try again.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The headers are too large',
    explanation: 'The request line and headers together may be at most 16 KiB.',
  },
  'internal-error': {
    status: 500,
    title: 'Internal error',
    explanation:
      'The fault is ours. Give the operator the `instance` from the reply, which identifies the log line.',
  },
  unavailable: {
    status: 503,
    title: 'The service is unavailable',
    explanation:
      'The store is unreachable, the service is overloaded, or it is shutting down. Try again after `Retry-After` seconds.',
  },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorKinds

/** `pointer`: a JSON pointer into the body, as a fragment. `parameter`: a name in the path, query or headers. */
export type FieldError = { readonly detail: string } & (
  | { readonly pointer: string; readonly parameter?: undefined }
  | { readonly parameter: string; readonly pointer?: undefined }
)

interface Extra {
  /** In place of the usual one, where it can be more exact. */
  readonly title?: string
  readonly errors?: readonly FieldError[]
  readonly attemptsLeft?: number
  readonly retryAfterSeconds?: number
  /** For recent-sign-in-required: how recent in seconds, and how to prove it again. */
  readonly within?: number
  readonly methods?: readonly string[]
  /** For passkey-unusable: false if the store has no such passkey. */
  readonly known?: false
  readonly headers?: Readonly<Record<string, string>>
  /** The limit that refused; for metrics and the log, not for the reply. */
  readonly limit?: string
  readonly cause?: unknown
  /** For a library of OAuth (RFC 6750 §3.1). */
  readonly oauthError?: string
}

export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  readonly extra: Extra

  constructor(code: ErrorCode, detail?: string, extra: Extra = {}) {
    super(detail ?? plain(errorKinds[code].explanation), { cause: extra.cause })
    this.code = code
    this.extra = extra
  }
}

/** One field of a request that breaks a rule. */
export function invalidField(error: FieldError): AppError {
  return new AppError('invalid-request', undefined, { errors: [error] })
}

const plain = (text: string) => text.replaceAll('`', '')

/** The exit code of commands whose store cannot be used. */
export const storeOutOfReach = 5

/** A wrong setting or command line, reported to the operator in one line without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Errors of OAuth (RFC 6749 §5.2), which http/oauth.ts turns into replies. */
export type OAuthCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'

export class OAuthError extends Error {
  readonly code: OAuthCode

  constructor(code: OAuthCode, description: string) {
    super(description)
    this.code = code
  }
}
