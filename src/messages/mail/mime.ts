/**
 * Writes a mail as MIME: multipart/alternative, quoted-printable where it is not plain ASCII. nodemailer's composer
 * would make a whole sign-in noticeably dearer (docs/decisions/0009-speed.md).
 */
import type { Message } from './message.ts'

const boundary = '=_chiron-part'

export function mimeOf(message: Message, date: Date, further: Record<string, string> = {}): string {
  const headers = {
    From: mailbox(message.from),
    To: message.to,
    Subject: encodedWords(message.subject),
    'Message-ID': message.messageId,
    Date: date.toUTCString().replace('GMT', '+0000'),
    'Auto-Submitted': 'auto-generated',
    'X-Auto-Response-Suppress': 'All',
    'Content-Language': message.language,
    ...further,
    'MIME-Version': '1.0',
    'Content-Type': `multipart/alternative; boundary="${boundary}"`,
  }
  return [
    // Prevents header injection.
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}`),
    '',
    ...part('text/plain', message.text),
    ...part('text/html', message.html),
    `--${boundary}--`,
    '',
  ].join('\r\n')
}

/** Accepts `Name <address>` or a bare address. */
export function addressOf(from: string): string {
  return /<([^<>]+)>$/.exec(from)?.[1] ?? from
}

function mailbox(from: string): string {
  const name = from.slice(0, from.lastIndexOf('<') + 1).replace(/^["\s]+|["\s<]+$/g, '')
  if (name === '') return addressOf(from)
  const quoted = /^[\w ]+$/.test(name) ? name : JSON.stringify(name)
  return `${isPlain(name) ? quoted : encodedWords(name)} <${addressOf(from)}>`
}

/** Printable ASCII within the line limit of SMTP needs no encoding. */
const isPlain = (line: string) => /^[\x20-\x7e]{0,990}$/.test(line)

/** RFC 2047: an encoded word has at most 75 characters, which eleven characters of up to four octets never exceed. */
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

/** RFC 2045 §6.7. Long lines are folded, but never within an `=XX` escape. */
function quotedPrintable(line: string): string {
  const octets = (text: string) => Buffer.from(text).toString('hex').toUpperCase().replace(/../g, '=$&')
  const encoded = line.replace(/[^\x20-\x3c\x3e-\x7e]+| $/g, octets)
  return encoded.match(/.{1,75}(?<!=.?)/g)?.join('=\r\n') ?? ''
}
