/** What processes cost, by /proc: nothing but zeros where there is none. */
import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = 100

/** Seconds of processor time of processes and all that they started. */
export function cpuSeconds(pids: readonly number[]): number {
  return family(pids).reduce((sum, pid) => sum + ticksOf(pid), 0) / ticksPerSecond
}

/** Seconds that all processors of the machine together were busy, since it started. */
export function busySeconds(): number {
  const [user, nice, system, , , interrupts, soft, stolen] = procFile('stat')
    .split(/\s+/)
    .slice(1, 9)
    .map(Number)
  return (user! + nice! + system! + interrupts! + soft! + stolen!) / ticksPerSecond || 0
}

/** Resident megabytes of processes and all that they started. */
export function residentMb(pids: readonly number[]): number {
  return family(pids).reduce((sum, pid) => {
    const kb = /VmRSS:\s+(\d+)/.exec(procFile(`${pid}/status`))?.[1] ?? '0'
    return sum + Number(kb) / 1000
  }, 0)
}

/** These processes and all that they started. */
export function family(pids: readonly number[]): number[] {
  const parents = new Map<number, number>()
  for (const name of processNames()) parents.set(Number(name), Number(statOf(Number(name))[1] ?? 0))
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

function processNames(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

/** With those of its children that have ended, or theirs would be missing at the end of a measurement. */
function ticksOf(pid: number): number {
  return statOf(pid)
    .slice(11, 15)
    .reduce((sum, ticks) => sum + Number(ticks), 0)
}

/** The fields after the name, which may hold spaces: state, parent … */
function statOf(pid: number): string[] {
  return procFile(`${pid}/stat`).split(') ').at(-1)!.split(' ')
}

function procFile(name: string): string {
  try {
    return readFileSync(`/proc/${name}`, 'utf8')
  } catch {
    return ''
  }
}
