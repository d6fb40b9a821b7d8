/** What processes cost, by Linux's /proc. */
import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = 100

/**
 * Microseconds of processor time, user and system, of processes and all that they started. By `schedstat`, which counts
 * nanoseconds where `stat` counts hundredths of a second; by `stat` for those that have ended.
 */
export function cpuMicros(pids: readonly number[]): number {
  let micros = 0
  for (const pid of pids) {
    for (const thread of entries(`/proc/${pid}/task`))
      micros += Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]) / 1000
    const [ended = 0, endedSystem = 0] = statOf(pid).slice(13, 15).map(Number)
    micros += ((ended + endedSystem) * 1e6) / ticksPerSecond
  }
  return micros
}

/** Resident megabytes of processes. */
export function residentMb(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const kb = /VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? '0'
    return sum + Number(kb) / 1000
  }, 0)
}

/** These processes and all that they started. */
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

/** The fields after the name, which may hold spaces: state, parent … */
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
