/** What admins give of a provider, read into columns. */
import { invalidField } from '../../errors.ts'
import { isLoopbackHost } from '../../platform/lib/network.ts'
import { schoolRoles } from '../../roles.ts'
import { nameFrom } from '../people/names.ts'
import type { ProviderKind } from './claims.ts'

const domainsMax = 50
const textLengthMax = 1_000
const kinds: readonly ProviderKind[] = ['entra', 'google', 'oidc']
const googleIssuer = 'https://accounts.google.com'
/** Metadata of Entra ID for any tenant: everybody with a Microsoft account could sign in. */
const anyTenant = /\/(common|organizations|consumers)(\/|$)/

export interface ProviderFields {
  readonly name: string
  readonly kind: string
  readonly issuer?: string
  readonly clientId: string
  readonly secret: string
  readonly roles: readonly string[]
  readonly domains?: readonly string[]
  readonly numberClaim?: string | null
  readonly addressClaim?: string | null
  readonly trustAddresses?: boolean
  readonly tenant?: string | null
  readonly hostedDomain?: string | null
}

/** Issuer, kind and tenant stay: links belong to them. */
export type ProviderChange = Partial<Omit<ProviderFields, 'kind' | 'issuer' | 'tenant' | 'hostedDomain'>> & {
  readonly enabled?: boolean
}

export const wrong = (field: string, detail: string) => invalidField({ pointer: `#/${field}`, detail })

type Changed = Omit<ProviderChange, 'enabled'>

/** The columns of the fields that are given. */
export function columnsOf(fields: Changed, sealed: (secret: string) => string) {
  const { name, clientId, secret, roles, domains, numberClaim, addressClaim, trustAddresses } = fields
  return {
    ...(name !== undefined && { name: nameFrom(name) }),
    ...(clientId !== undefined && { client_id: textFrom('clientId', clientId) }),
    ...(secret !== undefined && { sealed: sealed(textFrom('secret', secret)) }),
    ...(roles !== undefined && { roles: rolesFrom(roles) }),
    ...(domains !== undefined && { domains: domainsFrom(domains).join(',') }),
    ...(numberClaim !== undefined && { number_claim: claimFrom('numberClaim', numberClaim) }),
    ...(addressClaim !== undefined && { address_claim: claimFrom('addressClaim', addressClaim) }),
    ...(trustAddresses !== undefined && { trust_addresses: trustAddresses ? (1 as const) : (0 as const) }),
  } as const
}

/** What stays: links belong to it. */
export function fixedOf({ kind: name, issuer: given, ...fields }: ProviderFields) {
  const kind = kinds.find((one) => one === name)
  if (!kind) throw wrong('kind', `must be one of ${kinds.join(', ')}`)
  const issuer = issuerFrom(given ?? (kind === 'google' ? googleIssuer : ''), kind)
  return {
    kind,
    issuer,
    tenant: tenantFrom(fields, kind, issuer),
    hosted_domain: hostedDomainFrom(fields, kind),
  }
}

function issuerFrom(text: string, kind: ProviderKind): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw wrong('issuer', 'must be an address such as https://login.example.org/realms/school')
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    throw wrong('issuer', 'must begin with https, unless it is this machine')
  if (url.search || url.hash || url.username || url.password || text.length > textLengthMax)
    throw wrong('issuer', 'must have no user, query or fragment')
  if (kind === 'entra' && anyTenant.test(url.pathname))
    throw wrong('issuer', 'must name the tenant: https://login.microsoftonline.com/TENANT-ID/v2.0')
  return text
}

type Fixed = Pick<ProviderFields, 'tenant' | 'hostedDomain'>

function tenantFrom({ tenant }: Fixed, kind: ProviderKind, issuer: string): string | null {
  if (kind !== 'entra') {
    if (tenant) throw wrong('tenant', 'is only for Entra ID')
    return null
  }
  const inIssuer = /\/([0-9a-f]{8}-[0-9a-f-]{27})(?:\/|$)/i.exec(issuer)?.[1]
  const found = tenant || inIssuer
  if (!found) throw wrong('tenant', 'must be the id of the tenant')
  return textFrom('tenant', found)
}

function hostedDomainFrom({ hostedDomain }: Fixed, kind: ProviderKind): string | null {
  if (kind !== 'google') {
    if (hostedDomain) throw wrong('hostedDomain', 'is only for Google')
    return null
  }
  if (!hostedDomain)
    throw wrong('hostedDomain', 'must be the domain of the school, or any Google account could sign in')
  return domainsFrom([hostedDomain], 'hostedDomain')[0]!
}

function rolesFrom(roles: readonly string[]): string {
  const unknown = roles.find((role) => !schoolRoles.some((one) => one === role))
  if (unknown === 'veterinarian')
    throw wrong('roles', 'cannot have veterinarian: they sign in with a code or a passkey')
  if (unknown !== undefined) throw wrong('roles', `"${unknown}" is not one of ${schoolRoles.join(', ')}`)
  if (roles.length === 0) throw wrong('roles', `must include at least one of ${schoolRoles.join(', ')}`)
  return schoolRoles.filter((role) => roles.includes(role)).join(',')
}

const domainPattern = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/

function domainsFrom(domains: readonly string[], field = 'domains'): string[] {
  if (domains.length > domainsMax) throw wrong(field, `must be at most ${domainsMax}`)
  const keys = domains.map((domain) => domain.trim().toLowerCase())
  const bad = keys.find((key) => !domainPattern.test(key))
  if (bad !== undefined) throw wrong(field, `"${bad}" is not a domain such as example.org`)
  return [...new Set(keys)]
}

function claimFrom(field: string, name: string | null): string | null {
  if (name === null || name === '') return null
  if (!/^[\x21-\x7e]{1,200}$/.test(name))
    throw wrong(field, 'must be the name of a claim, such as student_number')
  return name
}

function textFrom(field: string, text: string): string {
  const trimmed = text.trim()
  if (!/^[\x21-\x7e]+$/.test(trimmed) || trimmed.length > textLengthMax)
    throw wrong(field, `must be 1 to ${textLengthMax} visible characters without spaces`)
  return trimmed
}

export const listIn = (text: string) => text.split(',').filter((one) => one !== '')
export const rolesIn = (text: string) => schoolRoles.filter((role) => listIn(text).includes(role))
