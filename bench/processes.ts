/**
 * What the benchmark starts, and what it costs. Servers share one core and the load has the other, together with the
 * store where that is a process: so a server's figure is that of one core, whatever else the machine has.
 */
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Deck, Order, Outcome } from './load.ts'
import { family } from './usage.ts'

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const main = here('../src/main.ts')
const patienceMs = 10_000

export const isPinned = canPin
export const serverCore = '0'
export const loadCore = '1'
export const bothCores = '0,1'

const children = new Set<ChildProcess>()

function watched<Child extends ChildProcess>(child: Child): Child {
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

export interface Running {
  readonly pid: number
  readonly port: number
  stop(): Promise<void>
}

/** Binds a process, its threads and all that it started to a core, or to several. */
export function pin(pid: number, cores: string): void {
  if (!canPin) return
  for (const member of family([pid])) spawnSync('taskset', ['-a', '-p', '-c', cores, String(member)])
}

export interface Start {
  readonly args: readonly string[]
  readonly port: number
  readonly cwd?: string
  readonly env?: Record<string, string>
  /** Cores, as taskset takes them. */
  readonly cores?: string
  readonly path?: string
}

/** Starts a server with Node and waits until `path` answers. */
export async function startServer({
  args,
  port,
  cwd,
  env,
  cores = serverCore,
  path = '/',
}: Start): Promise<Running> {
  const command = canPin ? ['taskset', '-c', cores, process.execPath, ...args] : [process.execPath, ...args]
  const child = watched(
    spawn(command[0]!, command.slice(1), {
      cwd,
      env: { PATH: process.env.PATH!, HOME: process.env.HOME ?? '/', ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    }),
  )
  let told = ''
  child.stderr!.on('data', (chunk) => {
    told = (told + chunk).slice(-2000)
  })
  const url = `http://127.0.0.1:${port}${path}`
  while (
    !(await fetch(url).then(
      (reply) => reply.ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`${args[0]} ended: ${told}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { pid: child.pid!, port, stop: () => ended(child) }
}

export function startChiron(
  port: number,
  env: Record<string, string>,
  start: Partial<Start> = {},
): Promise<Running> {
  return startServer({
    args: [main, 'serve'],
    port,
    path: '/health/ready',
    env: { CHIRON_PORT: String(port), CHIRON_LIMITS: 'off', ...env },
    ...start,
  })
}

/** Runs a script of ours to its end, and gives what it printed. */
export async function runScript(
  args: readonly string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<string> {
  const child = watched(
    spawn(process.execPath, args, {
      cwd: options.cwd,
      env: { PATH: process.env.PATH!, HOME: process.env.HOME ?? '/', ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
  let [printed, told] = ['', '']
  child.stdout!.on('data', (chunk) => {
    printed += chunk
  })
  child.stderr!.on('data', (chunk) => {
    told = (told + chunk).slice(-2000)
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${told}`)
  return printed
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const patience = setTimeout(() => child.kill('SIGKILL'), patienceMs)
  await exit
  clearTimeout(patience)
}

/** Ends every process that was started here and still runs. */
export async function endAll(): Promise<void> {
  await Promise.all([...children].map(ended))
}

/** The load process. */
export class Load {
  readonly #child: ChildProcess
  readonly smtpUrl: string
  readonly #waiting = new Map<number, PromiseWithResolvers<Outcome | null>>()
  #asked = 0

  private constructor(child: ChildProcess, smtpPort: number) {
    this.#child = child
    this.smtpUrl = `smtp://127.0.0.1:${smtpPort}`
    child.on('message', ({ id, outcome }: { id: number; outcome: Outcome | null }) => {
      this.#waiting.get(id)!.resolve(outcome)
      this.#waiting.delete(id)
    })
    child.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the load process ended'))
    })
  }

  static async start(): Promise<Load> {
    const child = watched(fork(here('load.ts'), { serialization: 'advanced' }))
    const [{ smtpPort }] = await once(child, 'message')
    pin(child.pid!, loadCore)
    return new Load(child, smtpPort)
  }

  get pid(): number {
    return this.#child.pid!
  }

  async keep(deck: Deck): Promise<void> {
    await this.#ask(deck)
  }

  async carryOut(order: Order): Promise<Outcome> {
    return (await this.#ask(order))!
  }

  #ask(message: Deck | Order): Promise<Outcome | null> {
    const answer = Promise.withResolvers<Outcome | null>()
    const id = this.#asked++
    this.#waiting.set(id, answer)
    this.#child.send({ id, message })
    return answer.promise
  }
}
