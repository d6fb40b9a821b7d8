import { errorFields } from './error-fields.ts'
/** Why a server could not be reached, in words. Errors of sockets say it in `code`, those of several addresses in `errors`. */
export function reasonOf(error: unknown): string {
  const { code, message, cause, errors } = errorFields(error)
  if (errors?.[0]) return reasonOf(errors[0])
  if (cause) return reasonOf(cause)
  const known: Record<string, string> = {
    ECONNREFUSED: 'nothing is listening there',
    ENOTFOUND: 'the name does not exist in DNS',
    EAI_AGAIN: 'the name cannot be resolved now',
    ETIMEDOUT: 'no answer in time',
    ECONNRESET: 'the connection was cut',
    EHOSTUNREACH: 'there is no route to it',
    ENETUNREACH: 'there is no route to it',
  }
  return known[code ?? ''] ?? message ?? String(error)
}
