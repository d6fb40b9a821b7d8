/** What every run needs: a folder, the load, the bare server, and stores of the engines that were asked for. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, startPostgres } from '../test/support/postgres.ts'
import { Load } from './driver.ts'
import { bodyOf, Connection, wire } from './http.ts'
import type { Card } from './orders.ts'
import { endAll, loadCore, pin, type Server, startServer } from './processes.ts'
import type { Contestant } from './rounds.ts'
import { type Engine, postgresSettings, postgresStores, type Stores, sqliteStores } from './stores.ts'

export interface Bench {
  readonly folder: string
  readonly load: Load
  readonly bare: Server
  stores(engine: Engine): Promise<Stores>
  /** The bare server with replies of this size. */
  bareOf(bytes: number): Promise<Contestant>
  onClose(step: () => unknown): void
  close(): Promise<void>
}

/** With the seconds since the start. */
export const say = (text: string) =>
  process.stderr.write(`${Math.round(performance.now() / 1000)} s: ${text}\n`)

export async function openBench(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-bench-'))
  /** What undoes what was done, the last first. */
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), endAll]
  const load = await Load.start()
  const bare = await startBare(folder)
  const decks = new Set<string>()
  const opened = new Map<Engine, Promise<Stores>>()
  let closed: Promise<void> | undefined

  async function open(engine: Engine): Promise<Stores> {
    if (engine === 'sqlite') return sqliteStores(folder)
    const server = await startPostgres(postgresSettings)
    undo.push(() => server.remove())
    pin(server.pid, loadCore)
    return postgresStores(server)
  }

  return {
    folder,
    load,
    bare,
    stores(engine) {
      const stores = opened.get(engine) ?? open(engine)
      opened.set(engine, stores)
      return stores
    },
    async bareOf(bytes) {
      const deck = `bare ${bytes}`
      if (!decks.has(deck))
        await load.keep({ deck, cards: [{ text: wire({ method: 'GET', path: `/${bytes}` }) }] })
      decks.add(deck)
      const traffic = { kind: 'requests', deck } as const
      return { name: 'bare node:http', server: bare, storePids: [], traffic }
    },
    onClose: (step) => undo.push(step),
    close() {
      closed ??= (async () => {
        for (const step of undo.toReversed()) await step()
      })()
      return closed
    },
  }
}

async function startBare(cwd: string): Promise<Server> {
  const script = fileURLToPath(new URL('bare.ts', import.meta.url))
  const port = await freePort()
  return startServer({ command: [process.execPath, script, String(port)], port, path: '/250', cwd })
}

/** How large the body of a reply is, in steps, so that sizes of one kind are the same. */
export async function replySize({ text }: Card, port: number): Promise<number> {
  const connection = new Connection(port)
  const reply = await connection.ask(text)
  connection.end()
  return Math.round(bodyOf(reply).length / 50) * 50
}
