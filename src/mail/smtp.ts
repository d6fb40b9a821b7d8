/**
 * Sends mails through a pool of connections (nodemailer). Everything about the server (TLS, login, timeouts) is in
 * `optionsOf`.
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
    async close() {
      pool.close()
    },
  }
}

/** Connects and logs in as the service does, and sends nothing. */
export async function checkLogin(url: string): Promise<void> {
  const transport = createTransport({ ...optionsOf(url), pool: false })
  try {
    await transport.verify()
  } finally {
    transport.close()
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
    // Close idle connections before the server does, possibly in the middle of a mail.
    idleTimeout: 5_000,
    // One retry if the server closed the connection; the outbox makes any further tries.
    maxRequeues: 1,
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // Connections to this machine need no TLS, and its certificate can rarely be verified.
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
