/**
 * `npx node test/stalls.ts [file…]`: runs tests while their processes are stopped at random for up to a few seconds, as
 * happens on a busy machine. A test that fails here depends on how fast something is, or on an order that nobody promised.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pause } from './support/wait.ts'

const atOnce = 3
const meanMs = 400
const longestMs = 2_500
const betweenMs = 20
const stopped = /^(node|MainThread|postgres|pgbouncer|haproxy|nginx|chrom.*|headless.*)$/
// Whatever runs on a machine of its own (support/machine.ts).
const leftAlone = /^(nsenter|unshare)$/

interface Process {
  readonly pid: number
  readonly parent: number
  readonly name: string
  readonly state: string
}

const tests = spawn(
  process.execPath,
  [fileURLToPath(new URL('run.ts', import.meta.url)), ...process.argv.slice(2)],
  { stdio: 'inherit' },
)
let over = false
tests.on('close', (code) => {
  over = true
  process.exitCode = code ?? 1
})
await Promise.all(Array.from({ length: atOnce }, stopOneAfterTheOther))

async function stopOneAfterTheOther(): Promise<void> {
  while (!over) {
    const candidates = below(tests.pid!).filter(({ name, state }) => stopped.test(name) && state !== 'T')
    const chosen = candidates[Math.floor(Math.random() * candidates.length)]
    if (chosen && send(chosen.pid, 'SIGSTOP')) {
      await pause(Math.min(-Math.log(Math.random()) * meanMs, longestMs))
      send(chosen.pid, 'SIGCONT')
    }
    await pause(betweenMs)
  }
}

function below(pid: number): Process[] {
  const childrenOf = Map.groupBy(processes(), ({ parent }) => parent)
  const found: Process[] = []
  const add = (parent: number) => {
    for (const child of childrenOf.get(parent) ?? []) {
      if (leftAlone.test(child.name)) continue
      found.push(child)
      add(child.pid)
    }
  }
  add(pid)
  return found
}

function processes(): Process[] {
  return readdirSync('/proc').flatMap((entry) => {
    const [, name, state, parent] = /\((.*)\) (\S) (\d+)/.exec(statOf(entry)) ?? []
    return parent ? [{ pid: Number(entry), parent: Number(parent), name: name!, state: state! }] : []
  })
}

function statOf(entry: string): string {
  try {
    return /^\d+$/.test(entry) ? readFileSync(`/proc/${entry}/stat`, 'utf8') : ''
  } catch {
    return ''
  }
}

/** Whether the process is still there. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
