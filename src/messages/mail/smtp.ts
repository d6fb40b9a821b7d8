/**
 * Sends mails through a pool of connections (nodemailer). Everything about the server (TLS, login, timeouts) is in
 * `optionsOf`; tokens instead of passwords come from `oauth.ts`.
 */
import { createTransport, type Transporter } from 'nodemailer'
import { type Clock, systemClock } from '../../platform/lib/clock.ts'
import { errorFields } from '../../platform/lib/error-fields.ts'
import { isLoopbackHost } from '../../platform/lib/network.ts'
import type { Message } from './message.ts'
import { addressOf, mimeOf } from './mime.ts'
import { type OAuthSettings, TokenSource } from './oauth.ts'
import type { Transport } from './outbox.ts'

const connectionsMax = 20

export interface SmtpSettings {
  readonly url: string
  /** The EHLO name; null for the name of this machine. */
  readonly name?: string | null
  readonly oauth?: OAuthSettings | null
  /** The user for a token login if the URL names none. */
  readonly from?: string
  readonly dkim?: DkimSettings | null
}

export interface DkimSettings {
  readonly domain: string
  readonly selector: string
  /** PEM. */
  readonly privateKey: string
}

export function smtpTransport(settings: SmtpSettings, clock: Clock = systemClock): Transport {
  const options = optionsOf(settings)
  const pool = createTransport(options)
  const tokens = provideTokens(pool, settings, clock)
  const providerHeaders = options.host.endsWith('.postmarkapp.com') ? postmarkHeaders : () => ({})

  async function hand(message: Message): Promise<string> {
    const { sender, id } = message.envelope ?? {}
    const { response } = await pool.sendMail({
      envelope: { from: sender ?? addressOf(message.from), to: message.to },
      raw: mimeOf(message, new Date(), providerHeaders(message)),
      // A bounce then returns only the headers, not the code.
      ...(id !== undefined && { dsn: { id, return: 'headers', notify: ['failure', 'delay'] } }),
    })
    return response
  }

  return {
    server: `${options.host}:${options.port}`,
    concurrency: connectionsMax,
    keeps: false,
    async send(message) {
      const started = clock.elapsed()
      try {
        return await hand(message)
      } catch (error) {
        const { responseCode } = errorFields(error)
        if (responseCode !== 535 || !tokens?.refused(started)) throw error
        return hand(message)
      }
    },
    isFinal(error) {
      const { code, responseCode } = errorFields(error)
      const rejected = code === 'EENVELOPE' || code === 'EMESSAGE'
      return rejected && responseCode !== undefined && responseCode >= 500
    },
    async close() {
      pool.close()
    },
  }
}

/** Connects and logs in as the service does, and sends nothing. */
export async function checkLogin(settings: SmtpSettings): Promise<void> {
  const transport = createTransport({ ...optionsOf(settings), pool: false })
  provideTokens(transport, settings, systemClock)
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

/** Lets nodemailer ask for a token whenever it logs in. */
function provideTokens(
  transport: Pick<Transporter, 'set'>,
  { oauth }: SmtpSettings,
  clock: Clock,
): TokenSource | null {
  if (!oauth) return null
  const tokens = new TokenSource(oauth, clock)
  transport.set('oauth2_provision_cb', (_user, renew, done) => {
    if (renew) tokens.refused(clock.elapsed())
    tokens.get().then(
      ({ text, expiresAt }) => done(null, text, expiresAt),
      (error) => done(error),
    )
  })
  return tokens
}

/** Postmark gives mails a Message-ID of its own, and returns this with a bounce. */
function postmarkHeaders({ envelope }: Message): Record<string, string> {
  return envelope ? { 'X-PM-Metadata-mail': envelope.id } : {}
}

function optionsOf({ url, name, oauth, from = '', dkim }: SmtpSettings) {
  const { protocol, hostname, port, username, password } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const secure = protocol === 'smtps:'
  const loopback = isLoopbackHost(host)
  const user = decodeURIComponent(username)
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
    ...(name && { name }),
    ...(oauth
      ? { auth: { type: 'OAuth2' as const, user: user || addressOf(from) } }
      : user !== '' && { auth: { user, pass: decodeURIComponent(password) } }),
    ...(dkim && {
      dkim: { domainName: dkim.domain, keySelector: dkim.selector, privateKey: dkim.privateKey },
    }),
  } as const
}
