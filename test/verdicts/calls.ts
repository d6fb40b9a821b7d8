/** A checkout whose commands are called one after the other. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Call, Ran } from './chiron.ts'

const program = fileURLToPath(new URL('chiron.ts', import.meta.url))
/** Each loads the command line again, and none of it is ever freed. */
const callsPerProcess = 300
const patienceMs = 120_000

export class Chiron {
  readonly #folder: string
  #process: ChildProcess | null = null
  #calls = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  async run(call: Call): Promise<Ran> {
    if (this.#calls++ % callsPerProcess === 0) this.end()
    this.#process ??= fork(program, [this.#folder], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const child = this.#process
    const [ended, over] = [new AbortController(), AbortSignal.timeout(patienceMs)]
    const signal = AbortSignal.any([ended.signal, over])
    const onExit = () => ended.abort()
    child.once('exit', onExit)
    const replied = once(child, 'message', { signal }) as Promise<[Ran]>
    child.send(call)
    try {
      return (await replied)[0]
    } catch {
      this.end()
      return { code: -1, out: '', err: over.aborted ? 'took too long' : 'the process ended' }
    } finally {
      child.off('exit', onExit)
    }
  }

  end(): void {
    this.#process?.kill()
    this.#process = null
  }
}
