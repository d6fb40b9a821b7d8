/** `chiron providers …`: the school's OpenID providers, whose accounts people can sign in with. */
import { readFileSync } from 'node:fs'
import { UsageError } from '../../errors.ts'
import type { Features } from '../../features.ts'
import { whyUnmatched } from '../../identity/school-account/school-account.ts'
import { byOperator } from '../../platform/lib/by.ts'
import { errorFields } from '../../platform/lib/error-fields.ts'
import { type CommonOptions, say, table, tell, visible, withFeatures } from './command.ts'

interface ProviderOptions extends CommonOptions {
  readonly kind?: string
  readonly name?: string
  readonly issuer?: string
  readonly clientId?: string
  readonly secretFile?: string
  readonly roles?: string
  readonly domains?: string
  readonly numberClaim?: string
  readonly addressClaim?: string
  readonly trustAddresses?: boolean
  readonly tenant?: string
  readonly hostedDomain?: string
}

export async function addProvider(name: string, options: ProviderOptions): Promise<void> {
  const { kind = 'oidc', issuer, clientId, secretFile, roles } = options
  if (issuer === undefined && kind !== 'google') throw new UsageError('give the issuer with --issuer URL')
  if (clientId === undefined) throw new UsageError('give the id of the registration with --client-id ID')
  if (secretFile === undefined)
    throw new UsageError('give a file with the client secret with --secret-file FILE')
  if (roles === undefined)
    throw new UsageError('say who can sign in with it: --roles student, or --roles student,staff')
  const secret = secretIn(secretFile)
  await withFeatures(options, async ({ providers }) => {
    const fields = { name, kind, clientId, secret, roles: listFrom(roles), ...changesIn(options) }
    const added = await providers.add(
      {
        ...fields,
        ...(issuer !== undefined && { issuer }),
        ...(options.tenant !== undefined && { tenant: options.tenant }),
        ...(options.hostedDomain !== undefined && { hostedDomain: options.hostedDomain }),
      },
      byOperator,
    )
    const text = `Provider ${added.providerId} is added. Register this redirect URI there:
  ${added.redirectUri}
and, for back-channel logout:
  ${added.logoutUri}
Then try it: chiron providers test ${added.providerId}`
    say(options, added, text)
    warnOfUnmatched(added)
  })
}

/** Provider with claims of students that can never count. It may be meant for later, so it is kept. */
function warnOfUnmatched(provider: Listed): void {
  const why = whyUnmatched(provider)
  if (why !== null) tell(`warning: ${why}; "chiron providers change ${provider.providerId}" mends it`)
}

export async function listProviders(options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ providers }) => {
    const all = await providers.list()
    if (options.json) return say(options, { providers: all }, '')
    if (all.length === 0) return say(options, {}, 'There are no providers; "chiron providers add" adds one.')
    const rows = all.map((one) => [
      one.providerId,
      one.name,
      one.kind,
      one.issuer,
      one.roles.join(','),
      String(one.links),
      stateOf(one),
    ])
    say(options, {}, table([['id', 'name', 'kind', 'issuer', 'roles', 'links', 'state'], ...rows]))
  })
}

type Listed = Awaited<ReturnType<Features['providers']['list']>>[number]

function stateOf({ disabledAt, readable }: Listed): string {
  if (disabledAt !== null) return `off since ${disabledAt}`
  return readable ? 'on' : 'its secret is sealed under another CHIRON_SECRET; set it again'
}

export async function changeProvider(nameOrId: string, options: ProviderOptions): Promise<void> {
  const { name, clientId, secretFile, roles } = options
  const change = {
    ...changesIn(options),
    ...(name !== undefined && { name }),
    ...(clientId !== undefined && { clientId }),
    ...(secretFile !== undefined && { secret: secretIn(secretFile) }),
    ...(roles !== undefined && { roles: listFrom(roles) }),
  }
  if (Object.keys(change).length === 0)
    throw new UsageError('give the change, for example with --secret-file, --domains or --roles')
  await withProvider(nameOrId, options, async ({ providers }, { providerId }) => {
    const changed = await providers.change(providerId, change, byOperator)
    say(options, changed, `Provider ${providerId} is changed. Try it: chiron providers test ${providerId}`)
    warnOfUnmatched(changed)
  })
}

export async function switchProvider(
  nameOrId: string,
  enabled: boolean,
  options: CommonOptions,
): Promise<void> {
  await withProvider(nameOrId, options, async ({ providers }, { providerId }) => {
    const changed = await providers.change(providerId, { enabled }, byOperator)
    const text = enabled
      ? `People can sign in with ${visible(changed.name)}.`
      : `Nobody can sign in with ${visible(changed.name)} until "chiron providers enable". Sessions go on.`
    say(options, changed, text)
  })
}

export async function removeProvider(nameOrId: string, options: CommonOptions): Promise<void> {
  await withProvider(nameOrId, options, async ({ providers }, { providerId, links }) => {
    await providers.remove(providerId, byOperator)
    say(options, { providerId, links }, `Provider ${providerId} is removed, and ${links} links with it.`)
  })
}

export async function testProvider(nameOrId: string, options: CommonOptions): Promise<void> {
  await withProvider(nameOrId, options, async ({ providers }, { providerId }) => {
    const result = await providers.test(providerId)
    const lines = result.steps.map(({ step, ok, text }) => [ok ? 'good' : 'BAD', step, text])
    say(options, result, `${table(lines)}\n\nRedirect URI: ${result.redirectUri}`)
    if (!result.ok) process.exitCode = 1
  })
}

async function withProvider(
  nameOrId: string,
  options: CommonOptions,
  work: (features: Features, provider: Listed) => Promise<void>,
): Promise<void> {
  await withFeatures(options, async (features) => {
    const all = await features.providers.list()
    const found = all.filter(({ providerId, name }) => providerId === nameOrId || name === nameOrId)
    if (found.length > 1)
      throw new UsageError(`several providers have the name ${visible(nameOrId)}; give the id`)
    if (!found[0]) throw new UsageError(`no provider has the name or id ${visible(nameOrId)}`)
    await work(features, found[0])
  })
}

function changesIn({ domains, numberClaim, addressClaim, trustAddresses }: ProviderOptions) {
  return {
    ...(domains !== undefined && { domains: listFrom(domains) }),
    ...(numberClaim !== undefined && { numberClaim }),
    ...(addressClaim !== undefined && { addressClaim }),
    ...(trustAddresses !== undefined && { trustAddresses }),
  }
}

const listFrom = (text: string) =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')

function secretIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code } = errorFields(error)
    throw new UsageError(`cannot read the secret in ${visible(file)} (${code})`)
  }
}
