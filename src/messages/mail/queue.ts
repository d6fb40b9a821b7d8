/** What is queued, in the transaction of whatever it is about. */
import type { Statement } from '../../platform/db/db.ts'
import { inboxOf } from '../../platform/lib/address.ts'
import { day } from '../../platform/lib/clock.ts'
import type { Language } from '../../platform/lib/languages.ts'
import { newIdAt, newReference } from '../../platform/lib/random.ts'
import { fingerprint, type Keys, type Secrets } from '../../platform/lib/secret.ts'
import type { Role } from '../../roles.ts'
import { deliveryOpened } from '../delivery/delivery.ts'
import { addReport, forgetMail as forgetMailOf, insertMail, type NewMail } from './store.ts'
import { mailTexts } from './templates/languages.ts'
import { type NewKind, type Report, reportKind, type ToldKind, type WebhookOff } from './templates/texts.ts'

/** Queues a mail and creates its delivery record. */
export function queueMail(mail: NewMail, kind: NewKind = null): Statement[] {
  return [insertMail(mail, kind), deliveryOpened(mail.id, mail.email)]
}

const toldWithinMs = day

interface Told {
  readonly email: string
  readonly role: Role
  readonly now: number
  readonly language?: Language
}

/** A mail without a code that nobody requested. */
function toldMail(secrets: Secrets, { email, role, now, language }: Told): NewMail {
  return {
    id: newIdAt(now),
    session_id: '',
    role,
    email,
    address_fingerprint: fingerprint(secrets.current, 'address', email.toLowerCase()),
    language: language ?? 'en',
    digits: 0,
    reference: newReference(),
    expires_at: now + toldWithinMs,
    now,
  }
}

/** A mail that notifies an owner of a change. */
export function tellOf(secrets: Secrets, told: Told & { kind: ToldKind }): Statement[] {
  return queueMail(toldMail(secrets, told), told.kind)
}

/** A mail to staff with a text of its own. */
export function queueReport(
  secrets: Secrets,
  { email, report, now }: { email: string; report: Report; now: number },
): { id: string; statements: Statement[] } {
  const mail = toldMail(secrets, { email, role: 'staff', now })
  return {
    id: mail.id,
    statements: [...queueMail(mail, reportKind), addReport(mail.id, report)],
  }
}

/** Tells a member of staff that a webhook was switched off. */
export function tellOfWebhook(
  secrets: Secrets,
  { email, now, ...off }: WebhookOff & { email: string; now: number },
): Statement[] {
  // The language of an admin is unknown.
  const report = mailTexts.en.webhookOff(off)
  return queueReport(secrets, { email, report, now }).statements
}

/** Erases everything stored about mails to an address. */
export function forgetMail(secrets: Secrets, addressKey: string): Statement[] {
  const of = (keys: Keys, address: string) => fingerprint(keys, 'address', address)
  return secrets.all.flatMap((keys) => forgetMailOf(of(keys, addressKey), of(keys, inboxOf(addressKey))))
}
