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

interface Peer {
  readonly service: 'PocketBase' | 'Better Auth'
  readonly server: Server
  /** Requests for the own record, one for each session. */
  readonly own: readonly Card[]
  readonly flow: 'pocketbase' | 'better-auth'
}

/** All that can run here take turns with one bare server. PocketBase is left out where there is no Go. */
export async function measurePeers(bench: Bench, sizes: Sizes, rounds: number): Promise<Figure[]> {
  const peers = [await startBetterAuth(bench, sizes)]
  if (pocketBase.hasGo()) peers.unshift(await startPocketBase(bench, sizes))
  const people = Array.from({ length: sizes.users }, (_, i) => ({ text: betterAuth.addressOf(i) }))
  for (const { service, own } of peers) {
    await bench.load.keep({ deck: `${service} own`, cards: own })
    await bench.load.keep({ deck: `${service} people`, cards: people })
  }
  const cases = [
    {
      id: 'me',
      name: 'the own record',
      trafficOf: ({ service }: Peer) => ({ kind: 'requests', deck: `${service} own` }) as const,
      firstRequests: sizes.tokens,
      bytes: await replySize(peers[0]!.own[0]!, peers[0]!.server.port),
    },
    {
      id: 'sign-in',
      name: 'whole sign-in',
      trafficOf: ({ service, flow }: Peer) =>
        ({ kind: 'sign-ins', deck: `${service} people`, flow }) as const,
      firstRequests: 0,
      bytes: 250,
    },
  ]
  const found: Figure[] = []
  for (const { id, name, trafficOf, firstRequests, bytes } of cases) {
    say(`peers, ${name}`)
    const contestants = peers.map((peer) => ({
      name: `${peer.service}, ${name}`,
      server: peer.server,
      storePids: [],
      traffic: trafficOf(peer),
      firstRequests,
    }))
    const all = [await bench.bareOf(bytes), ...contestants]
    const [bare, ...slices] = await inRounds(bench.load, all, rounds)
    for (const [i, { service }] of peers.entries()) {
      const about = { id, name, service, engine: 'sqlite', accounts: sizes.users, workers: 1 } as const
      found.push(figureOf(about, slices[i]!, bare!))
    }
  }
  for (const { server } of peers) await server.stop()
  return found
}

async function startBetterAuth(bench: Bench, sizes: Sizes): Promise<Peer> {
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
  return { service: 'Better Auth', server: { pid, port, stop }, own, flow: 'better-auth' }
}

async function startPocketBase(bench: Bench, sizes: Sizes): Promise<Peer> {
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
  return { service: 'PocketBase', server, own, flow: 'pocketbase' }
}
