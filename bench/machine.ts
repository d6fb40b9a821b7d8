import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { canPin } from './processes.ts'

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly system: string
  readonly node: string
  /** Whether server and load could each be given a core. */
  readonly pinned: boolean
}

export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${type()} ${release()}`,
    node: process.version,
    pinned: canPin,
  }
}
