/** The signing keys in the store, with a table for each algorithm. */
import type { Lockable } from '../../locks.ts'
import { eventHappened } from '../../messages/events/events.ts'
import { type Db, insertion, type Statement, statement, update } from '../../platform/db/db.ts'
import { lockAll, readAll } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Algorithm } from './jwt.ts'

/** The release before signs ES256 with any key of `signing_key`. */
const keyTables: Readonly<Record<Algorithm, string>> = { ES256: 'signing_key', RS256: 'rsa_signing_key' }
const locks: Readonly<Record<Algorithm, Lockable>> = { ES256: 'signing-key', RS256: 'rsa-signing-key' }

export interface SigningKeyRow {
  readonly alg: Algorithm
  readonly kid: string
  readonly number: number
  readonly sealed: string
  readonly public_jwk: string
  readonly created_at: number
  readonly signs_from: number
}
export type KeyInStore = Pick<SigningKeyRow, 'kid' | 'number'>

export function signingKeys(db: Db): Promise<SigningKeyRow[]> {
  const columns = 'kid, number, sealed, public_jwk, created_at, signs_from'
  return db.all<SigningKeyRow>(
    `select 'ES256' as alg, ${columns} from signing_key
     union all select 'RS256' as alg, ${columns} from rsa_signing_key order by alg, number`,
  )
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

export const insertKey = ({ alg, ...key }: SigningKeyRow) => insertion(keyTables[alg], key)

export const resealSigningKey = ({ alg, kid, sealed }: SigningKeyRow, resealed: string) =>
  update(keyTables[alg], { sealed: resealed }, { kid, sealed })

const deleteKey = ({ alg, kid }: Pick<SigningKeyRow, 'alg' | 'kid'>) =>
  statement(`delete from ${keyTables[alg]} where kid = $1`, kid)

/** `replacement` is the key that takes over, if it is new. */
export function revokeSigningKey(
  { alg, kid, replacement }: { alg: Algorithm; kid: string; replacement: string | null },
  now: number,
  by: By,
): Statement[] {
  const data = { ...(replacement !== null && { kid: replacement }), revoked: kid }
  return [deleteKey({ alg, kid }), eventHappened('key.rotated', by, { id: `revoked.${kid}`, at: now, data })]
}

export const dropSigningKeys = (db: Db, keys: readonly Pick<SigningKeyRow, 'alg' | 'kid'>[]) =>
  db.tx(keys.map(deleteKey))
