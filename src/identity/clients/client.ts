/** One client, as requests need it: its registration, and the check of its secret. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Db } from '../../platform/db/db.ts'
import { newToken } from '../../platform/lib/random.ts'
import type { Role } from '../../roles.ts'
import { type ClientRow, clientRow, pageClients } from './store.ts'

export type Client = Readonly<ReturnType<typeof clientOf>>

const clientIdPattern = /^[A-Za-z0-9_-]{1,64}$/

/** With its secrets. */
export const registrationOf = async (db: Db, id: string) =>
  clientIdPattern.test(id) ? clientRow(db, id) : undefined

/** In any state. */
export async function clientById(db: Db, id: string): Promise<Client | undefined> {
  const row = await registrationOf(db, id)
  return row && clientOf(row)
}

export function clientOf(row: ClientRow) {
  // A service has none.
  const roles = row.roles === '' ? [] : (row.roles.split(' ') as Role[])
  const { unverified_veterinarians: unverified } = row
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    redirectUris: JSON.parse(row.redirect_uris) as string[],
    /** Where a browser may be sent after signing out. */
    logoutUris: JSON.parse(row.logout_uris) as string[],
    /** Where it is told that a session has ended. */
    backchannelUri: row.backchannel_uri,
    scopes: row.scopes.split(' '),
    /** Who may sign in there. */
    roles,
    consent: row.consent,
    /** For subjects that differ from client to client; null if the subject is the person's id. */
    subjectSalt: row.subject_salt,
    pkce: row.pkce === 1,
    claimsInIdToken: row.claims_in_id_token === 1,
    idTokenAlg: row.id_token_alg,
    unverifiedVeterinarians: unverified === null && roles.includes('veterinarian') ? null : unverified === 1,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    disabledAt: row.disabled_at,
  }
}

export const digestOf = (secret: string) => createHash('sha256').update(secret).digest('base64url')

const decoy = digestOf(newToken())

/** An unknown client costs the same work as a wrong secret. */
export function secretIsRight(row: ClientRow | undefined, secret: string, now: number): boolean {
  const before = (row?.secret_before_until ?? 0) > now ? row?.secret_before : null
  const given = Buffer.from(digestOf(secret))
  const matches = [row?.secret_digest ?? decoy, before ?? decoy].map((digest) =>
    timingSafeEqual(given, Buffer.from(digest)),
  )
  return row !== undefined && row.disabled_at === null && matches.includes(true)
}

/** How the client knows a person. */
export function subjectOf(salt: string | null, personId: string): string {
  return salt === null ? personId : createHash('sha256').update(`${salt}.${personId}`).digest('base64url')
}

/** Whether a page of this origin belongs to a client without a server. */
export async function isPageOfClient(db: Db, origin: string): Promise<boolean> {
  const uris: string[] = (await pageClients(db)).flatMap(({ redirect_uris }) => JSON.parse(redirect_uris))
  return uris.some((uri) => URL.parse(uri)?.origin === origin)
}
