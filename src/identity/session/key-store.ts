/** The signing keys in the store, with a table for each algorithm. */
import { eventsFrom } from '../../messages/events/events.ts'
import { type Db, type Statement, statement } from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Algorithm } from './jwt.ts'

/** The release before signs ES256 with any key of `signing_key`. */
const keyTables = { ES256: 'signing_key', RS256: 'rsa_signing_key' } as const satisfies Record<
  Algorithm,
  string
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

/**
 * Returns no row if another process added a key with this number, or if the key that it replaces is gone: numbers of
 * keys that were deleted are free again.
 */
function insertKey(key: SigningKeyRow, replaces: string | null = null): Statement {
  const table = keyTables[key.alg]
  return statement(
    `insert into ${table} (kid, number, sealed, public_jwk, created_at, signs_from)
     select $1, cast($2 as integer), $3, $4, cast($5 as bigint), cast($6 as bigint)
     where cast($7 as text) is null or exists (select 1 from ${table} s where s.kid = $7)
     on conflict (number) do nothing returning kid`,
    key.kid,
    key.number,
    key.sealed,
    key.public_jwk,
    key.created_at,
    key.signs_from,
    replaces,
  )
}

export function addSigningKey(key: SigningKeyRow, by: By): Statement[] {
  return [
    insertKey(key),
    eventsFrom(
      'key.rotated',
      by,
      { id: "'key.' || kid", at: 'created_at', data: `'{"kid":"' || kid || '"}'` },
      `from ${keyTables[key.alg]} where kid = $1 and number > 1`,
      key.kid,
    ),
  ]
}

export function resealSigningKey({ alg, kid, sealed }: SigningKeyRow, resealed: string): Statement {
  const update = `update ${keyTables[alg]} set sealed = $1 where kid = $2 and sealed = $3`
  return statement(update, resealed, kid, sealed)
}

/** Deletes a key, provided that the next signing key exists. The last statement returns the key if it was removed. */
export function revokeSigningKey(
  r: { alg: Algorithm; kid: string; signer: string; replacement: SigningKeyRow | null; now: number },
  by: By,
): Statement[] {
  const table = keyTables[r.alg]
  const data = { ...(r.replacement && { kid: r.replacement.kid }), revoked: r.kid }
  const mayGo = `kid = $1 and exists (select 1 from ${table} s where s.kid = $2)`
  return [
    ...(r.replacement ? [insertKey(r.replacement, r.kid)] : []),
    eventsFrom(
      'key.rotated',
      by,
      { id: "'revoked.' || kid", at: 'cast($3 as bigint)', data: 'cast($4 as text)' },
      `from ${table} where ${mayGo}`,
      r.kid,
      r.signer,
      r.now,
      JSON.stringify(data),
    ),
    statement(`delete from ${table} where ${mayGo} returning kid`, r.kid, r.signer),
  ]
}

export function dropSigningKeys(db: Db, keys: readonly Pick<SigningKeyRow, 'alg' | 'kid'>[]) {
  return db.tx(keys.map(({ alg, kid }) => statement(`delete from ${keyTables[alg]} where kid = $1`, kid)))
}
