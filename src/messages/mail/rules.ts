/** What becomes of a mail, by its locked row. */
import { day } from '../../platform/lib/clock.ts'
import type { Digits } from '../../platform/lib/code.ts'
import type { Language } from '../../platform/lib/languages.ts'
import type { Role } from '../../roles.ts'
import type { MailKind } from './templates/texts.ts'

export type Mail = {
  readonly id: string
  readonly session_id: string
  readonly role: Role
  readonly email: string
  readonly address_fingerprint: string
  readonly language: Language
  readonly digits: Digits
  readonly reference: string
  readonly kind: MailKind | null
  readonly created_at: number
  readonly expires_at: number
  readonly attempts: number
  /** When a code to an unconfirmed address was counted against its limits. */
  readonly admitted_at: number | null
  /** The queue in which it waits for a budget. */
  readonly waits_for: string | null
  readonly sent_at: number | null
  /** JSON. */
  readonly report: string | null
  /** The claim of the worker that sends it. */
  readonly claimed_by: string | null
}

/** A limit of mails to addresses that nobody has confirmed. */
export type Limit = 'inbox' | 'domain' | 'service'

export const noticeEveryMs = day

/** Only the worker with the lease may say how sending it went: another may have taken over since. */
export const isHeldBy = (claim: string | null, mail: Mail | undefined): mail is Mail =>
  claim !== null && mail?.claimed_by === claim

/** A mail that waits for a budget belongs to whichever worker comes first. */
export const isHeldOrWaits = (claim: string | null, mail: Mail | undefined): mail is Mail =>
  isHeldBy(claim, mail) || isWaiting(mail)

const isWaiting = (mail: Mail | undefined) => mail !== undefined && mail.waits_for !== null

/** `gone`: another worker has the mail, or has decided already. */
export type Choice = 'chosen' | 'repeated' | 'over-budget' | 'gone'

/** Whether a mail that turned out to carry no code is sent. An inbox gets one such mail a day. */
export function choiceOf(
  mail: Mail | undefined,
  by: { claim: string | null; lastAt: number; full: Limit | null },
  now: number,
): Choice {
  if (!isHeldBy(by.claim, mail)) return 'gone'
  if (by.lastAt > now - noticeEveryMs) return 'repeated'
  return by.full === null ? 'chosen' : 'over-budget'
}

export type Admission = 'admitted' | 'gone' | Limit

/** The queue of mails that wait for the budget of all domains. Others are named by the fingerprint of their domain. */
export const serviceQueue = 'service'

export const limitOfQueue = (queue: string) => (queue === serviceQueue ? 'service' : 'domain')

/**
 * Whether a code may go to an address that nobody has confirmed. `claim` is null for one that waits and is first in its
 * queue. A new one goes behind those that wait already, in `queue`.
 */
export function admissionOf(
  mail: Mail | undefined,
  by: { claim: string | null; queue: string | null; full: Limit | null },
): Admission {
  const isOurs = by.claim === null ? isWaiting(mail) : isHeldBy(by.claim, mail)
  if (!isOurs) return 'gone'
  if (by.queue !== null) return limitOfQueue(by.queue)
  return by.full ?? 'admitted'
}

/** The owner of an address must not learn who wants to move to it. */
export function sessionToName({ kind, session_id }: Pick<Mail, 'kind' | 'session_id'>): string | null {
  if (kind === 'address-code' || kind === 'address-in-use' || kind === 'step-up-code') return null
  return session_id === '' ? null : session_id
}
