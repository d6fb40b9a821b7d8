/**
 * What a provider says about somebody, as far as this school trusts it. Issuer, audience and signature were checked
 * before (`openid.ts`); here the tenant and the hosted domain are, and whether an address counts.
 *
 * An address counts only if the provider calls it verified and it is in one of the provider's own domains. Entra ID lets
 * the admins of any tenant set any address (nOAuth), so its addresses need `xms_edov`, and names such as
 * `preferred_username` are never read as addresses unless an admin chose that claim.
 */
import type { RefusalReason } from '../../messages/events/events.ts'
import { parseAddress } from '../../platform/lib/address.ts'

export type ProviderKind = 'entra' | 'google' | 'oidc'

/** How the claims of a provider are read. */
export interface ClaimRules {
  readonly kind: ProviderKind
  /** Lower-case. */
  readonly domains: readonly string[]
  readonly numberClaim: string | null
  readonly addressClaim: string | null
  readonly trustAddresses: boolean
  readonly tenant: string | null
  readonly hostedDomain: string | null
}

export type Claims = Readonly<Record<string, unknown>>

/** Somebody at a provider. */
export interface Asserted {
  /** Names the account there for good; for Entra ID tenant and object id. */
  readonly subject: string
  /** Empty if the provider is not asked for it, or does not know it. */
  readonly number: string
  /** The key of an address that counts. */
  readonly address: string | null
  /** Why an address does not count; null if it does, or there is none. */
  readonly ignored: 'address-unverified' | 'address-domain' | null
}

export type ReadClaims = Asserted | { readonly refused: RefusalReason }

const subjectLengthMax = 255

export function readClaims(claims: Claims, rules: ClaimRules): ReadClaims {
  if (rules.kind === 'entra' && claims.tid !== rules.tenant) return { refused: 'tenant' }
  if (rules.kind === 'google' && claims.hd !== rules.hostedDomain) return { refused: 'hosted-domain' }
  const subject = subjectOf(claims, rules)
  if (subject === null) return { refused: 'subject' }
  const number = numberOf(claims, rules)
  if (number === null) return { refused: 'ambiguous-claims' }
  return { subject, number, ...addressOf(claims, rules) }
}

function subjectOf(claims: Claims, { kind }: ClaimRules): string | null {
  const { sub, tid, oid } = claims
  const id = kind === 'entra' ? oid : sub
  if (typeof id !== 'string' || id === '' || id.length > subjectLengthMax) return null
  return kind === 'entra' ? `${tid}/${id}` : id
}

/** Null if there are several. Directories often give one value as a list, or a number. */
function numberOf(claims: Claims, { numberClaim }: ClaimRules): string | null {
  if (numberClaim === null) return ''
  const values = [claims[numberClaim] ?? []].flat().map((value) => {
    if (typeof value === 'string') return value.trim()
    return Number.isSafeInteger(value) ? String(value) : ''
  })
  const different = new Set(values.filter((value) => value !== ''))
  if (different.size > 1) return null
  return [...different][0] ?? ''
}

function addressOf(claims: Claims, rules: ClaimRules): Pick<Asserted, 'address' | 'ignored'> {
  const text = claims[rules.addressClaim ?? 'email']
  const parsed = typeof text === 'string' ? parseAddress(text) : ''
  if (typeof parsed === 'string') return { address: null, ignored: null }
  if (!isVerified(claims, rules)) return { address: null, ignored: 'address-unverified' }
  const domain = parsed.key.slice(parsed.key.lastIndexOf('@') + 1)
  if (!rules.domains.includes(domain)) return { address: null, ignored: 'address-domain' }
  return { address: parsed.key, ignored: null }
}

/** Only `true` itself: some providers send the text "true" for addresses that people typed. */
function isVerified(claims: Claims, { kind, trustAddresses }: ClaimRules): boolean {
  if (kind === 'entra') return claims.xms_edov === true
  return trustAddresses || claims.email_verified === true
}

/** The claims that matching needs; without them in the ID token, userinfo may have them. */
export function neededClaims({ numberClaim, addressClaim, trustAddresses }: ClaimRules): string[] {
  const verified = trustAddresses ? [] : ['email_verified']
  return [addressClaim ?? 'email', ...verified, ...(numberClaim === null ? [] : [numberClaim])]
}
