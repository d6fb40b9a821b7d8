/** What errors of Node, the databases and mail servers may have. Anything can be thrown, so all of it may be missing. */
interface ErrorFields {
  readonly message?: string
  readonly code?: string
  /** SQLite has one; its lowest byte is the primary code. */
  readonly errcode?: number
  /** A mail server sent it, beginning with the code. */
  readonly response?: string
  readonly responseCode?: number
  readonly port?: number
  readonly cause?: unknown
  readonly errors?: readonly unknown[]
}

export function errorFields(error: unknown): ErrorFields {
  return error ?? {}
}
