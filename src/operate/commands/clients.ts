/** `chiron clients …`: other programs of the school, which sign people in here or read data without a person. */
import { AppError, UsageError } from '../../errors.ts'
import type { Features } from '../../features.ts'
import { type ClientFields, defaultOverlapMs, overlapMaxMs } from '../../identity/clients/clients.ts'
import { byOperator } from '../../platform/lib/by.ts'
import { day } from '../../platform/lib/clock.ts'
import { durationFrom } from '../../platform/lib/time-text.ts'
import { type CommonOptions, say, table, visible, withFeatures } from './command.ts'

interface ClientOptions extends CommonOptions {
  readonly name?: string
  readonly redirect?: readonly string[]
  readonly logout?: readonly string[]
  readonly backchannel?: string
  readonly scopes?: string
  readonly roles?: readonly string[]
  readonly consent?: string
  readonly withPkce?: boolean
  readonly withoutPkce?: boolean
  readonly claimsInIdToken?: boolean
  readonly idTokenAlg?: string
  readonly unverifiedVeterinarians?: boolean
}

interface NewClientOptions extends ClientOptions {
  readonly kind?: string
  readonly subject?: string
}

export async function addClient(name: string, options: NewClientOptions): Promise<void> {
  const { kind, subject } = options
  if (kind !== 'service' && !options.redirect)
    throw new UsageError(
      'give the address to which people return with --redirect https://app.example.org/callback, or --kind service for a program without people',
    )
  const fields = {
    ...fieldsFrom(options),
    name,
    ...(kind !== undefined && { kind }),
    ...(subject !== undefined && { subject }),
  }
  await withFeatures(options, async ({ clients }, { publicUrl }) => {
    const { clientId, secret, ...client } = await byOptions(clients.add(fields, byOperator))
    const lines = [
      `${visible(client.name)} is registered, with the scopes ${client.scopes.join(' ')}.`,
      `Issuer:      ${publicUrl}`,
      `Metadata:    ${publicUrl}/.well-known/openid-configuration`,
      `Client id:   ${clientId}`,
      ...(secret === null ? [] : [secretIs(secret)]),
      ...(client.roles.includes('veterinarian')
        ? [`Veterinarians who may sign in: ${whichVeterinarians(clientId, client)}.`]
        : []),
    ]
    say(options, { clientId, secret }, lines.join('\n'))
  })
}

const secretIs = (secret: string) => `Its secret, which is not shown again: ${secret}`

export async function listClients(options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ clients }) => {
    const all = await clients.list()
    if (options.json) return say(options, { clients: all }, '')
    if (all.length === 0)
      return say(options, {}, 'There are no applications; "chiron clients add" registers one.')
    const rows = all.map((one) => [
      one.clientId,
      one.name,
      one.kind,
      String(one.signedIn),
      one.lastUsedAt ?? 'never',
      stateOf(one),
    ])
    say(options, {}, table([['id', 'name', 'kind', 'signed in', 'last used', 'state'], ...rows]))
  })
}

type Shown = Awaited<ReturnType<Features['clients']['show']>>

type State = Pick<Shown, 'enabled' | 'disabledAt' | 'calls' | 'unverifiedVeterinarians'>

function stateOf({ enabled, disabledAt, calls, unverifiedVeterinarians }: State): string {
  if (!enabled) return `disabled since ${disabledAt}`
  const faults = [
    ...(calls.failed > 0 ? [`${calls.failed} back-channel calls failed in the last 7 days`] : []),
    ...(unverifiedVeterinarians === null ? ['admits unverified veterinarians: not decided yet'] : []),
  ]
  return faults.length === 0 ? 'well' : faults.join('; ')
}

export async function showClient(id: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ clients }) => {
    const client = await clients.show(id)
    say(options, client, table(linesOf(client)))
    if (options.json || client.failedCalls.length === 0) return
    const calls = client.failedCalls.map((call) => [
      call.userId,
      call.state,
      String(call.attempts),
      call.triedAt ?? '',
      call.error ?? String(call.status ?? ''),
    ])
    say(
      options,
      {},
      `\n${table([['back-channel call for', 'state', 'attempts', 'tried', 'answer'], ...calls])}`,
    )
  })
}

function linesOf(client: Shown): string[][] {
  const isForPeople = client.kind !== 'service'
  return [
    ['id', client.clientId],
    ['name', client.name],
    ['kind', client.kind],
    ['scopes', client.scopes.join(' ')],
    ...(isForPeople ? linesOfPeople(client) : []),
    ...(client.formerSecretUntil === null ? [] : [['former secret until', client.formerSecretUntil]]),
    ['registered', client.createdAt],
    ['last used', client.lastUsedAt ?? 'never'],
    ['state', stateOf(client)],
  ]
}

function linesOfPeople(client: Shown): string[][] {
  return [
    ['roles', client.roles.join(' ')],
    ...(client.roles.includes('veterinarian')
      ? [['veterinarians', whichVeterinarians(client.clientId, client)]]
      : []),
    ...client.redirectUris.map((uri) => ['redirect', uri]),
    ...client.logoutUris.map((uri) => ['logout', uri]),
    ['back-channel', client.backchannelUri ?? 'none'],
    ['consent', client.consent ?? 'each time'],
    ['subject', client.subject],
    ['PKCE', client.pkce ? 'required' : 'not required'],
    ['claims in ID token', client.claimsInIdToken ? 'yes' : 'no'],
    ['ID token signed by', client.idTokenAlg],
    ['signed in', `${client.signedIn} ${client.signedIn === 1 ? 'person' : 'people'}`],
  ]
}

function whichVeterinarians(clientId: string, { unverifiedVeterinarians }: State): string {
  if (unverifiedVeterinarians === null)
    return `all who registered, as before this could be chosen; decide with "chiron clients change ${clientId}" and --unverified-veterinarians or --no-unverified-veterinarians`
  return unverifiedVeterinarians ? 'all who registered' : 'those whom the school has verified'
}

export async function changeClient(id: string, options: ClientOptions): Promise<void> {
  const change = fieldsFrom(options)
  if (Object.keys(change).length === 0)
    throw new UsageError('give the change with --redirect, --scopes or another option; see --help')
  await withFeatures(options, async ({ clients }) => {
    const client = await byOptions(clients.change(id, change, byOperator))
    say(options, client, `${visible(client.name)} is changed:\n${table(linesOf(client))}`)
  })
}

export async function rotateClient(id: string, options: CommonOptions & { overlap?: string }): Promise<void> {
  const overlapMs = options.overlap === undefined ? defaultOverlapMs : overlapFrom(options.overlap)
  await withFeatures(options, async ({ clients }) => {
    const { clientId, secret, name, formerSecretUntil } = await clients.rotate(id, overlapMs, byOperator)
    const former =
      formerSecretUntil === null
        ? 'The former secret no longer works.'
        : `The former secret works until ${formerSecretUntil}.`
    say(
      options,
      { clientId, secret, formerSecretUntil },
      `${visible(name)} has a new secret. ${former}\n${secretIs(secret)}`,
    )
  })
}

function overlapFrom(text: string): number {
  const overlapMs = text === '0' ? 0 : durationFrom(text)
  if (overlapMs === null || overlapMs > overlapMaxMs)
    throw new UsageError(
      `--overlap must be a time such as 7d, 36h or 90m, at most ${overlapMaxMs / day}d; 0 if the former secret leaked`,
    )
  return overlapMs
}

export async function switchClient(id: string, enabled: boolean, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ clients }) => {
    const client = await clients.change(id, { enabled }, byOperator)
    const text = enabled
      ? `${visible(client.name)} is enabled; tokens that have not expired work again.`
      : `${visible(client.name)} is disabled: nobody can sign in there, and its tokens are refused until "chiron clients enable".`
    say(options, client, text)
  })
}

export async function removeClient(id: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ clients }) => {
    await clients.remove(id, byOperator)
    say(options, { clientId: id }, `Application ${id} is removed, and everybody is signed out there.`)
  })
}

export async function signOutOfClient(id: string, options: CommonOptions): Promise<void> {
  await withFeatures(options, async ({ clients }) => {
    const ended = await clients.signOut(id, byOperator)
    say(
      options,
      { clientId: id, ended },
      `${ended} ${ended === 1 ? 'session has' : 'sessions have'} ended at application ${id}.`,
    )
  })
}

function fieldsFrom(options: ClientOptions): Partial<ClientFields> {
  const { name, redirect, logout, backchannel, scopes, roles, consent } = options
  const { claimsInIdToken, idTokenAlg, unverifiedVeterinarians } = options
  return {
    ...(name !== undefined && { name }),
    ...(redirect && { redirectUris: redirect }),
    ...(logout && { logoutUris: logout.filter((uri) => uri !== 'none') }),
    ...(backchannel !== undefined && { backchannelUri: backchannel === 'none' ? null : backchannel }),
    ...(scopes !== undefined && { scopes: wordsIn(scopes) }),
    ...(roles && { roles: roles.flatMap(wordsIn) }),
    ...(consent !== undefined && { consent }),
    ...(options.withPkce && { pkce: true }),
    ...(options.withoutPkce && { pkce: false }),
    ...(claimsInIdToken !== undefined && { claimsInIdToken }),
    ...(idTokenAlg !== undefined && { idTokenAlg }),
    ...(unverifiedVeterinarians !== undefined && { unverifiedVeterinarians }),
  }
}

const wordsIn = (text: string) => text.split(/[\s,]+/).filter(Boolean)

const optionOf: Readonly<Record<string, string>> = {
  name: 'the name',
  kind: '--kind',
  redirectUris: '--redirect',
  logoutUris: '--logout',
  backchannelUri: '--backchannel',
  scopes: '--scopes',
  roles: '--roles',
  consent: '--consent',
  subject: '--subject',
  pkce: 'PKCE',
  claimsInIdToken: '--claims-in-id-token',
  idTokenAlg: '--id-token-alg',
  unverifiedVeterinarians: '--unverified-veterinarians',
}

/** An error names the option and its value, not the field. */
async function byOptions<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const [field] = (error instanceof AppError && error.extra.errors) || []
    const option = optionOf[field?.pointer?.split('/')[1] ?? '']
    if (!field || !option) throw error
    throw new UsageError(`${option} ${field.detail}`)
  }
}
