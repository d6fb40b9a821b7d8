import { eventHappened } from '../../messages/events/events.ts'
import { type Db, insertion, prune, type Statement, statement, update } from '../../platform/db/db.ts'
import { readAll, readOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { accounts } from '../people/people.ts'

export interface Passkey {
  readonly passkey_id: string
  readonly person_id: string
  /** The account's address when it was added, or that the owner has moved to since. */
  readonly email_key: string
  readonly credential_id: string
  /** COSE, as base64url. */
  readonly public_key: string
  /** The name that the authenticator knows its owner by. */
  readonly user_handle: string
  readonly rp_id: string
  readonly aaguid: string
  /** Comma-separated. */
  readonly transports: string
  readonly name: string
  readonly sign_count: number
  readonly backed_up: 0 | 1
  readonly created_at: number
  readonly last_used_at: number | null
}

const columns = `k.id as passkey_id, k.person_id, k.email_key, k.credential_id, k.public_key, k.user_handle, k.rp_id, k.aaguid, k.transports,
  k.name, k.sign_count, k.backed_up, k.created_at, k.last_used_at`

/**
 * A passkey works only while its account has the address it was added under. Otherwise whoever had the account before
 * the school corrected or reassigned its address would keep a way in.
 */
const isOfAddress = `exists (select 1 from ${accounts} a where a.id = k.person_id and a.email_key = k.email_key)`

export const passkeyByCredential = (db: Db, credentialId: string) =>
  db.one<Passkey>(`select ${columns} from passkey k where k.credential_id = $1 and ${isOfAddress}`, [
    credentialId,
  ])

export const passkeysOfPerson = (db: Db, personId: string) =>
  db.all<Passkey>(
    `select ${columns} from passkey k where k.person_id = $1 and ${isOfAddress} order by k.created_at, k.id`,
    [personId],
  )

/** With a lock of the person. */
export const readPasskey = (id: string) =>
  readOne<Passkey>(`select ${columns} from passkey k where k.id = $1`, id)

/** With a lock of the person. Also those of a former address. */
export const readPasskeys = (personId: string) =>
  readAll<Passkey>(
    `select ${columns} from passkey k where k.person_id = $1 order by k.created_at, k.id`,
    personId,
  )

export const readCredential = (credentialId: string) =>
  readOne<{ id: string }>('select id from passkey where credential_id = $1', credentialId)

/** Whether the person has a passkey that works under this RP ID. */
export async function hasPasskey(db: Db, personId: string, rpId: string): Promise<boolean> {
  const found = await db.one(
    `select 1 from passkey k where k.person_id = $1 and k.rp_id = $2 and ${isOfAddress} limit 1`,
    [personId, rpId],
  )
  return found !== undefined
}

export async function adminHasPasskey(db: Db, rpId: string): Promise<boolean> {
  const found = await db.one(
    `select 1 from person p join passkey k on k.person_id = p.id
     where p.role = 'staff' and p.status = 'active' and ',' || p.may || ',' like '%,admin,%' and k.rp_id = $1 limit 1`,
    [rpId],
  )
  return found !== undefined
}

export type NewPasskey = Omit<Passkey, 'last_used_at'>

/** What the event of a change of passkeys says. `sessionId` is that of the owner, if it was the owner. */
export interface PasskeyEvent {
  readonly eventId: string
  readonly sessionId: string | null
  readonly now: number
  readonly by: By
}

export function insertPasskey(k: NewPasskey, event: PasskeyEvent): Statement[] {
  const { passkey_id: id, ...columns } = k
  return [insertion('passkey', { id, ...columns }), passkeyEvent('passkey.added', k, event)]
}

export const deletePasskey = (k: Passkey, event: PasskeyEvent): Statement[] => [
  passkeyEvent('passkey.removed', k, event),
  statement('delete from passkey where id = $1', k.passkey_id),
]

export const notePasskeyUsed = (
  { passkey_id: id }: Passkey,
  use: Pick<Passkey, 'sign_count' | 'backed_up' | 'last_used_at'>,
) => update('passkey', use, { id })

export const noteCloned = (k: Passkey, event: PasskeyEvent) => passkeyEvent('passkey.cloned', k, event)

function passkeyEvent(
  type: 'passkey.added' | 'passkey.removed' | 'passkey.cloned',
  { passkey_id: passkeyId, person_id: personId }: Pick<Passkey, 'passkey_id' | 'person_id'>,
  { eventId: id, sessionId, now: at, by }: PasskeyEvent,
): Statement {
  return eventHappened(type, by, { id, at, personId, sessionId, data: { passkeyId } })
}

export const renamePasskey = (db: Db, personId: string, passkeyId: string, name: string) =>
  db.run<{ id: string }>('update passkey set name = $1 where id = $2 and person_id = $3 returning id', [
    name,
    passkeyId,
    personId,
  ])

/** The owner has proved the new address, so the passkeys go along. */
export const movePasskeys = ({ personId, from, to }: { personId: string; from: string; to: string }) =>
  update('passkey', { email_key: to }, { person_id: personId, email_key: from })

/** Those whose account has another address now. A student who is away has none, and may come back. */
export const pruneLostPasskeys = () =>
  prune(
    'passkey',
    'id',
    `exists (select 1 from ${accounts} a where a.id = passkey.person_id and a.email_key <> passkey.email_key)`,
  )

/** When an account is closed, or somebody leaves the staff. The event of that says so. */
export const erasePasskeys = (personId: string) =>
  statement('delete from passkey where person_id = $1', personId)

export interface UsedChallenge {
  readonly used_at: number
  /** The request that used it. */
  readonly used_by: string
  /** The session that it started, and whose that is; null if it started none. */
  readonly session_id: string | null
  readonly person_id: string | null
}

/** Never changes afterwards. If two answers use up a challenge at once, the decision about the second runs again. */
export const readUsedChallenge = (digest: string) =>
  readOne<UsedChallenge>(
    `select c.used_at, c.used_by, s.id as session_id, s.person_id from passkey_challenge c
     left join session s on s.id = c.session_id where c.digest = $1`,
    digest,
  )

export const useChallenge = (
  digest: string,
  use: { readonly used_at: number; readonly used_by: string; readonly session_id: string },
) => insertion('passkey_challenge', { digest, ...use })

export const pruneUsedChallenges = (usedBefore: number) =>
  prune('passkey_challenge', 'digest', 'used_at < $1', usedBefore)
