/** Builds a mail from its row in the outbox: text, code, greeting, and headers. */

import type { Context } from '../../platform/context.ts'
import { minute } from '../../platform/lib/clock.ts'
import { deriveCode } from '../../platform/lib/code.ts'
import { fingerprint, type Keys } from '../../platform/lib/secret.ts'
import { bounceAddress, tagOf } from '../delivery/delivery.ts'
import type { Recipient } from './recipient.ts'
import type { Mail } from './rules.ts'
import { type Rendered, render } from './templates/layout.ts'
import { isCode, type MailKind, type Report } from './templates/texts.ts'

export interface Message extends Rendered {
  readonly from: string
  readonly to: string
  readonly messageId: string
  readonly language: string
  /** Where bounces go, if not to `from`, and the tag that identifies the mail. */
  readonly envelope?: { readonly sender: string | null; readonly id: string }
}

export interface MessageSettings extends Pick<Context, 'secrets' | 'publicUrl' | 'branding' | 'timeZone'> {
  readonly from: string
  /** The domain that bounces go to; null to let them go to the sender. */
  readonly bounces: string | null
}

export function messageOf(
  mail: Mail,
  kind: MailKind,
  recipient: Recipient | undefined,
  { secrets, publicUrl, branding, from, bounces, timeZone }: MessageSettings,
): Message {
  const addressKey = mail.email.toLowerCase()
  const subject = { ...mail, sessionId: mail.session_id, addressKey }
  // A code must stay the same when it is sent again, even if the secret changed in between.
  const ofSession = (k: Keys) => fingerprint(k, 'address', addressKey) === mail.address_fingerprint
  const keys = (secrets.all.length > 1 && secrets.all.find(ofSession)) || secrets.current
  const rendered = render({
    kind,
    language: mail.language,
    reference: mail.reference,
    url: mail.role === 'staff' ? `${publicUrl}/console` : publicUrl,
    school: branding,
    ...(mail.report !== null && { report: JSON.parse(mail.report) as Report }),
    ...(isCode(kind) && {
      code: {
        digits: String(deriveCode(keys, subject)),
        // A new address may belong to anyone, so the mail names nobody.
        name: recipient && kind !== 'address-code' ? greetingName(recipient) : null,
        minutes: Math.max(1, Math.round((mail.expires_at - mail.created_at) / minute)),
        until: timeOfDay(mail.expires_at, mail.language, timeZone),
      },
    }),
  })
  const tag = tagOf(secrets.current, mail.id)
  return {
    ...rendered,
    from,
    to: recipient?.email ?? mail.email,
    messageId: `<${tag}@${new URL(publicUrl).hostname}>`,
    language: mail.language,
    envelope: { sender: bounces === null ? null : bounceAddress(tag, bounces), id: tag },
  }
}

/** A name that looks like a code or an address is never used. */
function greetingName({ status, firstname }: Recipient): string | null {
  if (status !== 'active' || firstname === null) return null
  return /\d{4}|[:/@]|\.\S/.test(firstname) ? null : firstname
}

const clocks = new Map<string, Intl.DateTimeFormat>()

function timeOfDay(at: number, language: string, timeZone: string): string {
  const key = `${language} ${timeZone}`
  let clock = clocks.get(key)
  if (!clock) {
    const parts = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' } as const
    // Cached: creating one costs more than the rest of a mail.
    clock = new Intl.DateTimeFormat(language, { ...parts, hourCycle: 'h23', timeZone })
    clocks.set(key, clock)
  }
  return clock.format(at)
}
