/** Reads the scopes of a request (RFC 6749 §3.3). Pure. */
import { personScopes, serviceScopes } from '../clients/clients.ts'

const all: readonly string[] = [...personScopes, ...serviceScopes]

/** Without repetitions. Scopes that Chiron does not know are ignored (OpenID Connect Core §3.1.2.1). */
export function knownScopes(text: string): string[] {
  return [...new Set(text.split(' '))].filter((scope) => all.includes(scope))
}

/** The first scope that is not allowed. */
export function beyond(scopes: readonly string[], allowed: readonly string[]): string | undefined {
  return scopes.find((scope) => !allowed.includes(scope))
}
