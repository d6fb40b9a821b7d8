/**
 * Hands mails to a mail server through nodemailer's pool of connections. What a server wants to be told (TLS, who we
 * are, how we sign in) is an option of the transport, in `optionsOf` and nowhere else.
 */
import { createTransport } from 'nodemailer'
import { isLoopbackHost } from '../lib/network.ts'
import { addressOf, mimeOf } from './mime.ts'
import type { Transport } from './outbox.ts'

const connectionsMax = 20

export function smtpTransport(url: string): Transport {
  const pool = createTransport(optionsOf(url))
  return {
    concurrency: connectionsMax,
    keeps: false,
    async send(message) {
      const envelope = { from: addressOf(message.from), to: message.to }
      await pool.sendMail({ envelope, raw: mimeOf(message, new Date()) })
    },
    isFinal(error) {
      const { code, responseCode } = error as { code?: string; responseCode?: number }
      const rejected = code === 'EENVELOPE' || code === 'EMESSAGE'
      return rejected && responseCode !== undefined && responseCode >= 500
    },
    // Mails under way are finished first.
    async close() {
      pool.close()
    },
  }
}

function optionsOf(url: string) {
  const { protocol, hostname, port, username, password } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const secure = protocol === 'smtps:'
  const loopback = isLoopbackHost(host)
  return {
    pool: true,
    maxConnections: connectionsMax,
    maxMessages: 100,
    // Before the server does it in the midst of a mail.
    idleTimeout: 5_000,
    // Once, over another connection, if the server closed the first; further tries are the outbox's.
    maxRequeues: 1,
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // On this machine nobody listens in, and its certificate is rarely one that can be checked.
    requireTLS: !secure && !loopback,
    tls: { rejectUnauthorized: !loopback },
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
  } as const
}
