/**
 * Processes of the benchmark, their cores and their processor time. A server gets one core; load, mail server and
 * PostgreSQL share the other.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const [serverCore, loadCore] = ['0', '1']
const stopWithinMs = 10_000
const pollMs = 5
const ticksPerSecond = 100

export const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

const children = new Set<ChildProcess>()

export interface Server {
  readonly pid: number
  readonly port: number
  stop(): Promise<void>
}

interface Start {
  readonly command: readonly string[]
  readonly port: number
  /** Replies 200 once the server is ready. */
  readonly path: string
  readonly cwd: string
  readonly env?: Record<string, string>
}

/** This process and everything that it starts from now on, apart from servers, run on the core of the load. */
export function pinLoad(): void {
  if (canPin) spawnSync('taskset', ['-a', '-p', '-c', loadCore, String(process.pid)])
}

/** Lets a server, and what it starts from now on, run on every core. */
export function unpin({ pid }: { readonly pid: number }): void {
  const cores = `0-${availableParallelism() - 1}`
  if (canPin) spawnSync('taskset', ['-a', '-p', '-c', cores, String(pid)])
}

export async function startServer({ command, port, path, cwd, env }: Start): Promise<Server> {
  const pinned = canPin ? ['taskset', '-c', serverCore, ...command] : command
  const { child, errors } = start(pinned, cwd, env)
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      (reply) => reply.ok,
      () => false,
    )
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended: ${errors()}`)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
  return { pid: child.pid!, port, stop: () => stop(child) }
}

/** Runs a command to its end and returns its output. */
export async function run(
  command: readonly string[],
  { cwd, env }: { cwd: string; env?: Record<string, string> },
): Promise<string> {
  const { child, errors } = start(command, cwd, env)
  let output = ''
  child.stdout!.on('data', (chunk) => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${command.join(' ')} exited with ${code}: ${errors()}`)
  return output
}

export async function stopAll(): Promise<void> {
  await Promise.all([...children].map(stop))
}

function start(command: readonly string[], cwd: string, env: Record<string, string> = {}) {
  // Settings in the caller's environment must not reach the servers; npm needs the certificates.
  const isSetting = (name: string) => /^(CHIRON_|NODE_(?!EXTRA_CA_CERTS))/.test(name)
  const own = Object.entries(process.env).filter(([name]) => !isSetting(name))
  const child = spawn(command[0]!, command.slice(1), {
    cwd,
    env: { ...Object.fromEntries(own), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  child.stdout.resume()
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors = (errors + chunk).slice(-2000)
  })
  return { child, errors: () => errors }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const timeout = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
  await exit
  clearTimeout(timeout)
}

/**
 * User and system time of these processes in microseconds. `schedstat` counts nanoseconds, but only of living threads;
 * `stat` adds children that have ended, in hundredths of a second.
 */
export function cpuMicros(pids: readonly number[]): number {
  let micros = 0
  for (const pid of pids) {
    for (const thread of entries(`/proc/${pid}/task`))
      micros += Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]) / 1000
    const [user = 0, system = 0] = statOf(pid).slice(13, 15).map(Number)
    micros += ((user + system) * 1e6) / ticksPerSecond
  }
  return micros
}

export function residentMb(pids: readonly number[]): number {
  const kib = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0)
  return pids.reduce((sum, pid) => sum + kib(pid) / 1024, 0)
}

/** These processes and all their descendants. */
export function family(pids: readonly number[]): number[] {
  const parents = entries('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), Number(statOf(Number(name))[1] ?? 0)] as const)
  const members = new Set(pids)
  for (let size = 0; size < members.size; ) {
    size = members.size
    for (const [pid, parent] of parents) if (members.has(parent)) members.add(pid)
  }
  return [...members]
}

/** The fields after the name, which may contain spaces: state, parent … */
function statOf(pid: number): string[] {
  return read(`/proc/${pid}/stat`).split(') ').at(-1)!.split(' ')
}

function entries(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
