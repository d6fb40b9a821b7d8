/** Hands mails to a mail server, over a few kept connections. */
import { createTransport } from 'nodemailer'
import { isLoopbackHost } from '../lib/network.ts'
import type { Message, Transport } from './outbox.ts'

const connectionsMax = 20

export function smtpTransport(url: string): Transport {
  const { protocol, hostname, port, username, password } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const secure = protocol === 'smtps:'
  const loopback = isLoopbackHost(host)
  const transporter = createTransport({
    pool: true,
    maxConnections: connectionsMax,
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // On this machine nobody listens in, and its certificate is rarely one that can be checked.
    requireTLS: !secure && !loopback,
    tls: { rejectUnauthorized: !loopback },
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    concurrency: connectionsMax,
    keeps: false,
    async send(message: Message) {
      await transporter.sendMail({
        from: message.from,
        to: { name: '', address: message.to },
        subject: message.subject,
        text: message.text,
        html: message.html,
        messageId: message.messageId,
        textEncoding: 'quoted-printable',
        headers: {
          'Auto-Submitted': 'auto-generated',
          'X-Auto-Response-Suppress': 'All',
          'Content-Language': message.language,
        },
      })
    },
    isFinal(error) {
      const { code, responseCode } = error as { code?: string; responseCode?: number }
      const rejected = code === 'EENVELOPE' || code === 'EMESSAGE'
      return rejected && responseCode !== undefined && responseCode >= 500
    },
    async close() {
      transporter.close()
    },
  }
}
