/** All figures of Chiron on one engine, from an empty store on. */
import { freePort } from '../test/support/postgres.ts'
import { type Bench, replySize, say } from './bench.ts'
import { type Serving, serve, thisBuild } from './builds.ts'
import { type Case, cases } from './cases.ts'
import type { Plan } from './plan.ts'
import { bothCores, loadCore, pin, type Server, serverCore } from './processes.ts'
import { type Figure, figureOf, type Pair, pairOf, type Single } from './results.ts'
import { type Contestant, inRounds } from './rounds.ts'
import { afterMany, latencyAtHalfLoad, rosterImport, starts, wakingUp } from './singles.ts'
import { spread } from './statistics.ts'
import { type Engine, Filled, type Stores } from './stores.ts'

/** Also measured in the small store. */
const bySize = ['me', 'sign-in']
/** Also measured at half load. */
const atHalfLoad = ['me', 'sign-in']
/** Also measured with two workers. */
const withTwo = ['me']

const [small, large] = ['small', 'large']
const fewCards = 4_000
const passesForTwo = 5

/** With the size of its replies. */
type Sized = Contestant & { readonly bytes: number }

export class Suite {
  readonly figures: Figure[] = []
  readonly pairs: Pair[] = []
  readonly singles: Single[] = []
  readonly #bench: Bench
  readonly #stores: Stores
  readonly #plan: Plan
  readonly #filled = new Map<string, Filled>()

  constructor(bench: Bench, stores: Stores, plan: Plan) {
    this.#bench = bench
    this.#stores = stores
    this.#plan = plan
  }

  get #engine(): Engine {
    return this.#stores.engine
  }

  #say(what: string): void {
    say(`${this.#engine}: ${what}`)
  }

  async #serve(store: string, more: Partial<Serving> = {}): Promise<Server> {
    return serve(thisBuild, {
      databaseUrl: this.#stores.url(store),
      smtpUrl: this.#bench.load.smtpUrl,
      port: await freePort(),
      cwd: this.#bench.folder,
      ...more,
    })
  }

  async fill(withSmall: boolean): Promise<void> {
    const { accounts, students, tokens } = this.#plan
    for (const [i, store] of [small, large].entries()) {
      if (store === small && !withSmall) continue
      this.#say(`filling, ${accounts[i]!} accounts`)
      const sizes = { veterinarians: accounts[i]!, students: store === large ? students : 0, tokens }
      const { folder } = this.#bench
      this.#filled.set(store, await Filled.make(this.#stores, store, thisBuild, folder, sizes))
    }
  }

  async #contestant(one: Case, store: string, server: Server, workers = 1): Promise<Sized> {
    const deck = `${this.#engine} ${store} ${one.id} ${workers}`
    const all = one.cards(await this.#filled.get(store)!.tokens())
    // Which worker gets a connection is chance: only after some passes has each seen every token.
    const [cards, passes] = workers === 1 ? [all, 1] : [all.slice(0, fewCards), passesForTwo]
    await this.#bench.load.keep({ deck, cards })
    const traffic = one.traffic(deck)
    const isRequests = traffic.kind === 'requests'
    return {
      name: `${one.name}, ${store}`,
      server,
      storePids: this.#stores.pids,
      traffic,
      firstRequests: isRequests ? cards.length * passes : 0,
      bytes: isRequests ? await replySize(cards[0]!, server.port) : 250,
    }
  }

  /** The chosen cases, one process on one core; and whatever else is measured on the same servers. */
  async requests(chosen: readonly Case[], withMore: boolean): Promise<void> {
    const { rounds, accounts } = this.#plan
    const servers: Record<string, Server> = { [large]: await this.#serve(large) }
    if (withMore) servers[small] = await this.#serve(small)
    for (const one of chosen.filter(({ limits }) => limits)) {
      this.#say(one.name)
      const stores = withMore && bySize.includes(one.id) ? [large, small] : [large]
      const sides: Sized[] = []
      for (const store of stores) sides.push(await this.#contestant(one, store, servers[store]!))
      const bareSide = await this.#bench.bareOf(sides[0]!.bytes)
      const [bare, own, other] = await inRounds(this.#bench.load, [bareSide, ...sides], rounds)
      const about = {
        id: one.id,
        name: one.name,
        service: 'Chiron',
        engine: this.#engine,
        workers: 1,
      } as const
      const figure = figureOf({ ...about, accounts: accounts[1] }, own!, bare!)
      this.figures.push(figure)
      if (other) {
        this.figures.push(figureOf({ ...about, accounts: accounts[0] }, other, bare!))
        this.pairs.push(pairOf({ ...about, what: 'accounts' }, own!, other))
      }
      if (withMore && atHalfLoad.includes(one.id)) await this.#halfLoad(one, sides[0]!, bareSide, figure)
    }
    if (withMore) await this.#memory(servers[large]!)
    for (const server of Object.values(servers)) await server.stop()
    for (const one of chosen.filter(({ limits }) => !limits)) await this.#unlimited(one)
  }

  async #unlimited(one: Case): Promise<void> {
    this.#say(one.name)
    const server = await this.#serve(large, { limits: false })
    const side = await this.#contestant(one, large, server)
    const contestants = [await this.#bench.bareOf(side.bytes), side]
    const [bare, own] = await inRounds(this.#bench.load, contestants, this.#plan.rounds)
    const about = { id: one.id, name: one.name, service: 'Chiron', engine: this.#engine, workers: 1 } as const
    this.figures.push(figureOf({ ...about, accounts: this.#plan.accounts[1] }, own!, bare!))
    await server.stop()
  }

  async #halfLoad(one: Case, side: Contestant, bare: Contestant, figure: Figure): Promise<void> {
    const speeds = [figure.perSecond.median, figure.barePerSecond.median] as const
    const found = await latencyAtHalfLoad(this.#bench, side, bare, speeds, this.#plan.rounds)
    this.#single(`half-load-${one.id}`, `${one.name}: p99 at half load`, 'ms', found.own)
    this.#single(
      `half-load-${one.id}-bare`,
      `… bare node:http at its own half, same rounds`,
      'ms',
      found.bare,
    )
    this.#single(`half-load-${one.id}-ratio`, '… one divided by the other', '×', found.ratio)
  }

  async #memory(server: Server): Promise<void> {
    this.#say('memory under load')
    const side = await this.#contestant(cases[0]!, large, server)
    const { requestsForMemory, memorySeconds } = this.#plan
    const { requests, megabytes } = await afterMany(this.#bench, side, requestsForMemory, memorySeconds)
    const name = `memory after ${requests.toLocaleString('en')} requests`
    this.#single('memory', name, 'MB', spread([megabytes]))
  }

  #single(id: string, name: string, unit: string, value: Single['value']): void {
    this.singles.push({ id, name, engine: this.#engine, unit, value })
  }

  async once(): Promise<void> {
    const { rounds, schools } = this.#plan
    for (const students of schools) {
      this.#say(`roster import, ${students} students`)
      const { rows, value } = await rosterImport(this.#bench, this.#stores, students, rounds)
      const name = `roster import, ${rows.toLocaleString('en')} rows`
      this.#single(`roster-${students}`, name, 'rows/s', value)
    }
    this.#say('start')
    const { ms, megabytes } = await starts(this.#bench, this.#stores, large, rounds)
    this.#single('start', 'start to the first 200', 'ms', ms)
    this.#single('rest', 'memory at rest', 'MB', megabytes)
    this.#say('waking up')
    const cards = cases[0]!.cards(await this.#filled.get(large)!.tokens())
    const deck = `${this.#engine} waking`
    await this.#bench.load.keep({ deck, cards: cards.slice(0, 2_000) })
    const traffic = { kind: 'requests', deck } as const
    const waking = await wakingUp(this.#bench, this.#stores, large, traffic, rounds)
    this.#single('waking', 'load until nine tenths of its speed', 's', waking)
  }

  /** Two workers against one, with server, load and database sharing both cores. */
  async workers(): Promise<void> {
    const { bare, load } = this.#bench
    const { accounts, rounds } = this.#plan
    for (const pid of [load.pid, bare.pid, ...this.#stores.pids]) pin(pid, bothCores)
    const one = await this.#serve(large, { cores: bothCores })
    const two = await this.#serve(large, { cores: bothCores, workers: 2 })
    for (const each of cases.filter(({ id }) => withTwo.includes(id))) {
      this.#say(`${each.name}, two workers`)
      const sides = [await this.#contestant(each, large, one, 2), await this.#contestant(each, large, two, 2)]
      const contestants = [await this.#bench.bareOf(sides[0]!.bytes), ...sides]
      const [bareSlices, ones, twos] = await inRounds(load, contestants, rounds)
      const about = { id: each.id, name: each.name, engine: this.#engine } as const
      const named = { ...about, service: 'Chiron', accounts: accounts[1], workers: 2 } as const
      this.figures.push(figureOf(named, twos!, bareSlices!))
      this.pairs.push(pairOf({ ...about, what: 'workers' }, twos!, ones!))
    }
    for (const server of [one, two]) await server.stop()
    pin(bare.pid, serverCore)
    for (const pid of [load.pid, ...this.#stores.pids]) pin(pid, loadCore)
  }
}
