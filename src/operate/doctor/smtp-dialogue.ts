/** The start of an SMTP dialogue, up to STARTTLS, to see what the server offers. Sends no mail and no password. */
import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectTls, TLSSocket } from 'node:tls'
import { type Certificate, certificateOf } from './certificate.ts'

export interface MailServerAt {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (smtps). */
  readonly secure: boolean
}

export interface Dialogue {
  readonly greeting: string
  /** What EHLO offers, such as STARTTLS or AUTH; after TLS if there is TLS. */
  readonly offers: readonly string[]
  readonly certificate: Certificate | null
  /** The reply to MAIL FROM; null if it was not tried. */
  readonly senderReply: string | null
}

const ehloName = 'doctor.chiron.localhost'

/** @param sender tried with MAIL FROM, and taken back; null if the server wants a login first */
export async function talkTo(at: MailServerAt, sender: string | null, patienceMs: number): Promise<Dialogue> {
  const opened: Socket[] = []
  const timer = setTimeout(
    () => opened.at(-1)?.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })),
    patienceMs,
  )
  try {
    const servername = isIP(at.host) ? {} : { servername: at.host }
    let socket: Socket = at.secure
      ? connectTls({ host: at.host, port: at.port, rejectUnauthorized: false, ...servername })
      : connectPlain({ host: at.host, port: at.port })
    opened.push(socket)
    let line = new Replies(socket)
    const greeting = await line.next()
    if (!greeting.startsWith('220')) return { greeting, offers: [], certificate: null, senderReply: null }
    let offers = offersOf(await line.ask(`EHLO ${ehloName}`))
    if (!at.secure && offers.includes('STARTTLS') && (await line.ask('STARTTLS')).startsWith('220')) {
      line.stop()
      socket = connectTls({ socket, host: at.host, rejectUnauthorized: false, ...servername })
      opened.push(socket)
      line = new Replies(socket)
      offers = offersOf(await line.ask(`EHLO ${ehloName}`))
    }
    const senderReply = sender === null ? null : await line.ask(`MAIL FROM:<${sender}>`)
    const certificate = socket instanceof TLSSocket ? certificateOf(socket) : null
    socket.write('QUIT\r\n')
    return { greeting, offers, certificate, senderReply }
  } finally {
    clearTimeout(timer)
    for (const socket of opened) socket.destroy()
  }
}

/** Replies of the server, one at a time; a reply may have several lines. */
class Replies {
  readonly #socket: Socket
  #text = ''
  #error: Error | null = null
  #wake = () => {}
  readonly #onData = (chunk: Buffer) => {
    this.#text += chunk.toString('utf8')
    this.#wake()
  }

  constructor(socket: Socket) {
    this.#socket = socket
    const failed = (error: Error) => {
      this.#error ??= error
      this.#wake()
    }
    socket.on('data', this.#onData)
    socket.on('error', failed)
    socket.on('close', () =>
      failed(Object.assign(new Error('the connection was cut'), { code: 'ECONNRESET' })),
    )
  }

  stop(): void {
    this.#socket.off('data', this.#onData)
  }

  ask(command: string): Promise<string> {
    this.#socket.write(`${command}\r\n`)
    return this.next()
  }

  async next(): Promise<string> {
    for (;;) {
      const end = /^\d{3}(?: .*)?\r?\n/m.exec(this.#text)
      if (end) {
        const reply = this.#text.slice(0, end.index + end[0].length)
        this.#text = this.#text.slice(reply.length)
        return reply.trimEnd()
      }
      if (this.#error) throw this.#error
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

const offersOf = (ehlo: string) => ehlo.split(/\r?\n/).map((one) => one.slice(4).split(' ')[0]!.toUpperCase())
