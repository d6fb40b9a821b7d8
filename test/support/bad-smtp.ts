/** A mail server with bad manners, which can change while it runs. */
import { randomBytes } from 'node:crypto'
import { createServer, type Socket } from 'node:net'
import { freePort } from './postgres.ts'

export const badManners = [
  'refuses connections',
  'accepts and says nothing',
  'greets with garbage',
  'greets with 421',
  'greets after minutes',
  'refuses STARTTLS',
  'answers 451 to every recipient',
  'drops the connection in the middle of a mail',
  'drops the connection after the mail',
  'answers 250 to DATA and does not know the rest',
  'says nothing after the mail',
] as const
export type BadManner = (typeof badManners)[number]
/** The mail is taken in the end, or the server says so. */
export const oddManners = ['is slow', 'answers 250 to DATA', 'says 250 and drops the mail'] as const
export type OddManner = (typeof oddManners)[number]
type Manner = 'good' | BadManner | OddManner

const slowMs = 200

export interface BadMailServer {
  readonly port: number
  readonly manner: Manner
  /** From now on. Connections are cut, so that nobody goes on with one from before. */
  change(manner: Manner): void
  /** To whom mails were taken, in order. */
  readonly taken: string[]
  /** Mails that were acknowledged and thrown away. */
  readonly thrownAway: string[]
  /** Whether a client named a sender or a recipient, which it must not without TLS. */
  readonly heard: string[]
  close(): Promise<void>
}

export async function startBadMailServer(): Promise<BadMailServer> {
  const port = await freePort()
  const sockets = new Set<Socket>()
  const timers = new Set<NodeJS.Timeout>()
  let manner: Manner = 'good'
  const result: BadMailServer = {
    port,
    get manner() {
      return manner
    },
    change(next) {
      manner = next
      for (const socket of sockets) socket.destroy()
    },
    taken: [],
    thrownAway: [],
    heard: [],
    close: () =>
      new Promise((resolve) => {
        for (const timer of timers) clearTimeout(timer)
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    converse(socket, result, (work, ms) => timers.add(setTimeout(work, ms)))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return result
}

const greetings: Partial<Record<Manner, string | null>> = {
  'accepts and says nothing': null,
  'greets after minutes': null,
  'greets with garbage': `HTTP/1.1 400 Bad Request\r\n\r\n${randomBytes(200).toString('latin1')}\r\n`,
  'greets with 421': '421 too busy\r\n',
}

function converse(
  socket: Socket,
  server: BadMailServer,
  later: (work: () => void, ms: number) => void,
): void {
  const has = (manner: Manner) => server.manner === manner
  if (has('refuses connections')) return void socket.destroy()
  const say = (text: string) => {
    if (has('is slow')) later(() => socket.write(`${text}\r\n`), slowMs)
    else socket.write(`${text}\r\n`)
  }
  const greeting = greetings[server.manner]
  if (greeting === undefined) say('220 mail.example ESMTP')
  else if (greeting !== null) socket.write(greeting, 'latin1')
  if (has('greets after minutes')) later(() => socket.write('220 at last\r\n'), 120_000)

  let [text, to, inMail] = ['', '', false]
  const answers: Record<string, () => void> = {
    EHLO: () => say('250-mail.example\r\n250 8BITMIME'),
    HELO: () => say('250 mail.example'),
    STARTTLS: () => say('502 not here'),
    MAIL: () => say('250 yes'),
    RCPT: () => say(has('answers 451 to every recipient') ? '451 not now' : '250 yes'),
    DATA() {
      inMail = !has('answers 250 to DATA and does not know the rest')
      say(server.manner.startsWith('answers 250 to DATA') ? '250 yes' : '354 go on')
    },
    RSET: () => say('250 yes'),
    QUIT() {
      say('221 bye')
      socket.end()
    },
  }
  const mailEnds = () => {
    inMail = false
    if (has('says nothing after the mail')) return
    if (has('drops the connection after the mail')) return void socket.destroy()
    const lies = has('says 250 and drops the mail')
    ;(lies ? server.thrownAway : server.taken).push(to)
    say('250 taken')
    if (lies) socket.end()
  }
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    for (;;) {
      if (inMail && has('drops the connection in the middle of a mail')) return void socket.destroy()
      const end = inMail ? text.indexOf('\r\n.\r\n') : text.indexOf('\r\n')
      if (end === -1) return
      const line = text.slice(0, end)
      text = text.slice(end + (inMail ? 5 : 2))
      if (inMail) {
        mailEnds()
        continue
      }
      const command = line.slice(0, 8).split(/[ :]/)[0]!.toUpperCase()
      if (command === 'MAIL' || command === 'RCPT') server.heard.push(line)
      if (command === 'RCPT') to = /<(.*)>/.exec(line)?.[1] ?? ''
      const answer = answers[command]
      if (answer) answer()
      else say('500 what?')
    }
  })
}
