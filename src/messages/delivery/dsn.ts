/** Reads a delivery status notification (RFC 3464): the mail that a mail server sends back about another mail. */
import PostalMime from 'postal-mime'
import type { Bounce } from './delivery.ts'

/**
 * The bounce that the notification reports, or 'delivered' if it reports success. Undefined if it is not such a
 * notification.
 */
export async function readDsn(raw: Uint8Array): Promise<Bounce | 'delivered' | undefined> {
  const mail = await parse(raw)
  const parts = mail?.attachments ?? []
  const report = parts.find(({ mimeType }) => /^message\/(global-)?delivery-status$/.test(mimeType))
  if (!mail || !report) return undefined
  const [ofMail, ...ofRecipients] = textOf(report)
    .split(/\n\s*\n/)
    .map(fieldsIn)
  const about = ofRecipients.find((fields) => /^(failed|delayed)$/i.test(fields.get('action') ?? ''))
  const isDelivered = (fields: Map<string, string>) =>
    /^(delivered|relayed|expanded)$/i.test(fields.get('action') ?? '')
  if (!about) return ofRecipients.some(isDelivered) ? 'delivered' : undefined
  const returned = parts.filter(({ mimeType }) =>
    /^(message|text)\/(rfc822|global)(-headers)?$/.test(mimeType),
  )
  const toWhom = mail.headers.filter(({ key }) => /^((x-)?(original|delivered|envelope)-)?to$/.test(key))
  return {
    hard: /^failed$/i.test(about.get('action')!) && !about.get('status')?.startsWith('4'),
    server: withoutType(about.get('remote-mta') ?? ofMail!.get('reporting-mta')) ?? null,
    reply: withoutType(about.get('diagnostic-code')) ?? about.get('status') ?? '',
    names: [
      ...toWhom.map(({ value }) => value),
      ofMail!.get('original-envelope-id') ?? '',
      ...returned.map((part) => headersIn(textOf(part)).get('message-id') ?? ''),
    ],
  }
}

async function parse(raw: Uint8Array) {
  try {
    return await PostalMime.parse(raw, { forceRfc822Attachments: true, attachmentEncoding: 'utf8' })
  } catch {
    // Nested too deeply, or headers without end.
    return undefined
  }
}

function textOf({ content }: { content: unknown }): string {
  return String(content).replaceAll('\r\n', '\n')
}

function headersIn(mail: string): Map<string, string> {
  return fieldsIn(mail.split(/\n\s*\n/, 1)[0]!)
}

/** By name in lower case. A line that begins with a space continues the one before. */
function fieldsIn(text: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of text.replace(/\n[ \t]+/g, ' ').split('\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) fields.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim())
  }
  return fields
}

/** `smtp; 550 no such user` without its type. */
function withoutType(field: string | undefined): string | undefined {
  return field?.replace(/^[\w-]+\s*;\s*/, '')
}
