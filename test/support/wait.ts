/** Waits for conditions instead of guessing how long something takes. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Service } from './service.ts'

/** Generous, so that only something that never happens times out, even on a busy machine. */
export const patienceMs = 120_000
// Looks often at first, then less and less: looking is work, and requests are counted by the service's limits.
const firstPauseMs = 10
const pauseShare = 0.1

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Waits until `look` returns something other than undefined or false. */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const began = performance.now()
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    const waitedMs = performance.now() - began
    if (waitedMs > patienceMs) throw new Error(`timed out waiting: ${what}`)
    await pause(Math.max(firstPauseMs, waitedMs * pauseShare))
  }
}

/** Repeats `ask` until its answer satisfies. */
export async function until<T>(ask: () => Promise<T>, satisfies: (answer: T) => boolean): Promise<T> {
  const { answer } = await eventually('an answer that satisfies', async () => {
    const answer = await ask()
    return satisfies(answer) && { answer }
  })
  return answer
}

/** Reads until it finds what is expected, because a page may react late. Otherwise fails as `assert.deepEqual` does. */
export async function soon<T>(read: () => Promise<T>, expected: T): Promise<void> {
  let found: T | undefined
  const isExpected = async () => {
    found = await read()
    return isDeepStrictEqual(found, expected)
  }
  await eventually('what is expected', isExpected).catch((error) => {
    assert.deepEqual(found, expected)
    throw error
  })
}

/** Waits until every mail was sent or dropped. */
export async function outboxEmpty({ rows }: Pick<Service, 'rows'>): Promise<void> {
  await eventually('an empty outbox', async () => (await rows('select id from outbox')).length === 0)
}
