import {
  always,
  type Condition,
  type Db,
  type Expression,
  locking,
  type Statement,
  statement,
} from '../db/db.ts'
import { insertEvents } from '../events/events.ts'
import type { Digits } from '../lib/code.ts'
import type { Role } from '../people/people.ts'
import type { Language } from './templates/languages.ts'
import type { MailKind, NoticeKind } from './templates/texts.ts'

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

/** Mails that may carry a code, and those that are known to carry none. */
export type Lane = 'codes' | 'notices'
const within: Record<Lane, string> = { codes: 'kind is null', notices: 'kind is not null' }

/**
 * Takes mails that are due by moving their next time past the lease: whoever dies with one loses it then. The
 * condition is checked again on each row when it is locked, so two workers never hold the same mail. In two steps,
 * because PostgreSQL cannot know that the first finds few and would read all that are waiting for the second.
 */
export async function claimMails(
  db: Db,
  c: { lane: Lane; by: string; now: number; leaseUntil: number; limit: number },
): Promise<Mail[]> {
  const due = await db.all<{ id: string }>(
    `select id from outbox where sent_at is null and ${within[c.lane]} and next_at <= $1 order by next_at limit ${takenMax}`,
    [c.now],
  )
  if (due.length === 0) return []
  const ids = Array.from({ length: takenMax }, (_, i) => (i < c.limit ? (due[i]?.id ?? '') : ''))
  return db.run<Mail>(
    `update outbox set claimed_by = $1, next_at = $2, attempts = attempts + 1
     where id in (${taken}) and sent_at is null and ${within[c.lane]} and next_at <= $3
     returning ${columns}`,
    [c.by, c.leaseUntil, c.now, ...ids],
  )
}

/** Moves a held mail's next time: to keep the lease, or to try again then. */
export function holdUntil(db: Db, id: string, by: string, nextAt: number) {
  return db.run('update outbox set next_at = $1 where id = $2 and claimed_by = $3', [nextAt, id, by])
}

/** How many mails without a code may go at once, and how fast more may follow. */
export interface Budget {
  readonly key: string
  readonly burst: number
  readonly intervalMs: number
}

export interface NewNotice {
  readonly mail: Mail
  readonly kind: NoticeKind
  readonly inbox: string
  readonly now: number
  /** No second one to an inbox that had one after this. */
  readonly unlessSince: number
  readonly mark: string
  /** Null: there are none. */
  readonly budgets: { readonly service: Budget; readonly domain: Budget } | null
}

/**
 * Fixes that a mail carries no code, and puts it back behind those that may. Unless it is one too many for the inbox or
 * for a budget; then nothing is taken of anything.
 */
export async function chooseNotice(
  db: Db,
  notice: NewNotice,
): Promise<'chosen' | 'repeated' | 'over-budget'> {
  const { mail, kind, inbox, now, unlessSince } = notice
  const budgets = takeBudgets(notice)
  const results = await db.tx([
    ...budgets.statements,
    statement(
      `insert into notice (address_hash, sent_at) select $1, cast($2 as bigint) where ${budgets.taken.sql(4)}
       on conflict (address_hash) do update set sent_at = excluded.sent_at where notice.sent_at <= $3
       returning address_hash`,
      inbox,
      now,
      unlessSince,
      ...budgets.taken.params,
    ),
    statement(
      `update outbox set kind = $1, next_at = $2, claimed_by = null, attempts = attempts - 1
       where id = $3 and kind is null and exists (select 1 from notice where address_hash = $4 and sent_at = $2)
         and ${budgets.taken.sql(5)}`,
      kind,
      now,
      mail.id,
      inbox,
      ...budgets.taken.params,
    ),
    statement('select sent_at from notice where address_hash = $1 and sent_at > $2', inbox, unlessSince),
  ])
  const [chosen, , repeated] = results.slice(budgets.statements.length)
  if (chosen!.length > 0) return 'chosen'
  return repeated!.length > 0 ? 'repeated' : 'over-budget'
}

/**
 * The first statement makes everybody who takes wait at the service's row, so that the second knows of all others what
 * they took. It does so only if there seems to be something to take: a flood of refusals waits for nobody.
 */
function takeBudgets({ budgets, inbox, now, unlessSince, mark }: NewNotice): {
  statements: Statement[]
  taken: Condition
} {
  if (!budgets) return { statements: [], taken: always }
  const { service, domain } = budgets
  const free: Condition = {
    sql: (n) => `not exists (select 1 from notice where address_hash = $${n} and sent_at > $${n + 1})
      and not exists (select 1 from notice_budget
        where (key = $${n + 2} and full_at > $${n + 3}) or (key = $${n + 4} and full_at > $${n + 5}))`,
    params: [inbox, unlessSince, service.key, lastFullAt(service, now), domain.key, lastFullAt(domain, now)],
  }
  const taken: Condition = {
    sql: (n) => `exists (select 1 from notice_budget where key = $${n} and mark = $${n + 1})`,
    params: [service.key, mark],
  }
  return {
    statements: [
      statement(
        `insert into notice_budget (key, full_at, mark) select $1, 0, '' where ${free.sql(2)}
         on conflict (key) do update set full_at = notice_budget.full_at`,
        service.key,
        ...free.params,
      ),
      statement(
        `update notice_budget set full_at = ${oneMore('$2', '$3')}, mark = $4 where key = $1 and ${free.sql(5)}`,
        service.key,
        now,
        service.intervalMs,
        mark,
        ...free.params,
      ),
      statement(
        `insert into notice_budget (key, full_at, mark)
         select $1, cast($2 as bigint) + cast($3 as bigint), $4 where ${taken.sql(5)}
         on conflict (key) do update set full_at = ${oneMore('$2', '$3')}, mark = excluded.mark`,
        domain.key,
        now,
        domain.intervalMs,
        mark,
        ...taken.params,
      ),
    ],
    taken,
  }
}

const oneMore = (now: string, intervalMs: string) =>
  `case when notice_budget.full_at > cast(${now} as bigint) then notice_budget.full_at else cast(${now} as bigint) end
     + cast(${intervalMs} as bigint)`

/** Up to when a budget may be full again for there to be one left. */
const lastFullAt = ({ burst, intervalMs }: Budget, now: number) => now + (burst - 1) * intervalMs

export function dropMail(id: string): Statement {
  return statement('delete from outbox where id = $1', id)
}

/** Drops a mail for good and writes it down, if this worker still holds it: another may have delivered it since. */
export function failMail(id: string, by: string, reason: string, now: number): Statement[] {
  const held = 'id = $1 and claimed_by = $2'
  return [
    locking(`select id from outbox where ${held}`, id, by),
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

export interface CaughtFilter {
  /** Lower-cased. */
  readonly to?: string
  readonly reference?: string
}

export function caughtMails(db: Db, { to, reference }: CaughtFilter, limit: number): Promise<Mail[]> {
  return db.all<Mail>(
    `select ${columns} from outbox
     where sent_at is not null
       and (cast($1 as text) is null or lower(email) = $1) and (cast($2 as text) is null or reference = $2)
     order by sent_at desc, id desc limit ${limit}`,
    [to ?? null, reference ?? null],
  )
}

export function caughtMail(db: Db, id: string): Promise<Mail | undefined> {
  return db.one<Mail>(`select ${columns} from outbox where id = $1 and sent_at is not null`, [id])
}

export function pruneMail(now: number, caughtBefore: number, noticedBefore: number): Statement[] {
  return [
    statement('delete from outbox where sent_at < $1', caughtBefore),
    statement('delete from notice where sent_at < $1', noticedBefore),
    statement('delete from notice_budget where full_at < $1', now),
  ]
}

export function forgetMail(addressHash: string, inbox: string): Statement[] {
  return [
    statement('delete from notice where address_hash = $1', inbox),
    statement('delete from outbox where address_hash = $1', addressHash),
  ]
}
