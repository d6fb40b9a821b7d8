/**
 * A mail server that throws mails away but for the code in each, which it hands to whoever waits for that address.
 * It lives in the load process and so must cost little; it speaks real SMTP over a real socket all the same.
 */
import { createServer, type Server, type Socket } from 'node:net'

const endOfMail = '\r\n.\r\n'
/** Alone on its line, in the plain part, which comes first. */
const codeLine = /^ *(\d{6}|\d{8})\r?$/m

export class SmtpSink {
  readonly #server: Server
  readonly #waiting = new Map<string, (code: string) => void>()

  private constructor() {
    this.#server = createServer((socket) => this.#serve(socket))
  }

  static async listen(): Promise<SmtpSink> {
    const sink = new SmtpSink()
    await new Promise<void>((resolve) => sink.#server.listen(0, '127.0.0.1', resolve))
    return sink
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  expect(address: string, arrived: (code: string) => void): void {
    this.#waiting.set(address, arrived)
  }

  forget(address: string): void {
    this.#waiting.delete(address)
  }

  #serve(socket: Socket): void {
    let text = ''
    let recipient = ''
    let inMail = false
    socket.setNoDelay(true)
    socket.on('error', () => {})
    const command = (line: string): string => {
      const verb = line.slice(0, 4).toUpperCase()
      if (verb === 'EHLO') return '250-sink\r\n250-PIPELINING\r\n250 8BITMIME\r\n'
      if (verb === 'RCPT') recipient = /<([^>]*)>/.exec(line)?.[1] ?? ''
      if (verb === 'DATA') {
        inMail = true
        return '354 go on\r\n'
      }
      if (verb === 'QUIT') return '221 bye\r\n'
      const known = ['HELO', 'MAIL', 'RCPT', 'RSET', 'NOOP'].includes(verb)
      return known ? '250 ok\r\n' : '502 not here\r\n'
    }
    socket.write('220 sink\r\n')
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      let replies = ''
      for (;;) {
        const mark = inMail ? endOfMail : '\r\n'
        const end = text.indexOf(mark)
        if (end < 0) break
        const piece = text.slice(0, end + 2)
        text = text.slice(end + mark.length)
        if (!inMail) replies += command(piece)
        else {
          inMail = false
          replies += '250 taken\r\n'
          this.#arrived(recipient, piece)
        }
      }
      if (replies.endsWith('221 bye\r\n')) socket.end(replies)
      else if (replies !== '') socket.write(replies)
    })
  }

  /** Mail that nobody waits for is a thing of the past: a sign-in that was given up. */
  #arrived(recipient: string, mail: string): void {
    const waiting = this.#waiting.get(recipient)
    if (!waiting) return
    this.#waiting.delete(recipient)
    waiting(codeLine.exec(mail)?.[1] ?? '')
  }
}
