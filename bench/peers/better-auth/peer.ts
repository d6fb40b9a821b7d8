/**
 * What a benchmark needs of the peer: installing, starting and filling it, and the shape of its requests. Nothing here
 * imports the peer's packages, which may not be installed yet: whatever does runs as a process of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Signs cookies on machines that measure, and nowhere else. */
const secret = 'kV3yN8qZr5TfLw2XsHb7JdPm4GcUa9Ee'

export interface Peer {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

export interface PeerRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Installs exactly what package-lock.json names, once. */
export async function ensureInstalled(): Promise<void> {
  // npm writes this file last, so an install that was cut short is done again.
  if (existsSync(`${folder}node_modules/.package-lock.json`)) return
  await succeeded(spawn('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' }))
}

/** `databaseUrl` is `sqlite:/path/file.db` or `postgres://…`. */
export async function startBetterAuth(options: {
  databaseUrl: string
  smtpUrl: string
  port: number
}): Promise<Peer> {
  const child = run('server.ts', [], {
    PORT: String(options.port),
    DATABASE_URL: options.databaseUrl,
    SMTP_URL: options.smtpUrl,
  })
  const ended = once(child, 'exit')
  const listening = once(createInterface(child.stdout!), 'line')
  await Promise.race([listening, ended.then(([code]) => fail(`the peer ended with ${code}`))])
  return {
    url: `http://127.0.0.1:${options.port}`,
    pid: child.pid!,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/**
 * Makes accounts 0 … users − 1 (their addresses: `addressOf`) and live sessions, which belong to the accounts in turn.
 * Gives the sessions' cookies, and leaves them in `cookiesFile`.
 */
export async function seedBetterAuth(options: {
  databaseUrl: string
  users: number
  sessions: number
  cookiesFile: string
}): Promise<string[]> {
  const { databaseUrl, users, sessions, cookiesFile } = options
  await succeeded(
    run('seed.ts', [String(users), String(sessions), cookiesFile], { DATABASE_URL: databaseUrl }),
  )
  return JSON.parse(readFileSync(cookiesFile, 'utf8'))
}

export const addressOf = (user: number) => `user${user}@school.example`

const json = { 'content-type': 'application/json' }

export const sendOtp = (email: string): PeerRequest => ({
  method: 'POST',
  path: '/api/auth/email-otp/send-verification-otp',
  headers: json,
  body: JSON.stringify({ email, type: 'sign-in' }),
})

export const verifyOtp = (email: string, code: string): PeerRequest => ({
  method: 'POST',
  path: '/api/auth/sign-in/email-otp',
  headers: json,
  body: JSON.stringify({ email, otp: code }),
})

/** A dead or forged cookie is answered with 200 too, and the body `null`. */
export const getSession = (cookie: string): PeerRequest => ({
  method: 'GET',
  path: '/api/auth/get-session',
  headers: { cookie },
})

/** The code in a mail: six digits, leading zeros included, alone on a line. */
export function codeIn(mail: string): string {
  return /^(\d{6})\r?$/m.exec(mail)?.[1] ?? fail('no code in the mail')
}

/** The cookie that a sign-in set, as it is sent back. */
export function cookieIn(headers: Headers): string {
  const set = headers.getSetCookie().find((cookie) => cookie.startsWith('better-auth.session_token='))
  return set?.split(';')[0] ?? fail('no cookie in the reply')
}

function run(script: string, args: string[], env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [folder + script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, NODE_ENV: 'production', BETTER_AUTH_SECRET: secret, ...env },
  })
}

async function succeeded(child: ChildProcess): Promise<void> {
  const [code] = await once(child, 'exit')
  if (code !== 0) fail(`${child.spawnargs.join(' ')} ended with ${code}`)
}

function fail(reason: string): never {
  throw new Error(reason)
}
