/** A real SMTP server on a socket, which keeps what it receives. */
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { patienceMs } from './wait.ts'

export interface Received {
  readonly to: string
  readonly raw: string
  readonly mail: Email
  /** The digits in the plain text part, if any. */
  readonly code: number | null
}

export interface MailServer {
  readonly url: string
  readonly received: Received[]
  /** Waits for the nth mail (from 1) to this address. */
  mailTo(address: string, nth?: number): Promise<Received>
  countTo(address: string): number
  /** Waits for the mail with this reference in its subject, `after` that many to the address: a reference may come again. */
  mailWith(address: string, reference: string, after?: number): Promise<Received>
  /** How many clients are connected. */
  connections(): number
  close(): Promise<void>
}

export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    // For clients that stay connected, as a service does that is stopped later.
    closeTimeout: 100,
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk) => chunks.push(chunk))
      stream.on('end', async () => {
        const raw = Buffer.concat(chunks).toString('utf8')
        const mail = await PostalMime.parse(raw)
        const code = /(?<!\d)(\d{6}|\d{8})(?!\d)/.exec(mail.text ?? '')?.[1]
        for (const { address } of session.envelope.rcptTo) {
          received.push({ to: address, raw, mail, code: code === undefined ? null : Number(code) })
        }
        for (const wake of waiting) wake()
        callback()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as { port: number }

  const to = (address: string) => received.filter((mail) => mail.to.toLowerCase() === address.toLowerCase())
  const waitFor = (what: string, find: () => Received | undefined) =>
    new Promise<Received>((resolve, reject) => {
      const look = () => {
        const found = find()
        if (!found) return
        clearTimeout(timer)
        waiting.delete(look)
        resolve(found)
      }
      const timer = setTimeout(() => {
        waiting.delete(look)
        reject(new Error(`no mail ${what} arrived`))
      }, patienceMs)
      waiting.add(look)
      look()
    })

  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    mailTo: (address, nth = 1) => waitFor(`${nth} to ${address}`, () => to(address)[nth - 1]),
    countTo: (address) => to(address).length,
    mailWith: (address, reference, after = 0) =>
      waitFor(`with ${reference} to ${address}`, () =>
        to(address)
          .slice(after)
          .find(({ mail }) => mail.subject?.includes(reference)),
      ),
    connections: () => server.connections.size,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
