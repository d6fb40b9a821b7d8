/** What a provider is asked for, and where the browser goes on to afterwards. */
import { deflateSync } from 'node:zlib'
import { invalidField } from '../../errors.ts'
import type { SchoolRole } from '../../roles.ts'
import type { ClaimRules } from './claims.ts'
import { returnBytesMax, returnLengthMax } from './return-path.ts'

/** A sign-in with an older proof adds no passkey and changes no address, so a newer one is asked for. */
const proofAgeMaxSeconds = 600
const base = 'https://own.invalid'

export interface Wish {
  /** A path of this service. If it is the request of an application, that may want a new proof. */
  readonly returnTo: string
  /** Others use the computer, too, and may still be signed in at the provider. */
  readonly shared: boolean
  /** The last account was refused. */
  readonly otherAccount: boolean
}

/** Parameters of the authorization request. Without `max_age` a provider need not say when it asked somebody. */
export function parametersFor(
  { kind, hostedDomain }: ClaimRules,
  { returnTo, shared, otherAccount }: Wish,
): Record<string, string> {
  const { prompts, maxAge } = wantedAt(returnTo)
  const prompt = promptFor(kind, {
    login: shared || prompts.includes('login'),
    select_account: otherAccount || prompts.includes('select_account'),
  })
  return {
    max_age: String(Math.min(proofAgeMaxSeconds, maxAge)),
    ...(hostedDomain !== null && { hd: hostedDomain }),
    ...(prompt !== '' && { prompt }),
  }
}

/** Google knows no `login`, and Entra ID takes one value. */
function promptFor(kind: ClaimRules['kind'], wants: { login: boolean; select_account: boolean }): string {
  if (kind === 'google') return wants.login || wants.select_account ? 'select_account' : ''
  const prompts = (['login', 'select_account'] as const).filter((prompt) => wants[prompt])
  return kind === 'entra' ? (prompts[0] ?? '') : prompts.join(' ')
}

function wantedAt(returnTo: string): { prompts: readonly string[]; maxAge: number } {
  const { pathname, searchParams } = new URL(returnTo, base)
  if (pathname !== '/oauth/authorize') return { prompts: [], maxAge: Number.POSITIVE_INFINITY }
  const maxAge = searchParams.get('max_age') ?? ''
  return {
    prompts: (searchParams.get('prompt') ?? '').split(' '),
    maxAge: /^\d+$/.test(maxAge) ? Number(maxAge) : Number.POSITIVE_INFINITY,
  }
}

/** A path of this service, such as `/#/classes`; never another site. */
export function returnFrom(text: string | undefined, role: SchoolRole): string {
  const start = role === 'staff' ? '/console' : '/'
  if (text === undefined || text === '') return start
  if (text.length > returnLengthMax) throw tooLong()
  const url = text.startsWith('/') ? URL.parse(text, base) : null
  // "/.//example.org" has the path "//example.org", which would be another site.
  if (!url || url.origin !== base || url.pathname.startsWith('//') || /[\\\s]/.test(text))
    throw invalidField({ pointer: '#/return', detail: 'must be a path of this service, such as /#/classes' })
  const path = `${url.pathname}${url.search}${url.hash}`
  if (deflateSync(path).length > returnBytesMax) throw tooLong()
  return path
}

const tooLong = () =>
  invalidField({
    pointer: '#/return',
    detail: `must have at most ${returnLengthMax} characters, and at most ${returnBytesMax} bytes when deflated`,
  })
