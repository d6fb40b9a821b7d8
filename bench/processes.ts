/**
 * Processes that the benchmark starts. A server has one core and the load the other, together with the database where
 * that is a process; so a server's figure is that of one core, whatever else the machine has.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { family } from './usage.ts'

const patienceMs = 10_000

export const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
export const serverCore = '0'
export const loadCore = '1'
export const bothCores = '0,1'

const children = new Set<ChildProcess>()

export function watched<Child extends ChildProcess>(child: Child): Child {
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

export interface Server {
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
  readonly command: readonly string[]
  readonly port: number
  /** Answers 200 once the server is ready. */
  readonly path: string
  readonly cwd: string
  readonly env?: Record<string, string>
  readonly cores?: string
}

export async function startServer(start: Start): Promise<Server> {
  const { command, port, path, cwd, env, cores = serverCore } = start
  const [name, ...args] = canPin ? ['taskset', '-c', cores, ...command] : command
  const child = watched(spawn(name!, args, { cwd, env: envWith(env), stdio: ['ignore', 'ignore', 'pipe'] }))
  let told = ''
  child.stderr!.on('data', (chunk) => {
    told = (told + chunk).slice(-2000)
  })
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      (reply) => reply.ok,
      () => false,
    )
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended: ${told}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { pid: child.pid!, port, stop: () => ended(child) }
}

/** Runs a command to its end, and gives what it printed. */
export async function run(
  command: readonly string[],
  options: { cwd: string; env?: Record<string, string> },
): Promise<string> {
  const child = watched(
    spawn(command[0]!, command.slice(1), {
      cwd: options.cwd,
      env: envWith(options.env),
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
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${told}`)
  return printed
}

/** Settings of whoever runs the benchmark must not reach what is measured. */
function envWith(env: Record<string, string> = {}): Record<string, string> {
  const own = Object.entries(process.env).filter(([name]) => !/^(CHIRON_|NODE_)/.test(name))
  return { ...(Object.fromEntries(own) as Record<string, string>), ...env }
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
