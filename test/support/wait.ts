/** Waiting for what happens in its own time, without a guess at how long it takes. */
import type { Service } from './service.ts'

/** For what is not going to happen; a machine with much else to do must not use it up. */
export const patienceMs = 120_000
const pauseMs = 20

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** What `look` gives as soon as it is neither undefined nor false. */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > deadline) throw new Error(`waited in vain: ${what}`)
    await pause(pauseMs)
  }
}

/** What `ask` answers, as soon as the answer satisfies. */
export async function until<T>(ask: () => Promise<T>, satisfies: (answer: T) => boolean): Promise<T> {
  const { answer } = await eventually('an answer that satisfies', async () => {
    const answer = await ask()
    return satisfies(answer) && { answer }
  })
  return answer
}

/** Every mail was sent or dropped. */
export async function outboxEmpty({ rows }: Pick<Service, 'rows'>): Promise<void> {
  await eventually('an empty outbox', async () => (await rows('select id from outbox')).length === 0)
}
