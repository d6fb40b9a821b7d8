/**
 * A mail as it goes over the wire: multipart/alternative, quoted-printable where it is not plain ASCII. Pure.
 *
 * By hand: with nodemailer's composer a whole sign-in takes 1.4 times the processor time (a copy of this code beside it:
 * 1.07; docs/decisions/0011-mail-and-store-by-plain-means.md).
 */
import type { Message } from './outbox.ts'

const boundary = '=_chiron-part'

export function mimeOf(message: Message, date: Date): string {
  const headers = {
    From: mailbox(message.from),
    To: message.to,
    Subject: encodedWords(message.subject),
    'Message-ID': message.messageId,
    Date: date.toUTCString().replace('GMT', '+0000'),
    'Auto-Submitted': 'auto-generated',
    'X-Auto-Response-Suppress': 'All',
    'Content-Language': message.language,
    'MIME-Version': '1.0',
    'Content-Type': `multipart/alternative; boundary="${boundary}"`,
  }
  return [
    // No value ever begins a header of its own.
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}`),
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
  return `${isPlain(name) ? quoted : encodedWords(name)} <${addressOf(from)}>`
}

/** ASCII, and not too long for a line: passes everywhere as it is. */
const isPlain = (line: string) => /^[\x20-\x7e]{0,990}$/.test(line)

/** RFC 2047. A word has at most 75 characters, which eleven of at most four octets never exceed. */
function encodedWords(text: string): string {
  if (isPlain(text)) return text
  const word = (piece: string) => `=?utf-8?B?${Buffer.from(piece).toString('base64')}?=`
  return text
    .match(/.{1,11}/gsu)!
    .map(word)
    .join(' ')
}

function part(type: string, content: string): string[] {
  const lines = content.split(/\r?\n/)
  const [encoding, encoded] = lines.every(isPlain)
    ? ['7bit', lines]
    : ['quoted-printable', lines.map(quotedPrintable)]
  return [
    `--${boundary}`,
    `Content-Type: ${type}; charset=utf-8`,
    `Content-Transfer-Encoding: ${encoding}`,
    '',
    ...encoded,
  ]
}

/** RFC 2045, section 6.7. Lines that become too long are continued, but never within the three characters of an octet. */
function quotedPrintable(line: string): string {
  const octets = (text: string) => Buffer.from(text).toString('hex').toUpperCase().replace(/../g, '=$&')
  const encoded = line.replace(/[^\x20-\x3c\x3e-\x7e]+| $/g, octets)
  return encoded.match(/.{1,75}(?<!=.?)/g)?.join('=\r\n') ?? ''
}
