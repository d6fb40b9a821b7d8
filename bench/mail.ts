/** A mail server that keeps only the code of each mail. It speaks real SMTP over a socket, at little cost. */
import { createServer, type Socket } from 'node:net'

const endOfMail = '\r\n.\r\n'
/** Alone on a line of the plain part, which comes first. */
const codeLine = /^ *(\d{6}|\d{8})\r?$/m
/** PocketBase hashes codes with bcrypt, which takes long on a busy machine. */
const mailWithinMs = 60_000

export interface MailServer {
  readonly url: string
  /** The code in the next mail to this address. */
  codeFor(address: string): Promise<string>
  close(): void
}

export async function startMail(): Promise<MailServer> {
  const waiting = new Map<string, (code: string) => void>()
  const arrived = (recipient: string, mail: string) => {
    waiting.get(recipient)?.(codeLine.exec(mail)?.[1] ?? '')
    waiting.delete(recipient)
  }
  const server = createServer((socket) => receive(socket, arrived))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `smtp://127.0.0.1:${port}`,
    codeFor: (address) =>
      new Promise((resolve, reject) => {
        const late = () => reject(new Error(`no mail to ${address} within ${mailWithinMs} ms`))
        const timeout = setTimeout(late, mailWithinMs).unref()
        waiting.set(address, (code) => {
          clearTimeout(timeout)
          resolve(code)
        })
      }),
    close: () => server.close(),
  }
}

function receive(socket: Socket, arrived: (recipient: string, mail: string) => void): void {
  let [text, recipient, inMail] = ['', '', false]
  const replyTo = (line: string): string => {
    const verb = line.slice(0, 4).toUpperCase()
    if (verb === 'EHLO') return '250-bench\r\n250-PIPELINING\r\n250 8BITMIME\r\n'
    if (verb === 'RCPT') recipient = /<([^>]*)>/.exec(line)?.[1] ?? ''
    inMail = verb === 'DATA'
    if (inMail) return '354 go on\r\n'
    return verb === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n'
  }
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.write('220 bench\r\n')
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    let replies = ''
    for (;;) {
      const mark = inMail ? endOfMail : '\r\n'
      const end = text.indexOf(mark)
      if (end < 0) break
      const piece = text.slice(0, end + 2)
      text = text.slice(end + mark.length)
      if (inMail) {
        inMail = false
        replies += '250 taken\r\n'
        arrived(recipient, piece)
      } else replies += replyTo(piece)
    }
    if (replies.endsWith('221 bye\r\n')) socket.end(replies)
    else if (replies !== '') socket.write(replies)
  })
}
