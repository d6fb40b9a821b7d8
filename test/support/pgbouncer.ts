/** The PgBouncer of the machine in front of a PostgreSQL server, with nothing set but what docs/operating.md says. */
import { chownSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { newFolder, startProcess } from './child.ts'
import { newStore, type Store } from './engines.ts'
import { programOf } from './install.ts'
import { freePort, postgresUrl } from './postgres.ts'
import { eventually } from './wait.ts'

const nobody = 65_534

export interface PgBouncer {
  readonly pid: number
  url(database: string): string
  remove(): Promise<void>
}

export async function startPgBouncer(
  serverPort: number | string,
  { mode, poolSize = 20 }: { mode: 'session' | 'transaction'; poolSize?: number },
): Promise<PgBouncer> {
  const program = programOf('pgbouncer')
  const folder = newFolder()
  const port = await freePort()
  const file = (name: string, text: string) => {
    const path = join(folder.path, name)
    writeFileSync(path, text)
    return path
  }
  const users = file('users', '"chiron" ""\n')
  const settings = file(
    'pgbouncer.ini',
    `[databases]
* = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_client_conn = 500
`,
  )
  // It refuses to run as root.
  const asRoot = process.getuid?.() === 0
  if (asRoot) chownSync(folder.path, nobody, nobody)
  const child = startProcess(program, [...(asRoot ? ['-u', 'nobody'] : []), settings], { cwd: folder.path })
  await eventually('PgBouncer listens', () => {
    const socket = connect(port, '127.0.0.1')
    return new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    }).finally(() => socket.destroy())
  })
  return {
    pid: child.pid,
    url: (database) => postgresUrl(port, database),
    async remove() {
      await child.end('SIGKILL')
      folder.remove()
    },
  }
}

/** A new store without tables, through a PgBouncer with fewer connections than one process has. */
export async function pooledStore(): Promise<Store> {
  const store = await newStore('postgres')
  const { port, pathname } = new URL(store.url)
  const pgBouncer = await startPgBouncer(port, { mode: 'transaction', poolSize: 3 })
  return {
    url: `${pgBouncer.url(pathname.slice(1))}&pooler=transaction`,
    async remove() {
      await pgBouncer.remove()
      await store.remove()
    },
  }
}
