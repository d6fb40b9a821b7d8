/**
 * What a provider says about somebody, as far as this school trusts it. Issuer, audience and signature were checked
 * before (`openid.ts`); here the tenant and the hosted domain are, and whether an address counts.
 *
 * An address counts only if the provider calls it verified and it is in one of the provider's own domains. Entra ID lets
 * the admins of any tenant set any address (nOAuth), so its addresses need `xms_edov`. Both flags speak of the claim
 * `email` beside them in the same token or reply, so another claim counts only if an admin trusts all addresses of the
 * provider. ID token and userinfo are therefore read separately, and must not contradict each other.
 *
 * What may end up in a statement is checked as a body would be: PostgreSQL keeps no NUL.
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

/** The provider's answer does not sign anybody in. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, options?: ErrorOptions) {
    super(reason, options)
    this.reason = reason
  }
}

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

/** Number and address as they came, to be shown to the help desk. */
export interface Claimed {
  readonly number: string
  readonly address: string
}

const textLengthMax = 255

/** Throws `Refused`. Who somebody is must be signed; userinfo only adds number and address. */
export function readClaims(token: Claims, userinfo: Claims | null, rules: ClaimRules): Asserted {
  if (rules.kind === 'entra' && token.tid !== rules.tenant) throw new Refused('tenant')
  if (rules.kind === 'google' && token.hd !== rules.hostedDomain) throw new Refused('hosted-domain')
  const sources = userinfo === null ? [token] : [token, userinfo]
  return { subject: subjectOf(token, rules), number: numberOf(sources, rules), ...addressOf(sources, rules) }
}

/** Whether a claim is a text that can be kept: not empty, not too long, without control characters. */
export function isClaimText(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > textLengthMax) return false
  return value.isWellFormed() && !/\p{Cc}/u.test(value)
}

function subjectOf({ sub, tid, oid }: Claims, { kind }: ClaimRules): string {
  const id = kind === 'entra' ? oid : sub
  if (!isClaimText(id)) throw new Refused('subject')
  return kind === 'entra' ? `${tid}/${id}` : id
}

/** Directories often give one value as a list, or a number. */
function numberOf(sources: readonly Claims[], { numberClaim }: ClaimRules): string {
  if (numberClaim === null) return ''
  const values = sources
    .flatMap((claims) => claims[numberClaim] ?? [])
    .map((value) => (Number.isSafeInteger(value) ? String(value) : value))
    .map((value) => (typeof value === 'string' ? value.trim() : value))
  const different = [...new Set(values.filter((value) => value !== ''))]
  if (!different.every(isClaimText)) throw new Refused('claims')
  if (different.length > 1) throw new Refused('ambiguous-claims')
  return different[0] ?? ''
}

/** Whether or not they count. */
export function claimedIn(token: Claims, userinfo: Claims | null, rules: ClaimRules): Claimed {
  const shown = (name: string | null) => {
    const values = name === null ? [] : [token, userinfo].flatMap((claims) => claims?.[name] ?? [])
    const texts = values.map((value) => (typeof value === 'number' ? String(value) : value))
    const clean = texts
      .filter((value) => typeof value === 'string')
      .map((value) => value.toWellFormed())
      .map((value) => value.replace(/\p{Cc}/gu, ' ').trim())
    return [...new Set(clean)].join(', ').slice(0, textLengthMax).toWellFormed()
  }
  return { number: shown(rules.numberClaim), address: shown(rules.addressClaim ?? 'email') }
}

function addressOf(sources: readonly Claims[], rules: ClaimRules): Pick<Asserted, 'address' | 'ignored'> {
  const found = sources.flatMap((claims) => {
    const text = claims[rules.addressClaim ?? 'email']
    const parsed = typeof text === 'string' ? parseAddress(text) : ''
    return typeof parsed === 'string' ? [] : [{ key: parsed.key, isVerified: isVerified(claims, rules) }]
  })
  const [key, another] = new Set(found.map((one) => one.key))
  if (key === undefined) return { address: null, ignored: null }
  if (another !== undefined) throw new Refused('ambiguous-claims')
  if (!found.some((one) => one.isVerified)) return { address: null, ignored: 'address-unverified' }
  const domain = key.slice(key.lastIndexOf('@') + 1)
  if (!rules.domains.includes(domain)) return { address: null, ignored: 'address-domain' }
  return { address: key, ignored: null }
}

/** Only `true` itself: some providers send the text "true" for addresses that people typed. */
function isVerified(claims: Claims, rules: ClaimRules): boolean {
  return rules.trustAddresses || (!isOfAnotherName(rules) && claims[verifiedClaim(rules)] === true)
}

/** Whether addresses come in a claim of which nothing says that it is verified. */
const isOfAnotherName = ({ addressClaim }: ClaimRules) => addressClaim !== null && addressClaim !== 'email'

const verifiedClaim = ({ kind }: ClaimRules) => (kind === 'entra' ? 'xms_edov' : 'email_verified')

/** Whether the address claim can never count, because only trusted addresses of another name do. */
export const isAddressClaimUnused = (rules: ClaimRules): boolean =>
  isOfAnotherName(rules) && !rules.trustAddresses

/** The claims that matching needs; without them in the ID token, userinfo may have them. */
export function neededClaims(rules: ClaimRules): string[] {
  const { numberClaim, addressClaim, trustAddresses, domains } = rules
  const verified = trustAddresses ? [] : [verifiedClaim(rules)]
  const canCount = domains.length > 0 && !isAddressClaimUnused(rules)
  return [
    ...(canCount ? [addressClaim ?? 'email', ...verified] : []),
    ...(numberClaim === null ? [] : [numberClaim]),
  ]
}
