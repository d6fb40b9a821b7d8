/** The school's OpenID providers: their registry, and a test of each. */
import { AppError, invalidField } from '../../errors.ts'
import type { Db } from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import { type Clock, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { isLoopbackHost } from '../../platform/lib/network.ts'
import { isId, newId } from '../../platform/lib/random.ts'
import { seal, unseal } from '../../platform/lib/seal.ts'
import type { Secrets } from '../../platform/lib/secret.ts'
import { type OpenMethods, type SchoolRole, schoolRoles } from '../../roles.ts'
import { parseName } from '../people/names.ts'
import { type ClaimRules, isAddressClaimUnused, neededClaims, type ProviderKind } from './claims.ts'
import type { OpenId, OpenIdClient } from './openid.ts'
import {
  allProviders,
  deleteProvider,
  insertProvider,
  type ProviderRow,
  providerById,
  resealProvider,
  updateProvider,
  type WatchedProvider,
  watchedProvider,
  watchedProviders,
} from './store.ts'

const providersMax = 20
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

/** A provider that people can sign in with. */
export interface Provider extends OpenIdClient {
  readonly name: string
  readonly roles: readonly SchoolRole[]
  readonly rules: ClaimRules
}

export interface ProvidersDeps {
  readonly db: Db
  readonly clock: Clock
  readonly secrets: Secrets
  readonly openId: OpenId
  readonly publicUrl: string
  readonly methods: OpenMethods
}

export type ProviderStep = { readonly step: string; readonly ok: boolean; readonly text: string }

export class Providers {
  readonly #deps: ProvidersDeps

  constructor(deps: ProvidersDeps) {
    this.#deps = deps
  }

  async list() {
    return (await watchedProviders(this.#deps.db)).map((row) => this.#view(row))
  }

  /** For the buttons of front ends: those that are enabled, with the roles they are open to. */
  async buttons() {
    const { methods } = this.#deps
    return (await allProviders(this.#deps.db))
      .filter(({ disabled_at }) => disabled_at === null)
      .map(({ id, name, roles }) => ({
        providerId: id,
        name,
        roles: rolesIn(roles).filter((role) => methods[role].includes('school')),
      }))
      .filter(({ roles }) => roles.length > 0)
  }

  async add(fields: ProviderFields, by: By) {
    const { db, clock, secrets } = this.#deps
    const id = newId()
    const kind = kinds.find((one) => one === fields.kind)
    if (!kind) throw wrong('kind', `must be one of ${kinds.join(', ')}`)
    const issuer = issuerFrom(fields.issuer ?? (kind === 'google' ? googleIssuer : ''), kind)
    const hostedDomain = hostedDomainFrom(fields, kind)
    const row: ProviderRow = {
      id,
      kind,
      issuer,
      ...changeable(
        { ...fields, domains: fields.domains ?? (hostedDomain === null ? [] : [hostedDomain]) },
        kind,
      ),
      sealed: seal(secrets, id, secretFrom(fields.secret)),
      tenant: tenantFrom(fields, kind, issuer),
      hosted_domain: hostedDomain,
      created_at: clock.now(),
      disabled_at: null,
    }
    const [added] = await db.tx(insertProvider(row, providersMax, by))
    if (added!.length === 0)
      throw new AppError('conflict', `There are already ${providersMax} providers; remove one first.`)
    return this.show(id)
  }

  async change(id: string, change: ProviderChange, by: By) {
    const { db, clock, secrets, openId } = this.#deps
    const before = await this.#row(id)
    const now = clock.now()
    const { secret, enabled, ...fields } = change
    const row: ProviderRow = {
      ...before,
      ...changeable({ ...fieldsOf(before), ...fields }, before.kind),
      ...(secret !== undefined && { sealed: seal(secrets, id, secretFrom(secret)) }),
      ...(enabled !== undefined && { disabled_at: enabled ? null : (before.disabled_at ?? now) }),
    }
    await db.tx(updateProvider(row, { eventId: newId(), now, by }))
    openId.forget(id)
    return this.show(id)
  }

  async remove(id: string, by: By): Promise<void> {
    const { db, clock, openId } = this.#deps
    await this.#row(id)
    await db.tx(deleteProvider(id, { eventId: newId(), now: clock.now(), by }))
    openId.forget(id)
  }

  async show(id: string) {
    return this.#view(found(isId(id) ? await watchedProvider(this.#deps.db, id) : undefined))
  }

  /** One that is enabled; undefined for any other. */
  async open(id: string): Promise<Provider | undefined> {
    const row = isId(id) ? await providerById(this.#deps.db, id) : undefined
    return row && row.disabled_at === null ? this.#provider(row) : undefined
  }

  /**
   * Walks through a sign-in without a person: metadata, keys, the form, and a code that nobody issued, which the provider must
   * refuse for that reason alone. It works for a disabled provider, too, and changes nothing.
   */
  async test(
    id: string,
  ): Promise<{ ok: boolean; steps: ProviderStep[]; redirectUri: string; logoutUri: string }> {
    const { openId } = this.#deps
    const row = await this.#row(id)
    const provider = this.#provider(row)
    const addresses = this.#addressesOf(id)
    const steps: ProviderStep[] = []
    const note = (step: string, ok: boolean, text: string) => void steps.push({ step, ok, text })
    const done = () => ({ ok: steps.every(({ ok }) => ok), steps, ...addresses })
    if (!provider) {
      note('secret', false, 'it is sealed under another CHIRON_SECRET; set it again')
      return done()
    }
    try {
      const { refusal, keys, pkce, claims, answered } = await openId.probe(provider)
      note('metadata', true, `of ${row.issuer}`)
      note('keys', keys > 0, keys === 1 ? '1 key' : `${keys} keys`)
      note(
        'pkce',
        pkce !== false,
        pkce === null
          ? 'it does not say; it is used all the same'
          : pkce
            ? 'S256'
            : 'it does not support S256',
      )
      note('form', refusal === null, refusal ?? 'the provider lets people sign in for this redirect URI')
      note('credentials', answered === 'invalid_grant', credentialsText(answered))
      const missing =
        claims === null ? [] : neededClaims(provider.rules).filter((one) => !claims.includes(one))
      if (row.kind === 'oidc' && missing.length > 0)
        note('claims', true, `its metadata does not list ${missing.join(', ')}; make sure that they are sent`)
    } catch (error) {
      note('metadata', false, reasonOf(error))
    }
    const unmatched = row.roles.includes('student') ? whyUnmatched(provider.rules) : null
    if (unmatched !== null) note('matching', false, unmatched)
    return done()
  }

  /** Seals with the current secret of the service what its previous one sealed. */
  async reseal(): Promise<void> {
    const { db, secrets } = this.#deps
    if (secrets.all.length === 1) return
    const rows = await allProviders(db)
    await db.tx(
      rows.flatMap((row) => {
        const opened = unseal(secrets, row.id, row.sealed)
        return opened?.outdated ? [resealProvider(row, seal(secrets, row.id, opened.text))] : []
      }),
    )
  }

  #provider(row: ProviderRow): Provider | undefined {
    const opened = unseal(this.#deps.secrets, row.id, row.sealed)
    if (!opened) return undefined
    const { id, name, issuer } = row
    return {
      id,
      name,
      issuer,
      clientId: row.client_id,
      secret: opened.text,
      // As their documents say. Others follow the standard's default, a header.
      secretInBody: row.kind !== 'oidc',
      roles: rolesIn(row.roles),
      rules: rulesOf(row),
    }
  }

  async #row(id: string): Promise<ProviderRow> {
    return found(isId(id) ? await providerById(this.#deps.db, id) : undefined)
  }

  #view(row: WatchedProvider) {
    return {
      providerId: row.id,
      ...fieldsOf(row),
      issuer: row.issuer,
      enabled: row.disabled_at === null,
      disabledAt: timestampOrNull(row.disabled_at),
      readable: unseal(this.#deps.secrets, row.id, row.sealed) !== null,
      links: row.links,
      ...this.#addressesOf(row.id),
      createdAt: timestamp(row.created_at),
    }
  }

  /** To register at the provider. */
  #addressesOf(id: string) {
    const { publicUrl } = this.#deps
    return { redirectUri: redirectUriOf(publicUrl), logoutUri: `${publicUrl}/sign-in/school/${id}/logout` }
  }
}

function found<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new AppError('not-found', 'No provider has this id.')
  return row
}

export const redirectUriOf = (publicUrl: string) => `${publicUrl}/sign-in/school/callback`

const listIn = (text: string) => text.split(',').filter((one) => one !== '')
const rolesIn = (text: string) => schoolRoles.filter((role) => listIn(text).includes(role))

function rulesOf(row: ProviderRow): ClaimRules {
  return {
    kind: row.kind,
    domains: listIn(row.domains),
    numberClaim: row.number_claim,
    addressClaim: row.address_claim,
    trustAddresses: row.trust_addresses === 1,
    tenant: row.tenant,
    hostedDomain: row.hosted_domain,
  }
}

/** As admins give them. */
function fieldsOf(row: ProviderRow) {
  return {
    name: row.name,
    clientId: row.client_id,
    roles: rolesIn(row.roles),
    ...rulesOf(row),
    domains: listIn(row.domains),
  }
}

const wrong = (field: string, detail: string) => invalidField({ pointer: `#/${field}`, detail })

function changeable(fields: Omit<ProviderFields, 'kind' | 'secret'>, kind: ProviderKind) {
  const name = parseName(fields.name)
  if (typeof name === 'string') throw wrong('name', name)
  const trusts = fields.trustAddresses ?? false
  if (trusts && kind !== 'oidc')
    throw wrong(
      'trustAddresses',
      'is only for other providers: Entra ID and Google say themselves which addresses are verified',
    )
  const domains = domainsFrom(fields.domains ?? [])
  if (trusts && domains.length === 0) throw wrong('domains', 'must be given, or any address would be trusted')
  return {
    name: name.name,
    client_id: textFrom('clientId', fields.clientId),
    roles: rolesFrom(fields.roles),
    domains: domains.join(','),
    number_claim: claimFrom('numberClaim', fields.numberClaim),
    address_claim: claimFrom('addressClaim', fields.addressClaim),
    trust_addresses: trusts ? 1 : 0,
  } as const
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

function tenantFrom({ tenant }: ProviderFields, kind: ProviderKind, issuer: string): string | null {
  if (kind !== 'entra') {
    if (tenant) throw wrong('tenant', 'is only for Entra ID')
    return null
  }
  const inIssuer = /\/([0-9a-f]{8}-[0-9a-f-]{27})(?:\/|$)/i.exec(issuer)?.[1]
  const found = tenant || inIssuer
  if (!found) throw wrong('tenant', 'must be the id of the tenant')
  return textFrom('tenant', found)
}

function hostedDomainFrom({ hostedDomain }: ProviderFields, kind: ProviderKind): string | null {
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

function claimFrom(field: string, name: string | null | undefined): string | null {
  if (name === undefined || name === null || name === '') return null
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

/** Why claims of students are ignored; null if none is. */
function whyUnmatched(rules: ClaimRules): string | null {
  const { domains, numberClaim, addressClaim, kind } = rules
  if (isAddressClaimUnused(rules))
    return `addresses in ${addressClaim} are ignored: ${
      kind === 'oidc'
        ? 'email_verified speaks of email alone; trust all addresses of the provider (--trust-addresses), or use email'
        : 'only those in email can be verified'
    }`
  if (domains.length === 0 && numberClaim === null)
    return 'without domains and a number claim, no student can be matched'
  return null
}

const secretFrom = (text: string) => textFrom('secret', text)

function credentialsText(answered: string): string {
  if (answered === 'invalid_grant') return 'the provider knows the client id and the secret'
  if (answered === 'invalid_client' || answered === 'unauthorized_client')
    return `the provider refuses the client id or the secret (${answered})`
  return `the provider answered ${answered || 'without an error'}, which says nothing about the client id and the secret`
}

/** The library says only that something is wrong; the innermost error says what. */
function reasonOf(error: unknown): string {
  let reason = 'it failed'
  for (let at = error; at instanceof Error; at = at.cause) reason = at.message
  return reason
}
