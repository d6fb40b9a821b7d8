/**
 * Measuring in sweeps: every case once a sweep, and the bare server between any two. A machine may be several times as
 * fast in one second as in the next, so a case is compared with the bare server just before and after it, and cases
 * with each other by those ratios.
 *
 * Servers take turns in an order of chance, each with all its cases: one that comes back from a minute's rest takes a
 * second to be as fast as before. Sign-ins come last, since they leave much to be cleaned up.
 */
import { type Case, connections } from './cases.ts'
import type { Order, Outcome } from './load.ts'
import type { Load, Running } from './processes.ts'
import { median, type Spread, spread } from './statistics.ts'
import { residentMb } from './usage.ts'

const rouseSeconds = 1

export interface Sample {
  readonly rate: number
  /** To the bare server, by requests a second and by processor time. */
  readonly ratio: number
  readonly ratioByCpu: number
  /** Of the server, for one request or sign-in. */
  readonly cpuMicros: number
  readonly p50: number
  readonly p99: number
  /** Seconds of processor time in a second. */
  readonly cpu: Readonly<Record<'server' | 'load' | 'store', number>>
}

export interface Row {
  readonly id: string
  readonly name: string
  readonly engine: string | null
  readonly accounts: number | null
  /** What was not as expected; then there are no figures. */
  readonly failure: string | null
  readonly perSecond: Spread | null
  /** To the bare server just before and after. */
  readonly ratio: Spread | null
  /** The same by processor time of the server, which other work on the machine disturbs less. */
  readonly ratioByCpu: Spread | null
  readonly cpuMicros: number | null
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly cpu: Sample['cpu'] | null
  readonly memoryMb: number
}

export class Sweeps {
  readonly #load: Load
  readonly #storePids: readonly number[]
  readonly #samples = new Map<string, Sample[]>()
  readonly #failures = new Map<string, string>()
  readonly #answered = new Map<Running, number>()

  constructor(load: Load, storePids: readonly number[]) {
    this.#load = load
    this.#storePids = storePids
  }

  order({ server, traffic, seconds }: Case, more: Partial<Order> = {}): Order {
    const watch = { server: [server.pid], load: [this.#load.pid], store: this.#storePids }
    return { port: server.port, traffic, connections, seconds, watch, ...more }
  }

  /** One measurement that counts for nothing but its failures. */
  async warmUp(one: Case, more: Partial<Order>): Promise<void> {
    this.#note(one, await this.#load.carryOut(this.order(one, more)))
  }

  async sweep(bare: Case, cases: readonly Case[]): Promise<void> {
    let before = await this.#measure(bare)
    for (const turn of shuffled([...Map.groupBy(cases, (one) => one.server).values()])) {
      const [signIns, requests] = [turn.filter(isSignIn), shuffled(turn.filter((one) => !isSignIn(one)))]
      await this.warmUp(requests[0]!, { seconds: rouseSeconds })
      for (const one of [...requests, ...signIns]) {
        const figures = await this.#measure(one)
        const after = await this.#measure(bare)
        this.#add(one.id, compared(figures, before, after))
        this.#add(bare.id, compared(after, after, after))
        before = after
      }
    }
  }

  /** How many requests or sign-ins this server has answered. */
  answered(server: Running): number {
    return this.#answered.get(server) ?? 0
  }

  samples(id: string): readonly Sample[] {
    return this.#samples.get(id) ?? []
  }

  failure(id: string): string | null {
    return this.#failures.get(id) ?? null
  }

  /** One against another, sweep by sweep. */
  compare(id: string, other: string): Spread | null {
    const [ours, theirs] = [this.samples(id), this.samples(other)]
    if (ours.length === 0 || this.failure(id) !== null || this.failure(other) !== null) return null
    return spread(ours.map((sample, i) => sample.ratio / theirs[i]!.ratio))
  }

  row({ id, name, engine, accounts, server }: Case): Row {
    const samples = this.samples(id)
    const memoryMb = residentMb([server.pid])
    const failure = this.failure(id)
    const about = { id, name, engine, accounts, failure, memoryMb }
    if (failure !== null) return { ...about, ...nothing }
    const of = (pick: (sample: Sample) => number) => median(samples.map(pick))
    return {
      ...about,
      perSecond: spread(samples.map((sample) => sample.rate)),
      ratio: spread(samples.map((sample) => sample.ratio)),
      ratioByCpu: spread(samples.map((sample) => sample.ratioByCpu)),
      cpuMicros: of((sample) => sample.cpuMicros),
      p50Ms: of((sample) => sample.p50),
      p99Ms: of((sample) => sample.p99),
      cpu: {
        server: of((sample) => sample.cpu.server),
        load: of((sample) => sample.cpu.load),
        store: of((sample) => sample.cpu.store),
      },
    }
  }

  async #measure(one: Case): Promise<Figures> {
    const outcome = await this.#load.carryOut(this.order(one))
    this.#note(one, outcome)
    return figuresOf(outcome)
  }

  #add(id: string, sample: Sample): void {
    this.#samples.set(id, [...this.samples(id), sample])
  }

  #note({ id, server }: Case, { failures, failure, done }: Outcome): void {
    this.#answered.set(server, this.answered(server) + done)
    const what = failures > 0 ? `${failures} wrong answers, the first: ${failure}` : 'nothing was answered'
    if (failures === 0 && done > 0) return
    if (!this.#failures.has(id)) process.stderr.write(`\nFAILED ${id}: ${what}\n\n`)
    this.#failures.set(id, what)
  }
}

const nothing = {
  perSecond: null,
  ratio: null,
  ratioByCpu: null,
  cpuMicros: null,
  p50Ms: null,
  p99Ms: null,
  cpu: null,
}

type Figures = Omit<Sample, 'ratio' | 'ratioByCpu'>

function figuresOf({ done, seconds, p50, p99, cpuSeconds }: Outcome): Figures {
  const { server = 0, load = 0, store = 0 } = cpuSeconds
  return {
    rate: done / seconds,
    cpuMicros: (server * 1e6) / done,
    p50,
    p99,
    cpu: { server: server / seconds, load: load / seconds, store: store / seconds },
  }
}

const isSignIn = (one: Case) => one.traffic.kind === 'sign-ins'

function compared(figures: Figures, before: Figures, after: Figures): Sample {
  return {
    ...figures,
    ratio: (2 * figures.rate) / (before.rate + after.rate),
    ratioByCpu: (before.cpuMicros + after.cpuMicros) / (2 * figures.cpuMicros),
  }
}

function shuffled<T>(items: readonly T[]): T[] {
  const result = [...items]
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[result[i], result[j]] = [result[j]!, result[i]!]
  }
  return result
}
