/**
 * Three PostgreSQL servers under Patroni, with etcd, HAProxy and PgBouncer, from the files in deploy/ha. Each machine is
 * an address of the loopback network and a folder. Only addresses, ports and paths are replaced in the files.
 */
import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Child, newFolder, startProcess } from './child.ts'
import { programOf } from './install.ts'
import { freePort, installedPostgres } from './postgres.ts'
import { childrenOf } from './processes.ts'
import { eventually } from './wait.ts'

const files = fileURLToPath(new URL('../../deploy/ha/', import.meta.url))
const names = ['db1', 'db2', 'db3'] as const
const nobody = 65_534
const isRoot = process.getuid?.() === 0
const passwords = {
  SUPERUSER_PASSWORD: 'superuser-of-tests',
  REPLICATION_PASSWORD: 'replication-of-tests',
  SERVICE_PASSWORD: 'chiron-of-tests',
}
const replyPatienceMs = 1_000

interface Member {
  readonly name: string
  readonly role: 'leader' | 'sync_standby' | 'replica'
  readonly state: string
  readonly timeline: number
}

/** The processes of one machine. */
export class Machine {
  readonly name: string
  readonly address: string
  readonly folder: string
  readonly #variables: Readonly<Record<string, string>>
  #patroni: Child | undefined
  #etcd: Child | undefined

  constructor(name: string, folder: string, variables: Readonly<Record<string, string>>) {
    this.name = name
    this.folder = folder
    this.address = variables[name.toUpperCase()]!
    this.#variables = { ...variables, NAME: name, ADDRESS: this.address }
    for (const path of [
      'etc/patroni',
      'etc/chiron-ha',
      'var/lib/etcd',
      'var/lib/postgresql/15',
      'run/postgresql',
    ])
      mkdirSync(join(folder, path), { recursive: true })
  }

  /** Fills in a file of deploy/ha, and returns its path. */
  fill(name: string, path: string, replaced: readonly [string, string][] = []): string {
    const filled = replaced.reduce(
      (text, [from, to]) => text.replaceAll(from, to),
      readFileSync(join(files, name), 'utf8')
        .replace(/\$\{(\w+)\}/g, (_, variable) => this.#variables[variable]!)
        .replace(/\/(?=(etc|var|run)\/)/g, `${this.folder}/`)
        .replace('/usr/lib/postgresql/15', installedPostgres()),
    )
    const file = join(this.folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, filled)
    return file
  }

  startEtcd(): void {
    const lines = readFileSync(this.fill('etcd.env', 'etc/default/etcd'), 'utf8').split('\n')
    const env = Object.fromEntries(
      lines.filter((line) => line.startsWith('ETCD_')).map((line) => line.split(/=(.*)/s).slice(0, 2)),
    )
    this.#etcd = asNobody(programOf('etcd'), [], { cwd: this.folder, env })
  }

  async killEtcd(): Promise<void> {
    await this.#etcd?.end('SIGKILL')
  }

  startPatroni(): void {
    const settings = this.fill('patroni.yml', 'etc/patroni/config.yml')
    this.#patroni = asNobody(programOf('patroni'), [settings], { cwd: this.folder })
  }

  /** Ends Patroni, the server and its processes, as if the power had failed. */
  async kill(): Promise<void> {
    signal([this.#patroni!.pid, ...this.#postgres()], 'SIGKILL')
    await this.#patroni!.exited
  }

  killPostgres(): void {
    signal(this.#postgres(), 'SIGKILL')
  }

  /** Freezes without noticing. Returns a function that resumes it. */
  freeze(what: 'machine' | 'manager'): () => void {
    const pids = [this.#patroni!.pid, ...(what === 'machine' ? this.#postgres() : [])]
    signal(pids, 'SIGSTOP')
    return () => signal(pids, 'SIGCONT')
  }

  get log(): string {
    return this.#patroni?.output.err ?? ''
  }

  /** The postmaster first, so that it starts no others. */
  #postgres(): number[] {
    try {
      const pid = Number(
        readFileSync(join(this.folder, 'var/lib/postgresql/15/chiron/postmaster.pid'), 'utf8').split('\n')[0],
      )
      return [pid, ...childrenOf(pid)]
    } catch {
      return []
    }
  }

  async remove(): Promise<void> {
    if (this.#patroni) signal([this.#patroni.pid, ...this.#postgres()], 'SIGKILL')
    await this.#etcd?.end('SIGKILL')
  }
}

/** One proxy of the machine on which Chiron runs: HAProxy or PgBouncer. */
class Restartable {
  readonly #start: () => Child
  #child: Child

  constructor(start: () => Child) {
    this.#start = start
    this.#child = start()
  }

  start(): void {
    this.#child = this.#start()
  }

  async kill(): Promise<void> {
    await this.#child.end('SIGKILL')
  }
}

export class Cluster {
  readonly machines: readonly Machine[]
  readonly haProxy: Restartable
  readonly pgBouncer: Restartable
  /** Through HAProxy, and through PgBouncer and HAProxy. */
  readonly urls: { readonly direct: string; readonly pooled: string }
  readonly #folder: ReturnType<typeof newFolder>
  readonly #ca: Buffer

  private constructor(
    machines: readonly Machine[],
    folder: ReturnType<typeof newFolder>,
    ports: { haProxy: number; pgBouncer: number },
  ) {
    this.machines = machines
    this.#folder = folder
    this.#ca = readFileSync(join(folder.path, 'ca.crt'))
    const [first] = machines as [Machine]
    const replaced: [string, string][] = [
      ['127.0.0.1:5000', `127.0.0.1:${ports.haProxy}`],
      ['port=5000', `port=${ports.haProxy}`],
      ['listen_port = 6432', `listen_port = ${ports.pgBouncer}`],
    ]
    const cwd = folder.path
    const users: [string, string][] = isRoot ? [] : [['  user haproxy\n  group haproxy\n', '']]
    const haProxy = first.fill('haproxy.cfg', 'etc/haproxy/haproxy.cfg', [...replaced, ...users])
    // Started by root, it becomes its own user.
    this.haProxy = new Restartable(() => startProcess(programOf('haproxy'), ['-db', '-f', haProxy], { cwd }))
    first.fill('userlist.txt', 'etc/pgbouncer/userlist.txt')
    const pgBouncer = first.fill('pgbouncer.ini', 'etc/pgbouncer/pgbouncer.ini', replaced)
    this.pgBouncer = new Restartable(() => asNobody(programOf('pgbouncer'), [pgBouncer], { cwd }))
    const at = (port: number) => `postgres://chiron:${passwords.SERVICE_PASSWORD}@127.0.0.1:${port}/chiron`
    this.urls = {
      direct: `${at(ports.haProxy)}?sslmode=verify-full&sslrootcert=${join(folder.path, 'ca.crt')}`,
      pooled: `${at(ports.pgBouncer)}?pooler=transaction`,
    }
  }

  static async start(): Promise<Cluster> {
    const folder = newFolder()
    const network = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`
    const addresses = names.map((name, i) => [name, `${network}.${11 + i}`] as const)
    const variables = {
      ...passwords,
      ...Object.fromEntries(addresses.map(([name, address]) => [name.toUpperCase(), address])),
    }
    programOf('openssl')
    execFileSync(
      join(files, 'certificates.sh'),
      addresses.map((pair) => pair.join('=')),
      {
        cwd: folder.path,
        stdio: 'ignore',
      },
    )
    const machines = names.map((name) => new Machine(name, join(folder.path, name), variables))
    for (const { name, folder: own } of machines) {
      const certificates = join(own, 'etc/chiron-ha')
      for (const [from, to] of [
        ['ca.crt', 'ca.crt'],
        [`${name}.crt`, 'machine.crt'],
        [`${name}.key`, 'machine.key'],
      ] as const)
        writeFileSync(join(certificates, to), readFileSync(join(folder.path, from)), { mode: 0o600 })
    }
    giveToNobody(folder.path)
    for (const machine of machines) machine.startEtcd()
    for (const machine of machines) machine.startPatroni()
    const cluster = new Cluster(machines, folder, { haProxy: await freePort(), pgBouncer: await freePort() })
    try {
      await cluster.whole()
      const leader = await cluster.leader()
      execFileSync(
        join(installedPostgres(), 'bin/psql'),
        ['-v', 'ON_ERROR_STOP=1', '-f', join(files, 'chiron.sql')],
        { env: { ...process.env, ...passwords, ...superuser, PGHOST: leader.address } },
      )
      return cluster
    } catch (error) {
      for (const { log } of machines) process.stderr.write(log)
      await cluster.remove()
      throw error
    }
  }

  /** The address of one server, for its superuser. */
  serverOf({ address }: Machine): string {
    return `postgres://${superuser.PGUSER}:${superuser.PGPASSWORD}@${address}:5432/postgres?sslmode=verify-full&sslrootcert=${join(this.#folder.path, 'ca.crt')}`
  }

  /** What the first that answers sees. */
  async members(): Promise<readonly Member[]> {
    const answers = this.machines.map(({ address }) => getJson(`https://${address}:8008/cluster`, this.#ca))
    return Promise.any(answers).then(
      ({ members }) => members as Member[],
      () => [],
    )
  }

  async leader(): Promise<Machine> {
    const name = await eventually(
      'a leader',
      async () =>
        (await this.members()).find(({ role, state }) => role === 'leader' && state === 'running')?.name,
    )
    return this.machines.find((machine) => machine.name === name)!
  }

  /** A leader other than this one, as the others see it. */
  async leaderAfter(former: Machine): Promise<Machine> {
    return eventually('another leader', async () => {
      const leader = await this.leader()
      return leader !== former && leader
    })
  }

  /** One leader, one synchronous standby and another one, all on the same timeline. */
  async whole(): Promise<readonly Member[]> {
    return eventually('all three are in step', async () => {
      const members = await this.members()
      const roles = members.map(({ role }) => role).sort()
      const isWhole =
        roles.join() === 'leader,replica,sync_standby' &&
        members.every(({ state }) => state === 'running' || state === 'streaming') &&
        new Set(members.map(({ timeline }) => timeline)).size === 1
      return isWhole && members
    })
  }

  /** `patronictl`, as an operator would call it on the first machine. */
  control(...args: string[]): string {
    const settings = join(this.machines[0]!.folder, 'etc/patroni/config.yml')
    return execFileSync(programOf('patronictl'), ['-c', settings, ...args], { encoding: 'utf8' })
  }

  async remove(): Promise<void> {
    await this.haProxy.kill()
    await this.pgBouncer.kill()
    for (const machine of this.machines) await machine.remove()
    this.#folder.remove()
  }
}

const superuser = { PGUSER: 'postgres', PGPASSWORD: passwords.SUPERUSER_PASSWORD, PGSSLMODE: 'require' }

/** PostgreSQL, and with it Patroni, refuses to run as root. */
function asNobody(program: string, args: string[], options: Parameters<typeof startProcess>[2]): Child {
  const home = { ...options, env: { ...options.env, HOME: options.cwd! } }
  if (!isRoot) return startProcess(program, args, home)
  const identity = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups']
  return startProcess(programOf('setpriv'), [...identity, program, ...args], home)
}

function giveToNobody(folder: string): void {
  if (!isRoot) return
  for (const path of ['.', ...(readdirSync(folder, { recursive: true }) as string[])])
    chownSync(join(folder, path), nobody, nobody)
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch {
      // It has ended.
    }
}

function getJson(url: string, ca: Buffer): Promise<{ members: unknown }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { ca, timeout: replyPatienceMs, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        try {
          resolve(JSON.parse(text))
        } catch (error) {
          reject(error)
        }
      })
    })
    asked.on('timeout', () => asked.destroy(new Error('no answer')))
    asked.on('error', reject)
    asked.end()
  })
}
