/** A mail server for rehearsals: it keeps the code of each mail and nothing else. */
import { createServer, type Server, type Socket } from 'node:net'

/** Alone on its line in the plain part, which comes first. */
const codeLine = /^ *(\d{6}|\d{8})\r?$/m
const endOfMail = '\r\n.\r\n'

export class CodeSink {
  readonly #server: Server
  readonly #waiting = new Map<string, (code: number) => void>()

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket))
  }

  listen(): Promise<number> {
    return new Promise((resolve) =>
      this.#server.listen(0, '127.0.0.1', () => resolve((this.#server.address() as { port: number }).port)),
    )
  }

  close(): void {
    this.#server.close()
  }

  codeFor(address: string): Promise<number> {
    return new Promise((resolve) => this.#waiting.set(address, resolve))
  }

  #serve(socket: Socket): void {
    let text = ''
    let recipient = ''
    let inMail = false
    socket.on('error', () => {})
    socket.write('220 rehearsal\r\n')
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (;;) {
        const mark = inMail ? endOfMail : '\r\n'
        const end = text.indexOf(mark)
        if (end < 0) return
        const piece = text.slice(0, end + 2)
        text = text.slice(end + mark.length)
        if (inMail) this.#waiting.get(recipient)?.(Number(codeLine.exec(piece)?.[1]))
        else recipient = /^RCPT TO:<([^>]*)>/i.exec(piece)?.[1] ?? recipient
        inMail = !inMail && /^DATA/i.test(piece)
        socket.write(inMail ? '354 go on\r\n' : /^QUIT/i.test(piece) ? '221 bye\r\n' : '250 ok\r\n')
      }
    })
  }
}
