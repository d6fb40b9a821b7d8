import {
  changeAll,
  changeSome,
  type Db,
  insertion,
  prune,
  type Statement,
  statement,
} from '../../platform/db/db.ts'
import { type Ask, lockMade, lockOne, readOne } from '../../platform/db/decision.ts'
import { bySystem } from '../../platform/lib/by.ts'
import type { Digits } from '../../platform/lib/code.ts'
import { eventHappened } from '../events/events.ts'
import { type Mail, serviceQueue, sessionToName } from './rules.ts'
import type { MailKind, NewKind, NoticeKind, Report } from './templates/texts.ts'

const columns =
  'id, session_id, role, email, address_fingerprint, language, digits, reference, kind, created_at, expires_at, attempts, admitted_at, waits_for, sent_at, report, claimed_by'

export type NewMail = Omit<
  Mail,
  | 'digits'
  | 'kind'
  | 'created_at'
  | 'attempts'
  | 'admitted_at'
  | 'waits_for'
  | 'sent_at'
  | 'report'
  | 'claimed_by'
> & {
  /** 0 if it carries no code. */
  readonly digits: Digits | 0
  readonly now: number
}

export function insertMail({ now, ...mail }: NewMail, kind: NewKind): Statement {
  return insertion('outbox', {
    id: mail.id,
    session_id: mail.session_id,
    role: mail.role,
    email: mail.email,
    address_fingerprint: mail.address_fingerprint,
    language: mail.language,
    digits: mail.digits,
    reference: mail.reference,
    created_at: now,
    expires_at: mail.expires_at,
    attempts: 0,
    next_at: now,
    kind,
  })
}

/** Gives a mail of the kind `report` its text. */
export function addReport(id: string, report: Report): Statement {
  return statement('update outbox set report = $1 where id = $2', JSON.stringify(report), id)
}

export const mails = { name: 'outbox', key: ['id'], columns, countsClaims: true } as const

/** `codes`: mails that may carry a code. `notices`: mails known to carry none. */
export type Lane = 'codes' | 'notices'
/** The words of the indexes: a query that repeats them can use one. */
export const lanes: Record<Lane, string> = {
  codes: "(kind is null or kind in ('address-code', 'step-up-code'))",
  notices: "kind is not null and kind not in ('address-code', 'step-up-code')",
}

/** Mails of a newer program are left to it, until it is too late for them. */
const isToSend = (lane: Lane, kinds: readonly MailKind[], now: string) =>
  `sent_at is null and ${lanes[lane]}
   and (kind is null or kind in (${kinds.map((kind) => `'${kind}'`).join(', ')}) or expires_at <= ${now})`

/** The lanes in which mails of these kinds are due, codes first. */
export async function dueLanes(db: Db, kinds: readonly MailKind[], now: number): Promise<Lane[]> {
  const first = (lane: Lane) =>
    `(select next_at from outbox where ${isToSend(lane, kinds, '$1')} and next_at <= $1 order by next_at limit 1) as ${lane}`
  const due = await db.one<Record<Lane, number | null>>(`select ${first('codes')}, ${first('notices')}`, [
    now,
  ])
  return (['codes', 'notices'] as const).filter((lane) => due![lane] !== null)
}

export const mailsOf = (lane: Lane, kinds: readonly MailKind[]) => ({
  name: lane,
  where: isToSend(lane, kinds, '$3'),
  params: [],
})

export const oneMail = (id: string) => ({ name: id, where: 'id = $5 and sent_at is null', params: [id] })

export async function isWaiting(db: Db, id: string): Promise<boolean> {
  return (await db.one('select id from outbox where id = $1 and sent_at is null', [id])) !== undefined
}

/** Makes waiting mails due now, in the order in which they were queued. */
export function tryAllNow(now: number): Statement {
  const where = 'sent_at is null and claimed_by is null and waits_for is null and next_at > $1'
  return changeAll(
    'update outbox set next_at = created_at',
    { table: 'outbox', key: 'id', where, returning: 'id' },
    now,
  )
}

export const lockMail = (id: string) =>
  lockOne<Mail>('mail', `select ${columns} from outbox where id = $1`, id)

/** Locks when the inbox last had a notice. */
export const lockNotice = (inbox: string): Ask<{ sent_at: number } | undefined> =>
  lockMade(
    'notice',
    statement(
      'insert into notice (inbox_fingerprint, sent_at) values ($1, 0) on conflict (inbox_fingerprint) do nothing',
      inbox,
    ),
    'select sent_at from notice where inbox_fingerprint = $1',
    inbox,
  )

/** Turns a mail into a notice and puts it behind the codes. */
export function chooseNotice(n: { id: string; kind: NoticeKind; inbox: string; now: number }): Statement[] {
  return [
    statement('update notice set sent_at = $1 where inbox_fingerprint = $2', n.now, n.inbox),
    statement(
      'update outbox set kind = $1, next_at = $2, claimed_by = null, attempts = attempts - 1 where id = $3',
      n.kind,
      n.now,
      n.id,
    ),
  ]
}

/** One that waited is due now. */
export function admitMail(id: string, now: number): Statement {
  return statement(
    `update outbox set admitted_at = $1, next_at = case when waits_for is null then next_at else $1 end, waits_for = null
     where id = $2`,
    now,
    id,
  )
}

/** Lets a mail wait for a budget. It is due again when its code has expired. */
export function waitForBudget({ id, waits_for }: Mail, queue: string): Statement {
  return statement(
    'update outbox set waits_for = $1, next_at = expires_at, claimed_by = null, attempts = attempts - $2 where id = $3',
    queue,
    waits_for === null ? 1 : 0,
    id,
  )
}

/** The queue, of all domains or of this one, in which a mail waits already. */
export const readQueueBefore = (domain: string, now: number) =>
  readOne<{ waits_for: string }>(
    `select waits_for from outbox where waits_for in ($1, $2) and expires_at > $3
     order by case waits_for when $1 then 0 else 1 end limit 1`,
    domain,
    serviceQueue,
    now,
  )

/** The next queue by name in which a mail waits. */
export async function nextQueue(db: Db, after: string): Promise<string | null> {
  const row = await db.one<{ waits_for: string }>(
    'select waits_for from outbox where waits_for > $1 and waits_for is not null order by waits_for limit 1',
    [after],
  )
  return row?.waits_for ?? null
}

/** The mail that has waited longest. */
export function firstInQueue(db: Db, queue: string, now: number): Promise<Mail | undefined> {
  return db.one<Mail>(
    `select ${columns} from outbox where waits_for = $1 and waits_for is not null and expires_at > $2 order by id limit 1`,
    [queue, now],
  )
}

export function dropMail(id: string): Statement {
  return statement('delete from outbox where id = $1', id)
}

/** Drops a mail and records it. */
export function failMail(
  mail: Mail,
  failure: { reason: 'expired' | 'refused'; personId: string | undefined; now: number },
): Statement[] {
  const { reason, personId, now } = failure
  const sessionId = sessionToName(mail)
  return [
    eventHappened('mail.failed', bySystem, {
      id: `mail.${mail.id}`,
      at: now,
      ...(personId !== undefined && { personId }),
      ...(sessionId !== null && { sessionId }),
      data: { reason },
    }),
    dropMail(mail.id),
  ]
}

export function keepCaught(id: string, kind: MailKind, now: number): Statement {
  return statement('update outbox set sent_at = $1, kind = $2 where id = $3', now, kind, id)
}

export interface CaughtFilter {
  readonly to?: string
  readonly reference?: string
}

export function caughtMails(db: Db, { to, reference }: CaughtFilter, limit: number): Promise<Mail[]> {
  return db.all<Mail>(
    `select ${columns} from outbox
     where sent_at is not null
       and (cast($1 as text) is null or lower(email) = $1) and (cast($2 as text) is null or reference = $2)
     order by sent_at desc, id desc limit $3`,
    [to ?? null, reference ?? null, limit],
  )
}

export function caughtMail(db: Db, id: string): Promise<Mail | undefined> {
  return db.one<Mail>(`select ${columns} from outbox where id = $1 and sent_at is not null`, [id])
}

/** A mail that is due later than `before` says was given back while a clock was wrong, unless it waits for a budget. */
export function pruneMail(
  now: number,
  before: { caught: number; noticed: number; due: number },
): Statement[] {
  return [
    changeSome(
      'update outbox set next_at = $1',
      {
        table: 'outbox',
        key: 'id',
        where: 'sent_at is null and waits_for is null and next_at > $2',
        returning: 'id',
      },
      now,
      before.due,
    ),
    prune('outbox', 'id', 'sent_at < $1', before.caught),
    prune('notice', 'inbox_fingerprint', 'sent_at < $1', before.noticed),
    // Programs before schema 39 write these.
    prune('notice_budget', 'key', 'full_at < $1', now),
  ]
}

export function forgetMail(addressFingerprint: string, inbox: string): Statement[] {
  return [
    statement('delete from outbox where address_fingerprint = $1', addressFingerprint),
    statement('delete from notice where inbox_fingerprint = $1', inbox),
  ]
}
