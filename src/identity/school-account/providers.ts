/** The school's OpenID providers: their registry, and a test of each. */
import type { Static } from 'typebox'
import { AppError } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import { decision, type Outcome } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { isId, newId } from '../../platform/lib/random.ts'
import { seal, unseal } from '../../platform/lib/seal.ts'
import type { OpenMethods, SchoolRole } from '../../roles.ts'
import { type ClaimRules, isAddressClaimUnused, neededClaims } from './claims.ts'
import type { OpenId, OpenIdClient } from './openid.ts'
import {
  columnsOf,
  fixedOf,
  listIn,
  type ProviderChange,
  type ProviderFields,
  rolesIn,
  wrong,
} from './provider-fields.ts'
import { providersMax, type TrustProblem, trustProblem } from './rules.ts'
import type { ProviderTest } from './schemas.ts'
import * as store from './store.ts'

/** A provider that people can sign in with. */
export interface Provider extends OpenIdClient {
  readonly name: string
  readonly roles: readonly SchoolRole[]
  readonly rules: ClaimRules
}

interface Deps extends Pick<Context, 'db' | 'clock' | 'secrets'> {
  readonly openId: OpenId
  readonly publicUrl: string
  readonly methods: OpenMethods
}

export class Providers {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async list() {
    return (await store.watchedProviders(this.#deps.db)).map((row) => this.#view(row))
  }

  /** For the buttons of front ends: those that are enabled, with the roles they are open to. */
  async buttons() {
    const { methods } = this.#deps
    return (await store.allProviders(this.#deps.db))
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
    const fixed = fixedOf(fields)
    const { hosted_domain } = fixed
    const domains = hosted_domain === null ? [] : [hosted_domain]
    const given = { domains, numberClaim: null, addressClaim: null, trustAddresses: false, ...fields }
    const row = {
      id,
      ...fixed,
      ...columnsOf(given, (secret) => seal(secrets, id, secret)),
      created_at: clock.now(),
      disabled_at: null,
    } as store.ProviderRow
    refuseTrust(trustProblem(row))
    const adding = decision({ all: store.lockProviders(), count: store.countProviders() }, ({ count }) =>
      count!.n < providersMax ? { writes: store.insertProvider(row, by), result: true } : { result: false },
    )
    if (!(await db.decide(adding)))
      throw new AppError('conflict', `There are already ${providersMax} providers; remove one first.`)
    return this.show(id)
  }

  async change(id: string, change: ProviderChange, by: By) {
    const { db, clock, secrets, openId } = this.#deps
    await this.#row(id)
    const now = clock.now()
    const { enabled, ...fields } = change
    const columns = columnsOf(fields, (secret) => seal(secrets, id, secret))
    const event = { eventId: newId(), now, by }
    type Changed = Outcome<{ problem: TrustProblem | null } | undefined>
    const changing = decision({ before: store.lockProvider(id) }, ({ before }): Changed => {
      if (!before) return { result: undefined }
      const disabled_at = enabled ? null : (before.disabled_at ?? now)
      const row = { ...before, ...columns, ...(enabled !== undefined && { disabled_at }) }
      const problem = trustProblem(row)
      return { writes: problem ? [] : store.updateProvider(row, event), result: { problem } }
    })
    refuseTrust(found(await db.decide(changing)).problem)
    openId.forget(id)
    return this.show(id)
  }

  async remove(id: string, by: By): Promise<void> {
    const { db, clock, openId } = this.#deps
    const event = { eventId: newId(), now: clock.now(), by }
    const removing = decision({ row: store.lockProvider(isId(id) ? id : '') }, ({ row }) => ({
      writes: row ? store.deleteProvider(id, event) : [],
      result: row,
    }))
    found(await db.decide(removing))
    openId.forget(id)
  }

  async show(id: string) {
    return this.#view(found(isId(id) ? await store.watchedProvider(this.#deps.db, id) : undefined))
  }

  /** One that is enabled; undefined for any other. */
  async open(id: string): Promise<Provider | undefined> {
    const row = isId(id) ? await store.providerById(this.#deps.db, id) : undefined
    return row && row.disabled_at === null ? this.#provider(row) : undefined
  }

  /**
   * Walks through a sign-in without a person: metadata, keys, the form, and a code that nobody issued, which the provider must
   * refuse for that reason alone. It works for a disabled provider, too, and changes nothing.
   */
  async test(id: string): Promise<Static<typeof ProviderTest>> {
    const { openId } = this.#deps
    const row = await this.#row(id)
    const provider = this.#provider(row)
    const addresses = this.#addressesOf(id)
    const steps: { step: string; ok: boolean; text: string }[] = []
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
      const pkceText = pkce ? 'S256' : 'it does not support S256'
      note('pkce', pkce !== false, pkce === null ? 'it does not say; it is used all the same' : pkceText)
      note('form', refusal === null, refusal ?? 'the provider lets people sign in for this redirect URI')
      note('credentials', answered === 'invalid_grant', credentialsText(answered))
      const missing =
        claims === null ? [] : neededClaims(provider.rules).filter((one) => !claims.includes(one))
      if (row.kind === 'oidc' && missing.length > 0)
        note('claims', true, `its metadata does not list ${missing.join(', ')}; make sure that they are sent`)
    } catch (error) {
      note('metadata', false, reasonOf(error))
    }
    const unmatched = whyUnmatched({ roles: provider.roles, ...provider.rules })
    if (unmatched !== null) note('matching', false, unmatched)
    return done()
  }

  /** Seals with the current secret of the service what its previous one sealed. */
  async reseal(): Promise<void> {
    const { db, secrets } = this.#deps
    if (secrets.all.length === 1) return
    const outdated = (await store.allProviders(db)).flatMap((row) => {
      const opened = unseal(secrets, row.id, row.sealed)
      return opened?.outdated ? [store.resealProvider(row, seal(secrets, row.id, opened.text))] : []
    })
    await db.tx(outdated)
  }

  #provider(row: store.ProviderRow): Provider | undefined {
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

  async #row(id: string): Promise<store.ProviderRow> {
    return found(isId(id) ? await store.providerById(this.#deps.db, id) : undefined)
  }

  #view(row: store.WatchedProvider) {
    return {
      providerId: row.id,
      name: row.name,
      clientId: row.client_id,
      roles: rolesIn(row.roles),
      ...rulesOf(row),
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

function refuseTrust(problem: TrustProblem | null): void {
  if (problem) throw wrong(problem.field, problem.detail)
}

export const redirectUriOf = (publicUrl: string) => `${publicUrl}/sign-in/school/callback`

const rulesOf = (row: store.ProviderRow) => ({
  kind: row.kind,
  domains: listIn(row.domains),
  numberClaim: row.number_claim,
  addressClaim: row.address_claim,
  trustAddresses: row.trust_addresses === 1,
  tenant: row.tenant,
  hostedDomain: row.hosted_domain,
})

/** Why claims of students are ignored; null if none is. */
export function whyUnmatched(rules: ClaimRules & Pick<Provider, 'roles'>): string | null {
  const { roles, domains, numberClaim, addressClaim, kind } = rules
  if (!roles.includes('student')) return null
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
