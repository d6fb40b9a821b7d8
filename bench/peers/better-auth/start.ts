/** Better Auth: installed, filled and started. Its packages may not be installed yet, so they are not imported here. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../test/support/postgres.ts'
import { json, wire } from '../../http.ts'
import type { SignInFlow } from '../../load.ts'
import { run, startServer } from '../../processes.ts'
import type { Peer, PeerSizes } from '../peer.ts'

const sources = fileURLToPath(new URL('.', import.meta.url))

const post = (path: string, body: object) =>
  wire({ method: 'POST', path: `/api/auth/${path}`, headers: json, body: JSON.stringify(body) })
const ok = (reply: string) => reply.startsWith('HTTP/1.1 200 ')

const flow: SignInFlow = {
  send: (email) => post('email-otp/send-verification-otp', { email, type: 'sign-in' }),
  sent: (reply) => (ok(reply) && reply.includes('"success":true') ? '' : null),
  validate: (email, code) => post('sign-in/email-otp', { email, otp: code }),
  isSignedIn: (reply) => ok(reply) && reply.includes('"token":"'),
}

/** The reply to a dead cookie is 200 with the body `null`. */
const getSession = (cookie: string) => ({
  text: wire({ method: 'GET', path: '/api/auth/get-session', headers: { cookie } }),
  isRight: (reply: string) => ok(reply) && reply.includes('"session":{'),
})

export async function startBetterAuth({ folder, smtpUrl, accounts, tokens }: PeerSizes): Promise<Peer> {
  // npm writes this file last, so an interrupted installation is repeated.
  if (!existsSync(join(sources, 'node_modules/.package-lock.json')))
    await run(['npm', 'ci', '--no-audit', '--no-fund'], { cwd: sources })
  const port = await freePort()
  const cookies = join(folder, 'better-auth-cookies.json')
  const env = {
    NODE_ENV: 'production',
    BETTER_AUTH_SECRET: 'kV3yN8qZr5TfLw2XsHb7JdPm4GcUa9Ee',
    DATABASE_FILE: join(folder, 'better-auth.db'),
    SMTP_URL: smtpUrl,
    PORT: String(port),
  }
  const program = [process.execPath, join(sources, 'server.ts')]
  await run([...program, 'fill', String(accounts), String(tokens), cookies], { cwd: folder, env })
  const server = await startServer({ command: program, port, path: '/api/auth/ok', cwd: folder, env })
  const own = (JSON.parse(readFileSync(cookies, 'utf8')) as string[]).map(getSession)
  return { name: 'Better Auth', server, own, flow }
}
