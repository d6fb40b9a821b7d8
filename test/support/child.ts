/** The service as its users start it: a process of its own, in a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from './postgres.ts'
import { eventually } from './wait.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

const groups = new Set<number>()

/** Ends whatever is left of the processes started here, and of those that they started. */
export function endProcesses(): void {
  for (const group of groups) {
    try {
      process.kill(-group, 'SIGKILL')
    } catch {
      // Nothing is left of it.
    }
  }
  groups.clear()
}

export interface ChildOptions {
  readonly cwd: string
  readonly env?: Record<string, string>
  /** Instead of what `output.out` shows. */
  readonly stdout?: number
}

export interface Child {
  readonly pid: number
  readonly output: { out: string; err: string }
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  kill(signal: NodeJS.Signals): void
}

export function newFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'chiron-run-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Nothing of the settings of whoever runs the tests. */
export function cleanEnv(env: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && !/^(CHIRON_|NODE_|npm_)/.test(name),
  ) as [string, string][]
  return { ...Object.fromEntries(kept), ...env }
}

export function startProcess(command: string, args: string[], options: ChildOptions): Child {
  const child: ChildProcess = spawn(command, args, {
    cwd: options.cwd,
    env: cleanEnv(options.env),
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
    // A group of its own, so that whatever it started can be ended with it.
    detached: true,
  })
  groups.add(child.pid!)
  const output = { out: '', err: '' }
  child.stdout?.on('data', (chunk) => {
    output.out += chunk
  })
  child.stderr!.on('data', (chunk) => {
    output.err += chunk
  })
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  return { pid: child.pid!, output, exited, kill: (signal) => void child.kill(signal) }
}

/** `chiron …` in a folder. */
export function startChiron(args: string[], options: ChildOptions): Child {
  return startProcess(process.execPath, [main, ...args], options)
}

/** `chiron serve` that answers. */
export async function serveChild(
  options: ChildOptions,
  start: typeof startChiron = startChiron,
): Promise<Child & { port: number; url: string }> {
  const port = await freePort()
  const child = start(['serve'], { ...options, env: { CHIRON_PORT: String(port), ...options.env } })
  const url = `http://127.0.0.1:${port}`
  let ended = false
  child.exited.then(() => {
    ended = true
  })
  await eventually('the service answers', async () => {
    if (ended) throw new Error(`the service ended: ${child.output.err}${child.output.out}`)
    return fetch(`${url}/health/live`).then(
      (reply) => reply.ok,
      () => false,
    )
  })
  return { ...child, port, url }
}
