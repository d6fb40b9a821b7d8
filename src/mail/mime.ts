/** A mail as it goes over the wire: multipart/alternative, quoted-printable where it is not plain ASCII. Pure. */
import { encodeWord, encodeWords, foldLines, isPlainText } from 'nodemailer/lib/mime-funcs'
import { encode, wrap } from 'nodemailer/lib/qp'
import type { Message } from './outbox.ts'

const boundary = '=_chiron-part'

export function mimeOf(message: Message, date: Date): string {
  const headers = {
    From: mailbox(message.from),
    To: message.to,
    Subject: encodeWords(message.subject, 'Q', 52, true),
    'Message-ID': message.messageId,
    Date: date.toUTCString().replace('GMT', '+0000'),
    'Auto-Submitted': 'auto-generated',
    'X-Auto-Response-Suppress': 'All',
    'Content-Language': message.language,
    'MIME-Version': '1.0',
    'Content-Type': `multipart/alternative; boundary="${boundary}"`,
  }
  return [
    ...Object.entries(headers).map(([name, value]) => foldLines(`${name}: ${value}`, 76)),
    '',
    ...part('text/plain', message.text),
    ...part('text/html', message.html),
    `--${boundary}--`,
    '',
  ].join('\r\n')
}

/** Of `Name <address>` or an address alone. */
export function addressOf(from: string): string {
  return /<([^<>]+)>$/.exec(from)?.[1] ?? from
}

function mailbox(from: string): string {
  const name = from.slice(0, from.lastIndexOf('<') + 1).replace(/^["\s]+|["\s<]+$/g, '')
  if (name === '') return addressOf(from)
  const quoted = /^[\w ]+$/.test(name) ? name : JSON.stringify(name)
  return `${isPlainText(name) ? quoted : encodeWord(name, 'Q', 52)} <${addressOf(from)}>`
}

/** ASCII and not too long: passes everywhere as it is. */
const plainLine = /^[\x20-\x7e]{0,990}$/

function part(type: string, content: string): string[] {
  const lines = content.split(/\r?\n/)
  const isPlain = lines.every((line) => plainLine.test(line))
  const text = lines.join('\r\n')
  const [encoding, body] = isPlain ? ['7bit', text] : ['quoted-printable', wrap(encode(text))]
  return [
    `--${boundary}`,
    `Content-Type: ${type}; charset=utf-8`,
    `Content-Transfer-Encoding: ${encoding}`,
    '',
    body,
  ]
}
