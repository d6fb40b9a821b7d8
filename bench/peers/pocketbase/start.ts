/** PocketBase: built with Go, filled by a command of main.go, and started. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../test/support/postgres.ts'
import { json, wire } from '../../http.ts'
import type { SignInFlow } from '../../load.ts'
import { run, startServer } from '../../processes.ts'
import type { Peer, PeerSizes } from '../peer.ts'

const sources = fileURLToPath(new URL('.', import.meta.url))
/** A program in the temporary folder takes itself for one under development, and logs all SQL. */
const production = '--dev=false'

const post = (action: string, body: object) =>
  wire({
    method: 'POST',
    path: `/api/collections/users/${action}`,
    headers: json,
    body: JSON.stringify(body),
  })
const ok = (reply: string) => reply.startsWith('HTTP/1.1 200 ')

const flow: SignInFlow = {
  send: (email) => post('request-otp', { email }),
  sent: (reply) => (ok(reply) && /"otpId":"([^"]+)"/.exec(reply)?.[1]) || null,
  validate: (_email, code, otpId) => post('auth-with-otp', { otpId, password: code }),
  isSignedIn: (reply) => ok(reply) && reply.includes('"token":"'),
}

export async function startPocketBase({ folder, smtpUrl, accounts, tokens }: PeerSizes): Promise<Peer> {
  const [program, data, file] = ['pocketbase', 'data', 'tokens'].map((name) => join(folder, `pb-${name}`))
  const env = { GOTOOLCHAIN: 'auto', GOFLAGS: '-mod=mod' }
  await run(['go', 'build', '-o', program!, '.'], { cwd: sources, env })
  mkdirSync(data!)
  const counts = [String(accounts), String(tokens), file!, new URL(smtpUrl).port]
  await run([program!, 'fill', ...counts, '--dir', data!, production], { cwd: folder })
  const port = await freePort()
  const command = [program!, 'serve', '--http', `127.0.0.1:${port}`, '--dir', data!, production]
  const server = await startServer({ command, port, path: '/api/health', cwd: folder })
  const own = readFileSync(file!, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [id, token] = line.split(' ') as [string, string]
      const path = `/api/collections/users/records/${id}`
      const text = wire({ method: 'GET', path, headers: { authorization: token } })
      return { text, isRight: (reply: string) => ok(reply) && reply.includes(`"id":"${id}"`) }
    })
  return { name: 'PocketBase', server, own, flow }
}
