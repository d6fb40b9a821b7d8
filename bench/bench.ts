/** What every run shares: a folder, the mail server, the bare server, and a store of each engine. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../test/support/postgres.ts'
import { type Build, serve } from './builds.ts'
import type { Case } from './cases.ts'
import { wire } from './http.ts'
import { type Load, requestLoad } from './load.ts'
import { type MailServer, startMail } from './mail.ts'
import { pinLoad, type Server, startServer, stopAll } from './processes.ts'
import type { Side } from './rounds.ts'
import { type Engine, type Filled, postgresStores, type Stores, sqliteStores } from './stores.ts'

/** Live sessions of each role in a filled store. */
export const tokens = 10_000

export const say = (text: string) =>
  process.stderr.write(`${Math.round(performance.now() / 1000)} s: ${text}\n`)

export class Bench {
  readonly folder = mkdtempSync(join(tmpdir(), 'chiron-bench-'))
  readonly mail: MailServer
  readonly #bare: Server
  readonly #stores = new Map<Engine, Stores>()

  private constructor(mail: MailServer, bare: Server) {
    this.mail = mail
    this.#bare = bare
  }

  static async open(): Promise<Bench> {
    pinLoad()
    const port = await freePort()
    const command = [process.execPath, fileURLToPath(new URL('bare.ts', import.meta.url)), String(port)]
    const bare = await startServer({ command, port, path: '/250', cwd: tmpdir() })
    return new Bench(await startMail(), bare)
  }

  async stores(engine: Engine): Promise<Stores> {
    const stores =
      this.#stores.get(engine) ?? (engine === 'sqlite' ? sqliteStores(this.folder) : await postgresStores())
    this.#stores.set(engine, stores)
    return stores
  }

  serve(build: Build, { url }: Filled, limits = true, workMs = 0): Promise<Server> {
    return serve(build, { databaseUrl: url, smtpUrl: this.mail.url, cwd: this.folder, limits, workMs })
  }

  side({ id, name }: Case, server: Server, { stores }: Filled, load: Load): Side {
    const isSignIn = id === 'sign-in'
    return { name, servers: [server], storePids: stores.pids, load, isSignIn, first: isSignIn ? 0 : tokens }
  }

  /** The bare server with replies of this size. */
  bare(bytes: number): Side {
    const request = {
      text: wire({ method: 'GET', path: `/${bytes}` }),
      isRight: (reply: string) => reply.startsWith('HTTP/1.1 200 '),
    }
    const load = requestLoad(() => request)
    return { name: 'bare node:http', servers: [this.#bare], storePids: [], load, isSignIn: false, first: 0 }
  }

  async close(): Promise<void> {
    await stopAll()
    this.mail.close()
    for (const stores of this.#stores.values()) await stores.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
