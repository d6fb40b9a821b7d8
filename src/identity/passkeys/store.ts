import { eventsFrom } from '../../messages/events/events.ts'
import {
  always,
  type Condition,
  type Db,
  expression,
  prune,
  type Statement,
  statement,
  value,
} from '../../platform/db/db.ts'
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
const isOfAddress = (k: string) =>
  `exists (select 1 from ${accounts} a where a.id = ${k}.person_id and a.email_key = ${k}.email_key)`

const ofAddress: Condition = { sql: () => isOfAddress('k'), params: [] }

export function passkeyByCredential(db: Db, credentialId: string): Promise<Passkey | undefined> {
  return db.one<Passkey>(
    `select ${columns} from passkey k where k.credential_id = $1 and ${isOfAddress('k')}`,
    [credentialId],
  )
}

export function passkeysOfPerson(db: Db, personId: string): Promise<Passkey[]> {
  return db.all<Passkey>(
    `select ${columns} from passkey k where k.person_id = $1 and ${isOfAddress('k')} order by k.created_at, k.id`,
    [personId],
  )
}

export function credentialExists(credentialId: string): Condition {
  return expression`exists (select 1 from passkey where credential_id = ${value(credentialId)})`
}

/** Whether the person has a passkey that works under this RP ID. */
export function hasPasskey(personId: string, rpId: string): Condition {
  return expression`exists (select 1 from passkey k where k.person_id = ${value(personId)} and k.rp_id = ${value(rpId)} and ${ofAddress})`
}

export function adminHasPasskey(rpId: string): Condition {
  return expression`exists (select 1 from person p join passkey k on k.person_id = p.id
    where p.role = 'staff' and p.status = 'active' and ',' || p.may || ',' like '%,admin,%' and k.rp_id = ${value(rpId)})`
}

export type NewPasskey = Omit<Passkey, 'last_used_at' | 'email_key'>

/** Adds a passkey if `when` is true and the person has fewer than `max`. The first statement returns a row if it did. */
export function insertPasskey(
  k: NewPasskey,
  { max, sessionId, eventId, by }: { max: number; sessionId: string; eventId: string; by: By },
  when: Condition,
): Statement[] {
  return [
    statement(
      `insert into passkey (id, person_id, email_key, credential_id, public_key, user_handle, rp_id, aaguid, transports, name, sign_count, backed_up, created_at)
       select $1, p.id, p.email_key, $3, $4, $5, $6, $7, $8, $9, cast($10 as bigint), cast($11 as integer), cast($12 as bigint)
       from ${accounts} p
       where p.id = $2 and p.status = 'active' and (select count(*) from passkey where person_id = $2) < cast($13 as bigint)
         and ${when.sql(14)}
       on conflict (credential_id) do nothing
       returning id`,
      k.passkey_id,
      k.person_id,
      k.credential_id,
      k.public_key,
      k.user_handle,
      k.rp_id,
      k.aaguid,
      k.transports,
      k.name,
      k.sign_count,
      k.backed_up,
      k.created_at,
      max,
      ...when.params,
    ),
    eventsFrom(
      'passkey.added',
      by,
      {
        id: '$1',
        at: 'created_at',
        person: 'person_id',
        session: 'cast($3 as text)',
        data: `'{"passkeyId":"' || id || '"}'`,
      },
      'from passkey where id = $2',
      eventId,
      k.passkey_id,
      sessionId,
    ),
  ]
}

/**
 * True if the counter of an authenticator went on, or it has none (WebAuthn §6.1.1). A copy of a passkey counts on its
 * own, so sooner or later one of the two falls behind.
 */
export function countsOn(passkeyId: string, signCount: number): Condition {
  return expression`exists (select 1 from passkey k where k.id = ${value(passkeyId)}
    and (k.sign_count < ${value(signCount)} or (k.sign_count = 0 and ${value(signCount)} = 0)))`
}

export function notePasskeyUsed(
  use: { passkeyId: string; signCount: number; backedUp: boolean; now: number },
  when: Condition,
): Statement {
  return statement(
    `update passkey set sign_count = $1, backed_up = $2, last_used_at = $3 where id = $4 and ${when.sql(5)}`,
    use.signCount,
    use.backedUp ? 1 : 0,
    use.now,
    use.passkeyId,
    ...when.params,
  )
}

export function noteCloned(
  passkeyId: string,
  { eventId, now, by }: { eventId: string; now: number; by: By },
  when: Condition,
): Statement {
  return eventsFrom(
    'passkey.cloned',
    by,
    {
      id: '$1',
      at: 'cast($2 as bigint)',
      person: 'person_id',
      data: `'{"passkeyId":"' || id || '"}'`,
    },
    `from passkey where id = $3 and ${when.sql(4)}`,
    eventId,
    now,
    passkeyId,
    ...when.params,
  )
}

export function renamePasskey(db: Db, personId: string, passkeyId: string, name: string) {
  return db.run<{ id: string }>(
    'update passkey set name = $1 where id = $2 and person_id = $3 returning id',
    [name, passkeyId, personId],
  )
}

/** The last statement returns a row if the passkey was there. */
export function deletePasskey(
  { personId, passkeyId, sessionId }: { personId: string; passkeyId: string; sessionId: string | null },
  { eventId, now, by }: { eventId: string; now: number; by: By },
): Statement[] {
  return [
    eventsFrom(
      'passkey.removed',
      by,
      {
        id: '$1',
        at: 'cast($2 as bigint)',
        person: 'person_id',
        session: 'cast($5 as text)',
        data: `'{"passkeyId":"' || id || '"}'`,
      },
      'from passkey where id = $3 and person_id = $4',
      eventId,
      now,
      passkeyId,
      personId,
      sessionId,
    ),
    statement('delete from passkey where id = $1 and person_id = $2 returning id', passkeyId, personId),
  ]
}

/** True while the account has the address that the passkey belongs to. */
export function worksStill(passkeyId: string): Condition {
  return expression`exists (select 1 from passkey k where k.id = ${value(passkeyId)} and ${ofAddress})`
}

/** The owner has proved the new address, so the passkeys go along. */
export function movePasskeys({
  personId,
  from,
  to,
}: {
  personId: string
  from: string
  to: string
}): Statement {
  return statement(
    'update passkey set email_key = $1 where person_id = $2 and email_key = $3',
    to,
    personId,
    from,
  )
}

/** Those whose account has another address now. A student who is away has none, and may come back. */
export function pruneLostPasskeys(): Statement {
  return prune(
    'passkey',
    'id',
    `exists (select 1 from ${accounts} a where a.id = passkey.person_id and a.email_key <> passkey.email_key)`,
  )
}

/** When an account is closed, or somebody leaves the staff. The event of that says so. */
export function erasePasskeys(personId: string, when: Condition = always): Statement {
  return statement(`delete from passkey where person_id = $1 and ${when.sql(2)}`, personId, ...when.params)
}

/** Uses up a challenge. Of many answers, `challengeClaimed` is true for one. */
export function claimChallenge(c: {
  digest: string
  mark: string
  sessionId: string | null
  now: number
}): Statement {
  return statement(
    `insert into passkey_challenge (digest, used_at, used_by, session_id) values ($1, $2, $3, $4)
     on conflict (digest) do nothing`,
    c.digest,
    c.now,
    c.mark,
    c.sessionId,
  )
}

export function challengeClaimed(digest: string, mark: string, sessionId: string | null): Condition {
  const isSession =
    sessionId === null ? expression`session_id is null` : expression`session_id = ${value(sessionId)}`
  return expression`exists (select 1 from passkey_challenge
    where digest = ${value(digest)} and used_by = ${value(mark)} and ${isSession})`
}

/** The session that the same request (by Idempotency-Key) started since then. */
export async function sessionStartedBy(
  db: Db,
  used: { personId: string; digest: string; mark: string; since: number },
): Promise<string | undefined> {
  const row = await db.one<{ session_id: string | null }>(
    `select c.session_id from passkey_challenge c join session s on s.id = c.session_id and s.person_id = $4
     where c.digest = $1 and c.used_by = $2 and c.used_at >= $3`,
    [used.digest, used.mark, used.since, used.personId],
  )
  return row?.session_id ?? undefined
}

export function pruneUsedChallenges(usedBefore: number): Statement {
  return prune('passkey_challenge', 'digest', 'used_at < $1', usedBefore)
}
