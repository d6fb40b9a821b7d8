/**
 * The peer as a process of its own: settings from the environment (PORT, DATABASE_URL, SMTP_URL, BETTER_AUTH_SECRET),
 * one line when it listens, an end on SIGTERM.
 */
import { createServer } from 'node:http'
import { toNodeHandler } from 'better-auth/node'
import nodemailer from 'nodemailer'
import { createAuth, migrate, openDatabase } from './auth.ts'

const { PORT, DATABASE_URL, SMTP_URL } = process.env as Record<string, string>
const url = `http://127.0.0.1:${PORT}`

const smtp = new URL(SMTP_URL!)
const transport = nodemailer.createTransport({
  pool: true,
  maxConnections: 20,
  host: smtp.hostname,
  port: Number(smtp.port),
  ignoreTLS: true,
})

function sendCode(email: string, code: string): void {
  transport
    .sendMail({
      from: 'sign-in@school.example',
      to: email,
      subject: 'Your code',
      text: `Your code to sign in:\n\n${code}\n\nIt works for 10 minutes.\n`,
    })
    .catch((error: Error) => process.stderr.write(`a mail failed: ${error.message}\n`))
}

const database = openDatabase(DATABASE_URL!)
await migrate(database)
const auth = createAuth(database, url, sendCode)
const server = createServer(toNodeHandler(auth))
// A connection may rest while others have their turn, as at the others.
server.keepAliveTimeout = 72_000
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`listening at ${url}\n`))

process.once('SIGTERM', () => {
  server.close(async () => {
    transport.close()
    await ('end' in database ? database.end() : database.close())
  })
  server.closeAllConnections()
})
