/**
 * What the benchmark starts, and what it costs. Servers share one core and the load has the other, together with the
 * store where that is a process: so a server's figure is that of one core, whatever else the machine has.
 */
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Order, Outcome } from './load.ts'

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const main = here('../src/main.ts')
const ticksPerSecond = 100

export const pinned = canPin
export const serverCore = 0
export const loadCore = 1

export interface Running {
  readonly pid: number
  readonly port: number
  stop(): Promise<void>
}

/** Binds a process and its threads to a core, or to several. */
export function pin(pid: number, cores: string): void {
  if (canPin) spawnSync('taskset', ['-a', '-p', '-c', cores, String(pid)])
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
  cores = '0',
  path = '/',
}: Start): Promise<Running> {
  const command = canPin ? ['taskset', '-c', cores, process.execPath, ...args] : [process.execPath, ...args]
  const child = spawn(command[0]!, command.slice(1), {
    cwd,
    env: { PATH: process.env.PATH!, HOME: process.env.HOME ?? '/', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
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

export function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })
}

/** The load process. */
export class Load {
  readonly #child: ChildProcess

  constructor() {
    this.#child = fork(here('load.ts'), { serialization: 'advanced' })
    pin(this.#child.pid!, String(loadCore))
  }

  get pid(): number {
    return this.#child.pid!
  }

  carryOut(order: Order): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#child.once('message', (outcome) => resolve(outcome as Outcome))
      this.#child.send(order)
    })
  }

  stop(): Promise<void> {
    return ended(this.#child)
  }
}

/** Seconds of processor time of processes and all that they started. */
export function cpuSeconds(pids: readonly number[]): number {
  return family(pids).reduce((sum, pid) => sum + ticksOf(pid), 0) / ticksPerSecond
}

/** Resident megabytes of processes and all that they started. */
export function residentMb(pids: readonly number[]): number {
  return family(pids).reduce((sum, pid) => {
    const kb = /VmRSS:\s+(\d+)/.exec(procFile(pid, 'status'))?.[1] ?? '0'
    return sum + Number(kb) / 1000
  }, 0)
}

function family(pids: readonly number[]): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (/^\d+$/.test(name)) parents.set(Number(name), Number(statOf(Number(name))[1] ?? 0))
  }
  const members = new Set(pids)
  for (let grown = true; grown; ) {
    grown = false
    for (const [pid, parent] of parents) {
      if (!members.has(parent) || members.has(pid)) continue
      members.add(pid)
      grown = true
    }
  }
  return [...members]
}

function ticksOf(pid: number): number {
  const fields = statOf(pid)
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
}

/** The fields after the name, which may hold spaces: state, parent … */
function statOf(pid: number): string[] {
  return procFile(pid, 'stat').split(') ').at(-1)!.split(' ')
}

function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}
