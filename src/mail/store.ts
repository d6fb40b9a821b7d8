import { type Condition, type Db, type Expression, forUpdate, type Statement, statement } from '../db/db.ts'
import { insertEvents } from '../events/events.ts'
import type { Role } from '../people/people.ts'
import type { Digits } from '../sign-in/code.ts'
import type { Language } from './templates/languages.ts'
import type { MailKind } from './templates/texts.ts'

export interface Mail {
  readonly id: string
  readonly session_id: string
  readonly role: Role
  readonly email: string
  readonly address_hash: string
  readonly language: Language
  readonly digits: Digits
  readonly reference: string
  readonly kind: MailKind | null
  readonly created_at: number
  readonly expires_at: number
  readonly attempts: number
  readonly sent_at: number | null
}

const columns =
  'id, session_id, role, email, address_hash, language, digits, reference, kind, created_at, expires_at, attempts, sent_at'

export type NewMail = Omit<Mail, 'digits' | 'kind' | 'created_at' | 'attempts' | 'sent_at'> & {
  readonly now: number
}

export function queueMail(m: NewMail, digits: Expression, when: Condition): Statement {
  return statement(
    `insert into outbox (id, session_id, role, email, address_hash, language, digits, reference, created_at, expires_at, attempts, next_at)
     select $1, $2, $3, $4, $5, $6, ${digits.sql(10)}, $7, cast($8 as bigint), cast($9 as bigint), 0, cast($8 as bigint)
     where ${when.sql(10 + digits.params.length)}`,
    m.id,
    m.session_id,
    m.role,
    m.email,
    m.address_hash,
    m.language,
    m.reference,
    m.now,
    m.expires_at,
    ...digits.params,
    ...when.params,
  )
}

/** How many mails are taken at once, at most. */
export const takenMax = 20

const taken = Array.from({ length: takenMax }, (_, i) => `$${i + 4}`).join(', ')

/**
 * Takes mails that are due by moving their next time past the lease: whoever dies with one loses it then. The
 * condition is checked again on each row when it is locked, so two workers never hold the same mail. In two steps,
 * because PostgreSQL cannot know that the first finds few and would read all that are waiting for the second.
 */
export async function claimMails(
  db: Db,
  c: { by: string; now: number; leaseUntil: number; limit: number },
): Promise<Mail[]> {
  const due = await db.all<{ id: string }>(
    `select id from outbox where sent_at is null and next_at <= $1 order by next_at limit ${takenMax}`,
    [c.now],
  )
  if (due.length === 0) return []
  const ids = Array.from({ length: takenMax }, (_, i) => (i < c.limit ? (due[i]?.id ?? '') : ''))
  return db.run<Mail>(
    `update outbox set claimed_by = $1, next_at = $2, attempts = attempts + 1
     where id in (${taken}) and sent_at is null and next_at <= $3
     returning ${columns}`,
    [c.by, c.leaseUntil, c.now, ...ids],
  )
}

/** Moves a held mail's next time: to keep the lease, or to try again then. */
export function holdUntil(db: Db, id: string, by: string, nextAt: number) {
  return db.run('update outbox set next_at = $1 where id = $2 and claimed_by = $3', [nextAt, id, by])
}

/** Fixes that a mail carries no code; gives no row if such a mail went to the address since `unlessSince`. */
export async function chooseNotice(
  db: Db,
  mail: Mail,
  kind: MailKind,
  now: number,
  unlessSince: number,
): Promise<boolean> {
  const [granted] = await db.tx([
    statement(
      `insert into notice (address_hash, sent_at) values ($1, $2)
       on conflict (address_hash) do update set sent_at = excluded.sent_at where notice.sent_at <= $3
       returning address_hash`,
      mail.address_hash,
      now,
      unlessSince,
    ),
    statement(
      'update outbox set kind = $1 where id = $2 and exists (select 1 from notice where address_hash = $3 and sent_at = $4)',
      kind,
      mail.id,
      mail.address_hash,
      now,
    ),
  ])
  return granted!.length > 0
}

export function dropMail(id: string): Statement {
  return statement('delete from outbox where id = $1', id)
}

/** Drops a mail for good and writes it down, if this worker still holds it: another may have delivered it since. */
export function failMail(id: string, by: string, reason: string, now: number): Statement[] {
  const held = 'id = $1 and claimed_by = $2'
  return [
    statement(`select id from outbox where ${held} ${forUpdate}`, id, by),
    statement(
      `${insertEvents}
       select 'mail.' || id, cast($3 as bigint), 'mail.failed', null, session_id, cast($4 as text) from outbox where ${held}
       on conflict (id) do nothing`,
      id,
      by,
      now,
      JSON.stringify({ reason }),
    ),
    statement(`delete from outbox where ${held}`, id, by),
  ]
}

export function keepCaught(db: Db, id: string, kind: MailKind, now: number) {
  return db.run('update outbox set sent_at = $1, kind = $2 where id = $3', [now, kind, id])
}

export function caughtMails(db: Db, limit: number): Promise<Mail[]> {
  return db.all<Mail>(
    `select ${columns} from outbox where sent_at is not null order by sent_at desc, id limit ${limit}`,
  )
}

export function caughtMail(db: Db, id: string): Promise<Mail | undefined> {
  return db.one<Mail>(`select ${columns} from outbox where id = $1 and sent_at is not null`, [id])
}

export function pruneMail(caughtBefore: number, noticedBefore: number): Statement[] {
  return [
    statement('delete from outbox where sent_at < $1', caughtBefore),
    statement('delete from notice where sent_at < $1', noticedBefore),
  ]
}

export function forgetMail(addressHash: string): Statement[] {
  return [
    statement('delete from outbox where address_hash = $1', addressHash),
    statement('delete from notice where address_hash = $1', addressHash),
  ]
}
