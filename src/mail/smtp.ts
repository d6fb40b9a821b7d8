/**
 * Hands mails to a mail server, over a few kept connections. The dialogue, TLS and authentication are nodemailer's;
 * its composer and its pool are not used, which together cost six times what a mail like ours needs.
 */
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { isLoopbackHost } from '../lib/network.ts'
import { addressOf, mimeOf } from './mime.ts'
import type { Message, Transport } from './outbox.ts'

const connectionsMax = 20
const mailsPerConnection = 100
// Before the server does it in the midst of a mail.
const idleMs = 5_000

export function smtpTransport(url: string): Transport {
  const { protocol, hostname, port, username, password } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const secure = protocol === 'smtps:'
  const loopback = isLoopbackHost(host)
  const options = {
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // On this machine nobody listens in, and its certificate is rarely one that can be checked.
    requireTLS: !secure && !loopback,
    tls: { rejectUnauthorized: !loopback },
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
  }
  const auth =
    username === '' ? null : { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
  const idle = new Set<Line>()

  async function send(message: Message): Promise<void> {
    const [line = await openLine(options, auth)] = idle
    idle.delete(line)
    await line.send({ from: addressOf(message.from), to: [message.to] }, mimeOf(message, new Date()))
    if (line.sent < mailsPerConnection) line.rest(idle)
    else line.connection.quit()
  }

  return {
    concurrency: connectionsMax,
    keeps: false,
    send,
    isFinal(error) {
      const { code, responseCode } = error as { code?: string; responseCode?: number }
      const rejected = code === 'EENVELOPE' || code === 'EMESSAGE'
      return rejected && responseCode !== undefined && responseCode >= 500
    },
    async close() {
      for (const line of idle) line.connection.quit()
    },
  }
}

type Options = ConstructorParameters<typeof SMTPConnection>[0]
type Auth = Parameters<SMTPConnection['login']>[0]

/** A connection that is ready for mails. One that fails is closed by nodemailer, which says so. */
class Line {
  sent = 0
  readonly connection: SMTPConnection
  #fail: (error: Error) => void = () => {}

  constructor(options: Options) {
    this.connection = new SMTPConnection(options)
    this.connection.on('error', (error) => this.#fail(error))
    this.connection.on('end', () => this.#fail(new Error('the mail server closed the connection')))
  }

  /** One step of the dialogue: done, or failed by its own answer or by the connection's end. */
  step<T>(act: (done: (error?: Error | null, result?: T) => void) => void): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#fail = reject
      act((error, result) => (error ? reject(error) : resolve(result)))
    })
  }

  async send(envelope: { from: string; to: string[] }, mail: string): Promise<void> {
    try {
      await this.step((done) => this.connection.send(envelope, mail, done))
      this.sent++
    } catch (error) {
      this.connection.close()
      throw error
    }
  }

  /** Waits among the idle for the next mail, for a while. */
  rest(idle: Set<Line>): void {
    const leave = () => {
      clearTimeout(timer)
      idle.delete(this)
    }
    const timer = setTimeout(() => {
      leave()
      this.connection.quit()
    }, idleMs)
    timer.unref()
    this.#fail = leave
    idle.add(this)
  }
}

async function openLine(options: Options, auth: Auth | null): Promise<Line> {
  const line = new Line(options)
  try {
    await line.step((done) => line.connection.connect(done))
    if (auth) await line.step((done) => line.connection.login(auth, done))
    return line
  } catch (error) {
    line.connection.close()
    throw error
  }
}
