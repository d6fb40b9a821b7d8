/**
 * Reads the request with which a client asks to sign somebody in (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1) and
 * checks it against the client. Pure: `authorization.ts` decides what else is needed, and issues the code.
 *
 * A browser is never sent to an address that is not registered. So until client and redirect URI are known to be right,
 * a fault is shown on a page; after that, it goes to the client.
 */
import type { Client } from '../clients/clients.ts'
import type { ClientKind } from '../clients/kinds.ts'
import { acrOf } from './claims.ts'
import { beyond, knownScopes } from './scopes.ts'

/** What an address has room for. */
export const queryMax = 8_000
const stateMax = 2_000
const nonceMax = 500

export interface AuthorizeRequest extends Asker {
  readonly client: Client
  readonly scopes: readonly string[]
  readonly nonce: string | null
  readonly codeChallenge: string | null
  readonly prompt: ReadonlySet<string>
  /** How old the proof of who somebody is may be, in seconds. */
  readonly maxAge: number | null
  /** Whether the client would like a proof with a passkey. */
  readonly wantsPasskey: boolean
  readonly idTokenHint: string | null
  /** The person whom that token names, as the client knows them. */
  readonly subject: string | null
}

/** Where an answer goes, and how. */
interface Asker {
  readonly redirectUri: string
  readonly state: string | null
  readonly byForm: boolean
}

interface Reply {
  readonly code?: string
  readonly error?: AnswerCode
  readonly error_description?: string
}

/** Where the browser goes. With a form, it posts that there. */
export interface Goal {
  readonly location: string
  readonly form?: Reply & { readonly state?: string; readonly iss: string }
}

export type Reading =
  /** Why it is refused, in English, for whoever runs the client. */
  { readonly refusal: string } | Goal | { readonly request: AuthorizeRequest }

type FaultCode =
  | 'invalid_request'
  | 'invalid_scope'
  | 'unsupported_response_type'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported'

export type AnswerCode = FaultCode | 'access_denied' | 'login_required' | 'consent_required'

class Fault extends Error {
  readonly code: FaultCode

  constructor(code: FaultCode, description: string) {
    super(description)
    this.code = code
  }
}

/** Empty if there is none, or more than one. */
export function clientIdIn(query: string): string {
  const ids = new URLSearchParams(query).getAll('client_id')
  return ids.length === 1 ? ids[0]! : ''
}

/** `client` is that of `clientIdIn`, in any state. */
export function readRequest(query: string, client: Client | undefined, issuer: string): Reading {
  if (query.length > queryMax) return { refusal: 'The request is too long.' }
  const given = new URLSearchParams(query)
  if (!client || client.disabledAt !== null) return { refusal: 'client_id is unknown or disabled.' }
  const [redirectUri, another] = given.getAll('redirect_uri')
  if (!redirectUri || another !== undefined) return { refusal: 'redirect_uri is missing, or given twice.' }
  if (!isRegistered(client.kind, client.redirectUris, redirectUri))
    return { refusal: 'redirect_uri is not registered for this client.' }

  const asker = { redirectUri, state: stateIn(given), byForm: wantsForm(given) }
  try {
    return { request: { client, ...asker, ...checked(given, client), subject: null } }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return refusing(asker, issuer, error.code, error.message)
  }
}

const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(?=[/?]|$)/

/** Compared as text; apps on a device may take any port of it (RFC 8252 §7.3). */
export function isRegistered(kind: ClientKind, registered: readonly string[], uri: string): boolean {
  if (registered.includes(uri)) return true
  if (kind !== 'native' || !loopback.test(uri) || URL.parse(uri) === null) return false
  const withoutPort = (text: string) => text.replace(loopback, '$1')
  return registered.some((one) => loopback.test(one) && withoutPort(one) === withoutPort(uri))
}

/** Null if it is missing, or could not be returned as it was. */
function stateIn(given: URLSearchParams): string | null {
  const [state, another] = given.getAll('state')
  return state && another === undefined && isPlain(state, stateMax) ? state : null
}

function wantsForm(given: URLSearchParams): boolean {
  const modes = given.getAll('response_mode')
  return modes.length === 1 && modes[0] === 'form_post' && isOfWeb(given.get('redirect_uri')!)
}

const isOfWeb = (uri: string) => /^https?:/.test(uri)

/** U+FFFD stands for octets that are not UTF-8. */
const isPlain = (text: string, max: number) => text.length <= max && !/[\p{Cc}\ufffd]/u.test(text)

function checked(given: URLSearchParams, client: Client) {
  const names = [...given.keys()]
  if (new Set(names).size < names.length) throw new Fault('invalid_request', 'A parameter appears twice.')
  // RFC 6749 §3.1: a parameter without a value counts as missing.
  const one = (name: string) => given.get(name) || null
  if (one('state') !== null && stateIn(given) === null)
    throw new Fault(
      'invalid_request',
      `state is longer than ${stateMax} characters, or has control characters.`,
    )
  for (const name of ['request', 'request_uri', 'registration'] as const)
    if (one(name) !== null) throw new Fault(`${name}_not_supported`, `${name} is not supported.`)
  const responseType = one('response_type')
  if (responseType === null) throw new Fault('invalid_request', 'response_type is missing.')
  if (responseType !== 'code') throw new Fault('unsupported_response_type', 'The only response_type is code.')
  const mode = one('response_mode')
  if (mode !== null && !responseModes.includes(mode))
    throw new Fault('invalid_request', 'response_mode can be query or form_post.')
  if (mode === 'form_post' && !isOfWeb(given.get('redirect_uri')!))
    throw new Fault('invalid_request', 'A form can be posted to a web address alone.')
  const nonce = one('nonce')
  if (nonce !== null && !isPlain(nonce, nonceMax))
    throw new Fault(
      'invalid_request',
      `nonce is longer than ${nonceMax} characters, or has control characters.`,
    )
  return {
    nonce,
    codeChallenge: challengeIn(one('code_challenge'), one('code_challenge_method'), client),
    scopes: scopesIn(one('scope'), client),
    prompt: promptIn(one('prompt')),
    maxAge: maxAgeIn(one('max_age')),
    wantsPasskey: words(one('acr_values')).includes(acrOf('passkey')),
    idTokenHint: one('id_token_hint'),
  }
}

const words = (text: string | null) => (text ?? '').split(' ').filter((word) => word !== '')

function challengeIn(challenge: string | null, method: string | null, { pkce }: Client): string | null {
  if (challenge === null && method === null && !pkce) return null
  if (challenge === null) throw new Fault('invalid_request', 'code_challenge is missing (RFC 7636).')
  // Without a method it would be `plain`.
  if (method !== 'S256') throw new Fault('invalid_request', 'The only code_challenge_method is S256.')
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw new Fault('invalid_request', 'code_challenge is not a SHA-256 in base64url.')
  return challenge
}

function scopesIn(scope: string | null, client: Client): string[] {
  if (scope === null) throw new Fault('invalid_scope', 'scope is missing.')
  const scopes = knownScopes(scope)
  if (scopes.length === 0) throw new Fault('invalid_scope', 'scope names no scope that Chiron knows.')
  const refused = beyond(scopes, client.scopes)
  if (refused) throw new Fault('invalid_scope', `The client may not ask for the scope ${refused}.`)
  return scopes
}

export const responseModes: readonly string[] = ['query', 'form_post']
export const prompts: readonly string[] = ['none', 'login', 'consent', 'select_account']

function promptIn(prompt: string | null): ReadonlySet<string> {
  const wishes = new Set(words(prompt))
  if ([...wishes].some((wish) => !prompts.includes(wish)))
    throw new Fault('invalid_request', 'prompt can be none, login, consent or select_account.')
  if (wishes.has('none') && wishes.size > 1)
    throw new Fault('invalid_request', 'prompt none goes with no other.')
  return wishes
}

function maxAgeIn(text: string | null): number | null {
  if (text === null) return null
  if (!/^\d{1,9}$/.test(text)) throw new Fault('invalid_request', 'max_age is a number of seconds.')
  return Number(text)
}

/** Where the browser goes with an answer. `iss` tells the client who answers (RFC 9207). */
export function answering({ redirectUri, state, byForm }: Asker, issuer: string, reply: Reply): Goal {
  const form = { ...reply, ...(state !== null && { state }), iss: issuer }
  return byForm ? { location: redirectUri, form } : { location: withParameters(redirectUri, form) }
}

export function refusing(asker: Asker, issuer: string, error: AnswerCode, description: string): Goal {
  return answering(asker, issuer, { error, error_description: description })
}

export function withParameters(uri: string, parameters: Readonly<Record<string, string>>): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(parameters)}`
}
