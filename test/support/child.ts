/** The service as operators start it: a separate process with its own folder and a real clock. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from './postgres.ts'
import type { Calls } from './service.ts'
import type { MailServer } from './smtp.ts'
import { eventually } from './wait.ts'
import { callsTo } from './wire.ts'

/** What operators call. */
export const command = fileURLToPath(new URL('../../bin/chiron', import.meta.url))
export const main = fileURLToPath(new URL('../../src/main.js', import.meta.url))

const groups = new Set<number>()
// Also runs when a test failed and its file is ended by force.
process.on('exit', endProcesses)

/** Kills all processes started here, with their children. */
export function endProcesses(): void {
  for (const group of groups) {
    try {
      process.kill(-group, 'SIGKILL')
    } catch {
      // Already gone.
    }
  }
  groups.clear()
}

interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Child {
  readonly pid: number
  readonly output: { out: string; err: string }
  readonly exited: Promise<End>
  kill(signal: NodeJS.Signals): void
  end(signal?: NodeJS.Signals): Promise<End>
}

export interface ChildOptions {
  /** By default a temporary folder, removed at the end. */
  readonly cwd?: string
  readonly env?: Record<string, string>
  /** A file descriptor to use instead of collecting `output.out`. */
  readonly stdout?: number
}

export function newFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'chiron-run-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** A folder for the commands of one test file; `ownStore` gives a new store in it. */
export function commandFolder(): { path: string; ownStore(): { CHIRON_DATABASE_URL: string } } {
  const { path, remove } = newFolder()
  after(() => {
    endProcesses()
    remove()
  })
  let stores = 0
  return { path, ownStore: () => ({ CHIRON_DATABASE_URL: `sqlite:store${stores++}/chiron.db` }) }
}

/** Removes settings of the person who runs the tests. */
function cleanEnv(env: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && !/^(CHIRON_|NODE_(?!COMPILE_CACHE$)|npm_)/.test(name),
  ) as [string, string][]
  return { ...Object.fromEntries(kept), ...env }
}

export function startProcess(command: string, args: string[], options: ChildOptions): Child {
  const own = options.cwd === undefined ? newFolder() : undefined
  const child: ChildProcess = spawn(command, args, {
    cwd: options.cwd ?? own!.path,
    env: cleanEnv(options.env),
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
    // A process group of its own, so that its children can be killed with it.
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
  const exited = new Promise<End>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  if (own) exited.finally(own.remove)
  return {
    pid: child.pid!,
    output,
    exited,
    kill: (signal) => void child.kill(signal),
    end(signal = 'SIGTERM') {
      child.kill(signal)
      return exited
    },
  }
}

export function startChiron(args: string[], options: ChildOptions): Child {
  return startProcess(command, args, options)
}

/**
 * Started by root, the doctor becomes the user of the service, which this machine may have, and then reads no file of these
 * tests. Without a path it does not find `id`, and nobody of that name. test/machine.test.ts has such a user.
 */
export function startDoctor(args: string[], options: ChildOptions): Child {
  return startChiron(['doctor', ...args], { ...options, env: { ...options.env, PATH: '' } })
}

export function startScript(script: string, options: ChildOptions = {}): Child {
  return startProcess(process.execPath, ['--input-type=module', '--eval', script], options)
}

export type ServingChild = Child & Calls & { port: number; url: string }

/** Starts `chiron serve` and waits until every worker listens. */
export async function serveChild(options: ChildOptions, start = startChiron): Promise<ServingChild> {
  const port = Number(options.env?.CHIRON_PORT ?? (await freePort()))
  const env = { ...options.env, CHIRON_PORT: String(port) }
  const child = start(['serve'], { ...options, env })
  const workers = Number(options.env?.CHIRON_WORKERS ?? 1)
  const url = `http://127.0.0.1:${port}`
  let ended = false
  child.exited.then(() => {
    ended = true
  })
  await eventually('the service listens', async () => {
    if (ended) throw new Error(`the service ended: ${child.output.err}${child.output.out}`)
    // Without its output, ask the service itself.
    if (options.stdout !== undefined) return (await fetch(`${url}/health/live`).catch(() => null))?.ok
    return child.output.out.split('listening at').length > workers
  })
  // After SIGTERM it would wait for proxies on PostgreSQL.
  const end: Child['end'] = (signal = 'SIGINT') => child.end(signal)
  return { ...child, ...callsTo(url), end, port, url }
}

export function serveStore(
  databaseUrl: string,
  mail: MailServer,
  env: Record<string, string> = {},
): Promise<ServingChild> {
  return serveChild({
    env: {
      CHIRON_PUBLIC_URL: 'http://chiron.localhost',
      CHIRON_DATABASE_URL: databaseUrl,
      CHIRON_SECRET: 'a secret for tests that is long enough',
      CHIRON_SMTP_URL: mail.url,
      CHIRON_TRUSTED_PROXIES: '127.0.0.1',
      ...env,
    },
  })
}
