/** Parses bounce reports of mail providers: Amazon SES (directly or through SNS), Postmark and Mailgun. */
import type { Bounce } from './delivery.ts'

type Json = { readonly [name: string]: unknown }

/** A link that the operator must open once, before Amazon SNS posts anything else. */
export interface Confirmation {
  readonly confirm: string
}

/** The bounces in a body; empty if it reports something else. Undefined if the format is unknown. */
export function readHook(body: unknown): readonly Bounce[] | Confirmation | undefined {
  const json = objectIn(body)
  if (!json) return undefined
  if (typeof json.Type === 'string' && typeof json.TopicArn === 'string') return fromSns(json)
  if ('eventType' in json || 'notificationType' in json) return fromSes(json)
  if ('event-data' in json) return fromMailgun(objectIn(json['event-data']) ?? {})
  if ('RecordType' in json || ('MessageID' in json && 'Email' in json)) return fromPostmark(json)
  return undefined
}

function fromSns(json: Json): readonly Bounce[] | Confirmation | undefined {
  if (json.Type === 'SubscriptionConfirmation') return { confirm: textIn(json.SubscribeURL) }
  if (json.Type !== 'Notification') return []
  try {
    const message = objectIn(JSON.parse(textIn(json.Message)))
    return message && ('eventType' in message || 'notificationType' in message) ? fromSes(message) : []
  } catch {
    // SNS also passes on plain sentences, such as that a topic was set up.
    return []
  }
}

function fromSes(json: Json): readonly Bounce[] {
  if ((json.eventType ?? json.notificationType) !== 'Bounce') return []
  const bounce = objectIn(json.bounce) ?? {}
  const mail = objectIn(json.mail) ?? {}
  const headers = listIn(mail.headers).map((header) => textIn(objectIn(header)?.value))
  const names = [textIn(mail.source), textIn(objectIn(mail.commonHeaders)?.messageId), ...headers]
  return listIn(bounce.bouncedRecipients).map((each) => {
    const recipient = objectIn(each) ?? {}
    return {
      hard: bounce.bounceType === 'Permanent',
      server: textIn(bounce.reportingMTA).replace(/^dns;\s*/, '') || 'amazonses.com',
      reply: textIn(recipient.diagnosticCode) || textIn(recipient.status) || textIn(bounce.bounceSubType),
      names,
      recipient: textIn(recipient.emailAddress),
    }
  })
}

function fromMailgun(data: Json): readonly Bounce[] {
  if (data.event !== 'failed') return []
  const status = objectIn(data['delivery-status']) ?? {}
  const headers = objectIn(objectIn(data.message)?.headers) ?? {}
  return [
    {
      hard: data.severity === 'permanent',
      server: textIn(status['mx-host']) || 'mailgun.org',
      reply: [textIn(status.code), textIn(status.message) || textIn(status.description)].join(' ').trim(),
      names: [textIn(objectIn(data.envelope)?.sender), textIn(headers['message-id'])],
      recipient: textIn(data.recipient),
    },
  ]
}

/** After these, Postmark stops sending to the address. */
const permanentAtPostmark = ['HardBounce', 'BadEmailAddress', 'ManuallyDeactivated']

function fromPostmark(json: Json): readonly Bounce[] {
  if (textIn(json.RecordType || 'Bounce') !== 'Bounce') return []
  const metadata = Object.values(objectIn(json.Metadata) ?? {}).map(textIn)
  return [
    {
      hard: permanentAtPostmark.includes(textIn(json.Type)),
      server: 'postmarkapp.com',
      reply: textIn(json.Details) || textIn(json.Description),
      names: [...metadata, textIn(json.MessageID)],
      recipient: textIn(json.Email),
    },
  ]
}

function objectIn(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textIn(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
