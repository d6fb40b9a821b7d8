/**
 * Does the peer work? Fills it, starts it, signs in with a mailed code and reads the session, over HTTP.
 *
 *   node bench/peers/better-auth/try.ts [sqlite | postgres]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startPostgres } from '../../../test/support/postgres.ts'
import { startMailServer } from '../../../test/support/smtp.ts'
import {
  addressOf,
  codeIn,
  cookieIn,
  ensureInstalled,
  getSession,
  type PeerRequest,
  seedBetterAuth,
  sendOtp,
  startBetterAuth,
  verifyOtp,
} from './peer.ts'

const folder = mkdtempSync(join(tmpdir(), 'chiron-better-auth-'))
const postgres = process.argv[2] === 'postgres' ? await startPostgres() : undefined
const databaseUrl = postgres?.url('postgres') ?? `sqlite:${join(folder, 'peer.db')}`
const mail = await startMailServer()

async function ask(url: string, { path, headers, ...request }: PeerRequest): Promise<Response> {
  // `fetch` says that it is one (Sec-Fetch-Mode), and from those the peer wants an origin.
  const reply = await fetch(url + path, { ...request, headers: { ...headers, origin: url } })
  process.stdout.write(`${request.method} ${path}\n  ${reply.status} ${await reply.clone().text()}\n`)
  if (!reply.ok) throw new Error(`answered ${reply.status}`)
  return reply
}

async function holds(what: string, reply: Response, email: string): Promise<void> {
  const body = (await reply.json()) as { user: { email: string } } | null
  if (body?.user.email !== email) throw new Error(`${what}: not a session of ${email}`)
}

try {
  await ensureInstalled()
  const seeded = { users: 1000, sessions: 100, cookiesFile: join(folder, 'cookies.json') }
  const cookies = await seedBetterAuth({ databaseUrl, ...seeded })
  const peer = await startBetterAuth({ databaseUrl, smtpUrl: mail.url, port: await freePort() })
  try {
    for (const email of [addressOf(500), 'somebody.new@school.example']) {
      await ask(peer.url, sendOtp(email))
      const code = codeIn((await mail.mailTo(email)).mail.text!)
      const signedIn = await ask(peer.url, verifyOtp(email, code))
      await holds('after sign-in', await ask(peer.url, getSession(cookieIn(signedIn.headers))), email)
    }
    await holds('a filled-in session', await ask(peer.url, getSession(cookies[7]!)), addressOf(7))
  } finally {
    await peer.stop()
  }
} finally {
  await mail.close()
  await postgres?.remove()
  rmSync(folder, { recursive: true, force: true })
}
