/** The benchmark's side of the load process. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Deck, Order, Slice } from './orders.ts'
import { loadCore, pin, watched } from './processes.ts'

export class Load {
  readonly #child: ChildProcess
  readonly smtpUrl: string
  readonly #waiting = new Map<number, PromiseWithResolvers<Slice[]>>()
  #asked = 0

  private constructor(child: ChildProcess, smtpPort: number) {
    this.#child = child
    this.smtpUrl = `smtp://127.0.0.1:${smtpPort}`
    child.on('message', ({ id, slices }: { id: number; slices: Slice[] }) => {
      this.#waiting.get(id)!.resolve(slices)
      this.#waiting.delete(id)
    })
    child.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the load process ended'))
    })
  }

  static async start(): Promise<Load> {
    const script = fileURLToPath(new URL('load.ts', import.meta.url))
    const child = watched(fork(script, { serialization: 'advanced' }))
    const [{ smtpPort }] = await once(child, 'message')
    pin(child.pid!, loadCore)
    return new Load(child, smtpPort)
  }

  get pid(): number {
    return this.#child.pid!
  }

  async keep(deck: Deck): Promise<void> {
    await this.#ask(deck)
  }

  carryOut(order: Order): Promise<Slice[]> {
    return this.#ask(order)
  }

  #ask(message: Deck | Order): Promise<Slice[]> {
    const answer = Promise.withResolvers<Slice[]>()
    const id = this.#asked++
    this.#waiting.set(id, answer)
    this.#child.send({ id, message })
    return answer.promise
  }
}
