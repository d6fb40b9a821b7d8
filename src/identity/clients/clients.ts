/**
 * The registry of clients: the school's other programs that sign people in here, or read data without a person. Admins
 * and operators keep it. `client.ts` reads one and checks its secret for a request; `redirects.ts` has the rules for
 * addresses; `identity/oauth` has the endpoints that clients use.
 *
 * Kind and subject are fixed: a change would make the secret meaningless, or everybody a stranger to the client.
 */
import { AppError, invalidField } from '../../errors.ts'
import { parseUrl } from '../../messages/webhooks/webhooks.ts'
import type { Context } from '../../platform/context.ts'
import type { Db, Statement } from '../../platform/db/db.ts'
import { decision } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { day, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { nearest } from '../../platform/lib/nearest.ts'
import type { Range } from '../../platform/lib/network.ts'
import { isId, newId, newToken } from '../../platform/lib/random.ts'
import { roles } from '../../roles.ts'
import { nameFrom } from '../people/names.ts'
import { namesOf } from '../people/people.ts'
import { endSessions } from '../session/session.ts'
import { clientOf, digestOf } from './client.ts'
import {
  type ClientKind,
  clientKinds,
  consents,
  defaultScopes,
  hasSecret,
  idTokenAlgs,
  type Subject,
  scopesOf,
  subjects,
} from './kinds.ts'
import { redirectFault } from './redirects.ts'
import { canRotate, changesOf, clientsMax, closesToUnverified, hasRoom, turned } from './rules.ts'
import * as store from './store.ts'

export * from './client.ts'
export { hasSecret, personScopes, scopesHere, serviceScopes } from './kinds.ts'
export { redirectFault } from './redirects.ts'
export { eraseConsents, readEnabled } from './store.ts'

const urisMax = 20
export const overlapMaxMs = 30 * day
export const defaultOverlapMs = 7 * day
const callsShownMs = 7 * day
const callsShown = 50

interface Deps extends Pick<Context, 'db' | 'clock'> {
  readonly production: boolean
  /** Private addresses that back-channel calls may reach. */
  readonly allow: readonly Range[]
}

/** The fields that can be changed. Unknown words in lists are refused. */
export interface ClientFields {
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly logoutUris: readonly string[]
  readonly backchannelUri: string | null
  readonly scopes: readonly string[]
  readonly roles: readonly string[]
  readonly consent: string
  readonly pkce: boolean
  readonly claimsInIdToken: boolean
  readonly idTokenAlg: string
  readonly unverifiedVeterinarians: boolean
}

export interface NewClient extends Partial<ClientFields> {
  readonly name: string
  readonly kind?: string
  readonly subject?: string
}

export class Clients {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async list() {
    const { db, clock } = this.#deps
    const now = clock.now()
    return (await store.allClients(db, now, now - callsShownMs)).map((row) => this.#view(row))
  }

  /** With the back-channel calls that have failed. */
  async show(id: string) {
    const { db, clock } = this.#deps
    const shown = this.#view(await this.#find(id))
    const calls = await store.failedCalls(db, id, clock.now() - callsShownMs, callsShown)
    return { ...shown, failedCalls: calls.map(callView) }
  }

  /** With its secret, which is never shown again; null if its kind has none. */
  async add({ kind: kindName = 'web', subject: subjectName, ...given }: NewClient, by: By) {
    const { db, clock } = this.#deps
    const kind = oneOf('kind', kindName, clientKinds)
    if (subjectName !== undefined && kind === 'service') throw notOfService('subject')
    const subject: Subject = oneOf('subject', subjectName ?? 'public', subjects)
    const id = newId()
    const secret = hasSecret(kind) ? newToken() : null
    const client = {
      id,
      kind,
      ...defaultsOf(kind),
      ...this.#columnsOf(kind, kind === 'service' ? given : { redirectUris: [], ...given }),
      name: nameFrom(given.name),
      subject_salt: subject === 'pairwise' ? newToken() : null,
      secret_digest: secret === null ? null : digestOf(secret),
      created_at: clock.now(),
    }
    const isAdded = await db.decide(
      decision({ clients: store.lockClients(), count: store.readCount() }, ({ count }) =>
        hasRoom(count!.n) ? { writes: store.addClient(client, by), result: true } : { result: false },
      ),
    )
    if (!isAdded)
      throw new AppError('conflict', `There are already ${clientsMax} applications; remove one first.`)
    return { ...(await this.show(id)), secret }
  }

  /** Two that change different fields at once do not undo each other. */
  async change(id: string, { enabled, ...fields }: Partial<ClientFields> & { enabled?: boolean }, by: By) {
    const { kind } = await this.#find(id)
    const given = this.#columnsOf(kind, fields)
    const [changed, turnedTo] = [this.#changeOf(id), this.#changeOf(id)]
    await this.#decide(id, (client) => {
      const to = turned(client, enabled)
      const unverified = { clientId: id, ofUnverified: true } as const
      return [
        ...(closesToUnverified(given) ? endSessions(unverified, 'revoked', changed.now, by) : []),
        ...store.changeClient(changed, changesOf(client, given), by),
        ...(to === null ? [] : store.turnClient(turnedTo, to, by)),
      ]
    })
    return this.show(id)
  }

  /** Gives it a new secret. The former one works until the overlap is over; one before that no longer works. */
  async rotate(id: string, overlapMs: number, by: By) {
    const { db, clock } = this.#deps
    if (overlapMs < 0 || overlapMs > overlapMaxMs)
      throw invalidField({ pointer: '#/overlapSeconds', detail: 'must be from 0 to 30 days' })
    const { secret_digest: from, kind } = await this.#find(id)
    if (from === null) throw new AppError('conflict', `A client of kind ${kind} has no secret.`)
    const secret = newToken()
    const bothUntil = overlapMs === 0 ? null : clock.now() + overlapMs
    const change = { ...this.#changeOf(id), from, to: digestOf(secret), bothUntil }
    const isRotated = await db.decide(
      decision({ client: store.lockClient(id) }, ({ client }) =>
        canRotate(client, from)
          ? { writes: store.rotateClient(change, by), result: true }
          : { result: false },
      ),
    )
    if (!isRotated)
      throw new AppError('conflict', 'Somebody else has just rotated the secret of this application.')
    return { ...(await this.show(id)), secret }
  }

  /** Ends all its sessions, and the tokens that it has for itself. Returns how many sessions have ended. */
  async signOut(id: string, by: By): Promise<number> {
    const { db, clock } = this.#deps
    await this.#find(id)
    await db.tx(store.forgetGrants(id))
    const [ended] = await db.tx(endSessions({ clientId: id }, 'revoked', clock.now(), by))
    return ended!.length
  }

  /** Its sessions end first, and it is still told about them. */
  async remove(id: string, by: By): Promise<void> {
    await this.#find(id)
    const change = { ...this.#changeOf(id), eventId: `removed.${id}` }
    await this.#decide(id, () => [
      ...store.forgetGrants(id),
      ...endSessions({ clientId: id }, 'revoked', change.now, by),
      ...store.removeClient(change, by),
    ])
  }

  /** Who is signed in there, in the order of their ids. */
  async people(id: string, { after = '', limit }: { after?: string; limit: number }) {
    const { db, clock } = this.#deps
    await this.#find(id)
    const rows = await store.signedIn(db, { clientId: id, now: clock.now(), after, limit: limit + 1 })
    const shown = rows.slice(0, limit)
    const ids = shown.map((row) => row.person_id)
    const names = await namesOf(db, ids)
    const people = shown.map(({ person_id: userId, role, sessions, since, last_seen_at }) => ({
      ...{ userId, name: names[userId] ?? null, role, sessions },
      ...{ since: timestamp(since), lastSeenAt: timestamp(last_seen_at) },
    }))
    return { people, next: rows.length > limit ? ids.at(-1)! : null }
  }

  /** Writes nothing if somebody has removed the client meanwhile. */
  #decide(id: string, writesOf: (client: store.ClientRow) => Statement[]): Promise<null> {
    const { db } = this.#deps
    return db.decide(
      decision({ client: store.lockClient(id) }, ({ client }) => ({
        writes: client ? writesOf(client) : [],
        result: null,
      })),
    )
  }

  #changeOf(id: string) {
    return { id, now: this.#deps.clock.now(), eventId: newId() }
  }

  async #find(id: string): Promise<store.WatchedClient> {
    const { db, clock } = this.#deps
    const now = clock.now()
    const found = isId(id) ? await store.watchedClient(db, id, now, now - callsShownMs) : undefined
    if (!found) throw new AppError('not-found', 'No application has this id.')
    return found
  }

  /** The columns of the given fields. */
  #columnsOf(kind: ClientKind, fields: Partial<ClientFields>): Partial<store.ClientColumns> {
    const { name, redirectUris, logoutUris, backchannelUri, scopes, roles: roleNames, consent } = fields
    const { pkce, claimsInIdToken, idTokenAlg, unverifiedVeterinarians } = fields
    if (kind === 'service') {
      const needless = fieldsOfPeople.find((field) => fields[field] !== undefined)
      if (needless) throw notOfService(needless)
    }
    if (redirectUris?.length === 0) throw wrong('redirectUris', 'must have at least one address')
    if (roleNames?.length === 0) throw wrong('roles', `must have at least one of ${roles.join(', ')}`)
    if (scopes?.length === 0) throw wrong('scopes', `must have at least one of ${scopesOf(kind).join(', ')}`)
    if (pkce === false && kind !== 'web')
      throw wrong('pkce', 'can be off only for the kind web, which has a secret')
    if (consent !== undefined && kind === 'native')
      throw wrong('consent', 'is not a choice: people always confirm a native app')
    return {
      ...(name !== undefined && { name: nameFrom(name) }),
      ...(redirectUris && { redirect_uris: this.#urisFrom('redirectUris', redirectUris, kind) }),
      ...(logoutUris && { logout_uris: this.#urisFrom('logoutUris', logoutUris, kind) }),
      ...(backchannelUri !== undefined && { backchannel_uri: this.#backchannelFrom(backchannelUri) }),
      ...(scopes && { scopes: someOf('scopes', scopes, scopesOf(kind)) }),
      ...(roleNames && { roles: someOf('roles', roleNames, roles) }),
      ...(consent !== undefined && { consent: oneOf('consent', consent, consents) }),
      ...(pkce !== undefined && { pkce: Number(pkce) }),
      ...(claimsInIdToken !== undefined && { claims_in_id_token: Number(claimsInIdToken) }),
      ...(idTokenAlg !== undefined && { id_token_alg: oneOf('idTokenAlg', idTokenAlg, idTokenAlgs) }),
      ...(unverifiedVeterinarians !== undefined && {
        unverified_veterinarians: Number(unverifiedVeterinarians),
      }),
    }
  }

  /** As JSON, without repetitions. */
  #urisFrom(field: string, texts: readonly string[], kind: ClientKind): string {
    if (texts.length > urisMax) throw wrong(field, `must have at most ${urisMax} addresses`)
    for (const [i, text] of texts.entries()) {
      const fault = redirectFault(text, kind, this.#deps.production)
      if (fault) throw wrong(`${field}/${i}`, fault)
    }
    return JSON.stringify([...new Set(texts)])
  }

  #backchannelFrom(text: string | null): string | null {
    return text === null ? null : parseUrl(text, this.#deps.allow, '#/backchannelUri')
  }

  #view(row: store.WatchedClient) {
    const { id: clientId, subjectSalt, createdAt, lastUsedAt, disabledAt, ...client } = clientOf(row)
    const { kind, consent } = client
    const { secret_before_until: before } = row
    const subject: Subject = subjectSalt === null ? 'public' : 'pairwise'
    return {
      clientId,
      ...client,
      consent: kind === 'web' || kind === 'spa' ? consent : null,
      subject,
      hasSecret: row.secret_digest !== null,
      formerSecretUntil: timestampOrNull(before !== null && before > this.#deps.clock.now() ? before : null),
      enabled: disabledAt === null,
      disabledAt: timestampOrNull(disabledAt),
      createdAt: timestamp(createdAt),
      lastUsedAt: timestampOrNull(lastUsedAt),
      signedIn: row.signed_in,
      calls: { waiting: row.waiting, failed: row.failed },
    }
  }
}

function callView(row: store.CallRow) {
  return {
    userId: row.person_id,
    sessionId: row.session_id,
    state: row.ended_at === null ? ('waiting' as const) : ('failed' as const),
    attempts: row.attempts,
    status: row.status,
    error: row.error,
    triedAt: timestampOrNull(row.tried_at),
    nextTryAt: timestampOrNull(row.ended_at === null ? row.next_at : null),
  }
}

const fieldsOfPeople = [
  'redirectUris',
  'logoutUris',
  'backchannelUri',
  'roles',
  'consent',
  'pkce',
  'claimsInIdToken',
  'idTokenAlg',
  'unverifiedVeterinarians',
] as const satisfies readonly (keyof ClientFields)[]

const defaultsOf = (kind: ClientKind): Omit<store.ClientColumns, 'name'> => ({
  redirect_uris: '[]',
  logout_uris: '[]',
  backchannel_uri: null,
  scopes: defaultScopes(kind).join(' '),
  roles: kind === 'service' ? '' : roles.join(' '),
  consent: 'never',
  pkce: 1,
  claims_in_id_token: 0,
  id_token_alg: 'ES256',
  unverified_veterinarians: 0,
})

const wrong = (field: string, detail: string) => invalidField({ pointer: `#/${field}`, detail })
const notOfService = (field: string) => wrong(field, 'must be left out: a service has no people')

function oneOf<const V extends string>(field: string, text: string, values: readonly V[]): V {
  const found = values.find((value) => value === text)
  if (found === undefined) throw wrong(field, unknownWord(text, values))
  return found
}

/** Separated by spaces, in a fixed order, without repetitions. */
function someOf(field: string, texts: readonly string[], values: readonly string[]): string {
  const unknown = texts.find((text) => !values.includes(text))
  if (unknown !== undefined) throw wrong(field, unknownWord(unknown, values))
  return values.filter((value) => texts.includes(value)).join(' ')
}

function unknownWord(text: string, values: readonly string[]): string {
  const near = nearest(text, values)
  return near ? `has no "${text}"; did you mean ${near}?` : `has no "${text}"; it can be ${values.join(', ')}`
}

/** The applications that somebody has allowed to sign them in. */
export async function applicationsOf(db: Db, personId: string) {
  return (await store.consentsOf(db, personId)).map(({ client_id, name, scope, given_at }) => ({
    clientId: client_id,
    name,
    scopes: scope.split(' '),
    givenAt: timestamp(given_at),
  }))
}
