/** The signing keys in the store, with a table for each algorithm. */
import type { Lockable } from '../../locks.ts'
import { eventHappened } from '../../messages/events/events.ts'
import { type Db, type Statement, statement } from '../../platform/db/db.ts'
import { lockAll, readAll } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Algorithm } from './jwt.ts'

/** The release before signs ES256 with any key of `signing_key`. */
const keyTables = { ES256: 'signing_key', RS256: 'rsa_signing_key' } as const satisfies Record<
  Algorithm,
  string
>

const locks = { ES256: 'signing-key', RS256: 'rsa-signing-key' } as const satisfies Record<
  Algorithm,
  Lockable
>

export interface SigningKeyRow {
  readonly alg: Algorithm
  readonly kid: string
  readonly number: number
  readonly sealed: string
  readonly public_jwk: string
  readonly created_at: number
  readonly signs_from: number
}

export function signingKeys(db: Db): Promise<SigningKeyRow[]> {
  const columns = 'kid, number, sealed, public_jwk, created_at, signs_from'
  return db.all<SigningKeyRow>(
    `select 'ES256' as alg, ${columns} from signing_key
     union all select 'RS256' as alg, ${columns} from rsa_signing_key order by alg, number`,
  )
}

export interface KeyInStore {
  readonly kid: string
  readonly number: number
}

const keysOf = (alg: Algorithm) => `select kid, number from ${keyTables[alg]} order by number`

/** In the order of their numbers. */
export const lockKeys = (alg: Algorithm) => lockAll<KeyInStore>(locks[alg], keysOf(alg))
/** With a lock of the keys, also those that were added while it waited. */
export const readKeys = (alg: Algorithm) => readAll<KeyInStore>(keysOf(alg))

/** The very first key replaces none, so it is not an event. */
export function addSigningKey(key: SigningKeyRow, by: By): Statement[] {
  const { kid, created_at: at } = key
  const event = { id: `key.${kid}`, at, data: { kid } }
  return [insertKey(key), ...(key.number > 1 ? [eventHappened('key.rotated', by, event)] : [])]
}

export function insertKey(key: SigningKeyRow): Statement {
  return statement(
    `insert into ${keyTables[key.alg]} (kid, number, sealed, public_jwk, created_at, signs_from) values ($1, $2, $3, $4, $5, $6)`,
    key.kid,
    key.number,
    key.sealed,
    key.public_jwk,
    key.created_at,
    key.signs_from,
  )
}

export function resealSigningKey({ alg, kid, sealed }: SigningKeyRow, resealed: string): Statement {
  const update = `update ${keyTables[alg]} set sealed = $1 where kid = $2 and sealed = $3`
  return statement(update, resealed, kid, sealed)
}

/** `replacement` is the key that takes over, if it is new. */
export function revokeSigningKey(
  { alg, kid, replacement }: { alg: Algorithm; kid: string; replacement: string | null },
  now: number,
  by: By,
): Statement[] {
  const data = { ...(replacement !== null && { kid: replacement }), revoked: kid }
  return [
    statement(`delete from ${keyTables[alg]} where kid = $1`, kid),
    eventHappened('key.rotated', by, { id: `revoked.${kid}`, at: now, data }),
  ]
}

export function dropSigningKeys(db: Db, keys: readonly Pick<SigningKeyRow, 'alg' | 'kid'>[]) {
  return db.tx(keys.map(({ alg, kid }) => statement(`delete from ${keyTables[alg]} where kid = $1`, kid)))
}
