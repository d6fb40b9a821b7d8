/**
 * What a benchmark needs of the peer: building, filling and starting it, and the shape of its requests. It needs Go,
 * which fetches the module by itself.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))
const env = { GOTOOLCHAIN: 'auto', GOFLAGS: '-mod=mod' }

export const hasGo = () => spawnSync('go', ['version']).status === 0

interface PeerRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** A program below the system's temporary folder takes itself for one under development, and logs all SQL. */
const production = '--dev=false'

/** Gives the path of the program. */
export function buildPocketBase(into: string): string {
  const program = join(into, 'pocketbase')
  const built = spawnSync('go', ['build', '-o', program, '.'], {
    cwd: folder,
    env: { ...process.env, ...env },
  })
  if (built.status !== 0) throw new Error(`go build: ${built.stderr}`)
  return program
}

/** Makes accounts 0 … users − 1 and live tokens; gives the tokens' requests for the own record. */
export function fillPocketBase(
  program: string,
  options: { data: string; users: number; tokens: number; smtpUrl: string },
): { id: string; token: string }[] {
  const { data, users, tokens, smtpUrl } = options
  const file = join(data, '..', 'pocketbase-tokens')
  const args = ['fill', String(users), String(tokens), file, new URL(smtpUrl).port, '--dir', data, production]
  const filled = spawnSync(program, args)
  if (filled.status !== 0) throw new Error(`pocketbase fill: ${filled.stderr}${filled.stdout}`)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => ({ id: line.split(' ')[0]!, token: line.split(' ')[1]! }))
}

export const serveArgs = (data: string, port: number) => [
  'serve',
  '--http',
  `127.0.0.1:${port}`,
  '--dir',
  data,
  production,
]

const json = { 'content-type': 'application/json' }

export const ownRecord = (id: string, token: string): PeerRequest => ({
  method: 'GET',
  path: `/api/collections/users/records/${id}`,
  headers: { authorization: token },
})

export const requestOtp = (email: string): PeerRequest => ({
  method: 'POST',
  path: '/api/collections/users/request-otp',
  headers: json,
  body: JSON.stringify({ email }),
})

export const authWithOtp = (otpId: string, code: string): PeerRequest => ({
  method: 'POST',
  path: '/api/collections/users/auth-with-otp',
  headers: json,
  body: JSON.stringify({ otpId, password: code }),
})
