/** The peers, measured as Chiron is: reading the own record and a whole sign-in, on SQLite. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/support/postgres.ts'
import { type Bench, replySize, say } from './bench.ts'
import { wire } from './http.ts'
import type { Card } from './orders.ts'
import * as betterAuth from './peers/better-auth/peer.ts'
import * as pocketBase from './peers/pocketbase/peer.ts'
import { pin, type Server, serverCore, startServer } from './processes.ts'
import { type Figure, figureOf } from './results.ts'
import { inRounds } from './rounds.ts'

interface Sizes {
  readonly users: number
  readonly tokens: number
}

async function figures(
  bench: Bench,
  service: 'PocketBase' | 'Better Auth',
  server: Server,
  sizes: Sizes,
  own: readonly Card[],
  rounds: number,
): Promise<Figure[]> {
  const flow = service === 'PocketBase' ? 'pocketbase' : 'better-auth'
  const addresses = Array.from({ length: sizes.users }, (_, i) => ({ text: betterAuth.addressOf(i) }))
  await bench.load.keep({ deck: `${service} own`, cards: own })
  await bench.load.keep({ deck: `${service} people`, cards: addresses })
  const cases = [
    {
      id: 'me',
      name: 'the own record',
      traffic: { kind: 'requests', deck: `${service} own` } as const,
      bytes: await replySize(own[0]!, server.port),
    },
    {
      id: 'sign-in',
      name: 'whole sign-in',
      traffic: { kind: 'sign-ins', deck: `${service} people`, flow } as const,
      bytes: 250,
    },
  ]
  const found: Figure[] = []
  for (const { id, name, traffic, bytes } of cases) {
    say(`${service}, ${name}`)
    const firstRequests = traffic.kind === 'requests' ? own.length : 0
    const one = { name: `${service}, ${name}`, server, storePids: [], traffic, firstRequests }
    const [bare, slices] = await inRounds(bench.load, [await bench.bareOf(bytes), one], rounds)
    const about = { id, name, service, engine: 'sqlite', accounts: sizes.users, workers: 1 } as const
    found.push(figureOf(about, slices!, bare!))
  }
  return found
}

export async function measureBetterAuth(bench: Bench, sizes: Sizes, rounds: number): Promise<Figure[]> {
  await betterAuth.ensureInstalled()
  const databaseUrl = `sqlite:${join(bench.folder, 'better-auth.db')}`
  const cookiesFile = join(bench.folder, 'cookies.json')
  const filled = { databaseUrl, users: sizes.users, sessions: sizes.tokens, cookiesFile }
  const cookies = await betterAuth.seedBetterAuth(filled)
  const port = await freePort()
  const { pid, stop } = await betterAuth.startBetterAuth({ databaseUrl, smtpUrl: bench.load.smtpUrl, port })
  bench.onClose(stop)
  pin(pid, serverCore)
  const own = cookies.map((cookie) => ({
    text: wire(betterAuth.getSession(cookie)),
    expected: '"session":{',
  }))
  const found = await figures(bench, 'Better Auth', { pid, port, stop }, sizes, own, rounds)
  await stop()
  return found
}

/** Nothing where there is no Go. */
export async function measurePocketBase(bench: Bench, sizes: Sizes, rounds: number): Promise<Figure[]> {
  if (!pocketBase.hasGo()) return []
  const program = pocketBase.buildPocketBase(bench.folder)
  const data = join(bench.folder, 'pocketbase-data')
  mkdirSync(data)
  const tokens = pocketBase.fillPocketBase(program, { data, ...sizes, smtpUrl: bench.load.smtpUrl })
  const port = await freePort()
  const command = [program, ...pocketBase.serveArgs(data, port)]
  const server = await startServer({ command, port, path: '/api/health', cwd: bench.folder })
  const own = tokens.map(({ id, token }) => ({
    text: wire(pocketBase.ownRecord(id, token)),
    expected: `"id":"${id}"`,
  }))
  const found = await figures(bench, 'PocketBase', server, sizes, own, rounds)
  await server.stop()
  return found
}
