/**
 * PostgreSQL under Patroni, as in deploy/ha, with four services under load: leaders are killed and frozen, etcd and the
 * proxies stop. Nothing acknowledged is lost, every refusal says when to come back, and no two servers take writes.
 */
import assert from 'node:assert/strict'
import pg from 'pg'
import { type ServingChild, serveStore } from '../support/child.ts'
import { Cluster, type Machine } from '../support/patroni.ts'
import type { Calls, Reply } from '../support/service.ts'
import { startMailServer } from '../support/smtp.ts'
import { eventually, pause } from '../support/wait.ts'
import { Acknowledged, checkKept, checkMails, loadSecret, passThrough } from './acknowledged.ts'

const clientsOfEach = 3
const betweenPeopleMs = 50
const afterRefusalMs = 100
/** The statements of one request, each up to the service's own time limit for a reply of the store. */
const replyMaxMs = 15_000
/** Longer than the leader key lives. */
const withoutEtcdMs = 30_000

class Refused extends Error {}

/** One service, and how it replies. */
class Watched implements Calls {
  readonly child: ServingChild
  acknowledged = 0
  refused = 0
  longestReplyMs = 0
  #lastAt = Date.now()
  #longestGapMs = 0

  constructor(child: ServingChild) {
    this.child = child
  }

  request: Calls['request'] = (path, options) => this.#checked(path, () => this.child.request(path, options))
  post: Calls['post'] = (path, body) => this.#checked(path, () => this.child.post(path, body))

  async #checked(path: string, ask: () => Promise<Reply>): Promise<Reply> {
    const began = Date.now()
    const reply = await ask()
    const tookMs = Date.now() - began
    this.longestReplyMs = Math.max(this.longestReplyMs, tookMs)
    assert.ok(tookMs <= replyMaxMs, `${path} took ${tookMs} ms: ${reply.text}`)
    if (reply.status < 500) {
      this.#acknowledge()
      return reply
    }
    assert.equal(reply.status, 503, `${path}: ${reply.text}`)
    assert.equal(reply.json.code, 'unavailable', reply.text)
    assert.ok(Number(reply.headers.get('retry-after')) > 0, path)
    this.refused++
    throw new Refused()
  }

  #acknowledge(): void {
    this.acknowledged++
    const now = Date.now()
    this.#longestGapMs = Math.max(this.#longestGapMs, now - this.#lastAt)
    this.#lastAt = now
  }

  /** The longest time without a success since the last call. */
  takeGapMs(): number {
    const gapMs = this.#longestGapMs
    this.#longestGapMs = 0
    return gapMs
  }
}

/** Writes to one server, whatever it is, past all proxies. */
class Prober {
  /** In the order of all probers. */
  static readonly order: string[] = []
  readonly #name: string
  readonly #url: string
  readonly kept: number[] = []
  #over = false
  #client: pg.Client | undefined
  readonly #ended: Promise<void>

  constructor(name: string, url: string) {
    this.#name = name
    this.#url = url
    this.#ended = this.#run()
  }

  async #run(): Promise<void> {
    for (let n = 0; !this.#over; n++) {
      try {
        this.#client ??= await connected(this.#url)
        await this.#client.query('insert into probe (server, n) values ($1, $2)', [this.#name, n])
        this.kept.push(n)
        Prober.order.push(this.#name)
      } catch {
        this.#client?.end().catch(() => {})
        this.#client = undefined
      }
      await pause(afterRefusalMs)
    }
    await this.#client?.end()
  }

  async stop(): Promise<void> {
    this.#over = true
    await this.#ended
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  await client.connect()
  return client
}

async function query<R>(url: string, sql: string): Promise<R[]> {
  const client = await connected(url)
  try {
    return (await client.query(sql)).rows as R[]
  } finally {
    await client.end()
  }
}

export class Failovers {
  readonly #cluster: Cluster
  readonly #services: readonly Watched[]
  readonly #gapsMs = new Map<string, number[]>()

  private constructor(cluster: Cluster, services: readonly Watched[]) {
    this.#cluster = cluster
    this.#services = services
  }

  static async run(leaderKills: number): Promise<Record<string, number>> {
    const cluster = await Cluster.start()
    const mail = await startMailServer()
    const services: Watched[] = []
    const probers: Prober[] = []
    try {
      await query(
        cluster.serverOf(await cluster.leader()),
        'create table probe (server text, n int, primary key (server, n))',
      )
      const { direct, pooled } = cluster.urls
      for (const url of [pooled, direct, pooled, direct])
        services.push(
          new Watched(
            await serveStore(url, mail, {
              CHIRON_LIMITS: 'off',
              CHIRON_SECRET: loadSecret,
              CHIRON_WORKERS: '1',
            }),
          ),
        )
      const noted = new Acknowledged()
      let loading = true
      const load = Promise.all(
        services.flatMap((service, s) =>
          Array.from({ length: clientsOfEach }, async (_, client) => {
            for (let n = 0; loading; n++)
              try {
                await passThrough(service, noted, `s${s}c${client}n${n}@failover.example`, n)
                await pause(betweenPeopleMs)
              } catch (error) {
                if (!(error instanceof Refused)) throw error
                await pause(afterRefusalMs)
              }
          }),
        ),
      )
      load.catch(() => {})
      for (const machine of cluster.machines)
        probers.push(new Prober(machine.name, cluster.serverOf(machine)))
      const failovers = new Failovers(cluster, services)
      const [before] = await cluster.whole()
      await Promise.race([failovers.#all(leaderKills), load])
      loading = false
      await load
      const [after] = await cluster.whole()
      const elections = after!.timeline - before!.timeline
      await Promise.all(probers.map((prober) => prober.stop()))

      await checkKept(services[0]!.child, direct, noted)
      await checkMails(direct, noted, mail.received, [...failovers.#gapsMs.values()].flat().length)
      const probes = await failovers.#checkProbes(probers, elections)
      const sum = (count: (service: Watched) => number) => services.reduce((all, one) => all + count(one), 0)
      return {
        leadersKilled: leaderKills,
        elections,
        acknowledged: sum(({ acknowledged }) => acknowledged),
        refused: sum(({ refused }) => refused),
        probesOfServers: probes,
        longestReplyMs: Math.max(...services.map(({ longestReplyMs }) => longestReplyMs)),
        ...failovers.#gaps(),
      }
    } finally {
      for (const { child } of services) await child.end('SIGKILL')
      await cluster.remove()
      await Promise.all(probers.map((prober) => prober.stop()))
      await mail.close()
    }
  }

  async #all(leaderKills: number): Promise<void> {
    const cluster = this.#cluster
    for (let i = 0; i < leaderKills; i++)
      await this.#fault('LeaderKilled', async (leader) => {
        await leader.kill()
        await cluster.leaderAfter(leader)
        return () => leader.startPatroni()
      })
    for (const what of ['machine', 'machine', 'manager'] as const)
      await this.#fault(what === 'machine' ? 'LeaderFrozen' : 'PatroniFrozen', async (leader) => {
        const thaw = leader.freeze(what)
        await cluster.leaderAfter(leader)
        return thaw
      })
    await this.#fault('PostgresKilled', async (leader) => {
      leader.killPostgres()
      return undefined
    })
    await this.#fault('StandbyKilled', async () => {
      const standby = await this.#standby()
      await standby.kill()
      return () => standby.startPatroni()
    })
    await this.#fault('StandbyFrozen', async () => (await this.#standby()).freeze('machine'))
    await this.#fault('Switchover', async (leader) => {
      cluster.control('switchover', '--leader', leader.name, '--force')
      await cluster.leaderAfter(leader)
    })
    const [one] = cluster.machines as [Machine]
    for (const [name, stopped] of [
      ['EtcdMemberKilled', [one]],
      ['EtcdKilled', cluster.machines],
    ] as const)
      await this.#fault(name, async (leader) => {
        await Promise.all(stopped.map((machine) => machine.killEtcd()))
        await pause(withoutEtcdMs)
        for (const machine of stopped) machine.startEtcd()
        assert.equal(await cluster.leader(), leader, 'without etcd the leader stays')
      })
    for (const [name, proxy] of [
      ['HaproxyKilled', cluster.haProxy],
      ['PgbouncerKilled', cluster.pgBouncer],
    ] as const)
      await this.#fault(name, async () => {
        await proxy.kill()
        await pause(1_000)
        proxy.start()
      })
  }

  async #standby(): Promise<Machine> {
    const found = (await this.#cluster.whole()).find(({ role }) => role === 'sync_standby')
    return this.#cluster.machines.find(({ name }) => name === found!.name)!
  }

  /** Makes a fault, waits until all serve again, ends it with the returned function, and waits until the cluster is whole. */
  async #fault(name: string, make: (leader: Machine) => Promise<(() => void) | undefined>): Promise<void> {
    const leader = await this.#cluster.leader()
    for (const service of this.#services) service.takeGapMs()
    const end = await make(leader)
    await this.#serving()
    end?.()
    await this.#cluster.whole()
    await this.#serving()
    const gapMs = Math.max(...this.#services.map((service) => service.takeGapMs()))
    this.#gapsMs.set(name, [...(this.#gapsMs.get(name) ?? []), gapMs])
    process.stdout.write(`  ${name}: ${gapMs} ms\n`)
  }

  async #serving(): Promise<void> {
    const marks = this.#services.map(({ acknowledged }) => acknowledged + 20)
    await eventually('all services serve', () =>
      this.#services.every(({ acknowledged }, i) => acknowledged >= marks[i]!),
    )
  }

  /** All that any server acknowledged is there, and never did two of them take turns. */
  async #checkProbes(probers: readonly Prober[], elections: number): Promise<number> {
    const { serverOf, machines } = this.#cluster
    const rows = await query<{ probe: string }>(
      serverOf.call(this.#cluster, await this.#cluster.leader()),
      "select server || ' ' || n as probe from probe",
    )
    const kept = new Set(rows.map(({ probe }) => probe))
    for (const [i, prober] of probers.entries())
      for (const n of prober.kept)
        assert.ok(kept.has(`${machines[i]!.name} ${n}`), 'a probe was acknowledged')
    const { order } = Prober
    const changes = order.filter((server, i) => i > 0 && server !== order[i - 1]).length
    assert.ok(changes <= elections, `${changes} changes of the writable server in ${elections} elections`)
    return order.length
  }

  #gaps(): Record<string, number> {
    return Object.fromEntries(
      [...this.#gapsMs].map(([name, gaps]) => [`longestGapMs${name}`, Math.max(...gaps)]),
    )
  }
}
