/** One turn of single requests: as fast as they are answered, or at a given rate. */
import type { Connection } from './http.ts'
import type { Source } from './requests.ts'
import type { Tally } from './tally.ts'

export interface Turn {
  readonly requests: number
  readonly seconds: number
  readonly connections: readonly Connection[]
  readonly tally: Tally
}

/** Each connection asks again as soon as it has its answer. */
export async function closedLoop(
  { requests, seconds, connections, tally }: Turn,
  next: Source,
): Promise<void> {
  const until = performance.now() + seconds * 1000
  let left = requests
  const caller = (connection: Connection) =>
    new Promise<void>((resolve) => {
      const one = () => {
        const since = performance.now()
        if (left-- <= 0 || since >= until) return resolve()
        const asked = next()
        connection.send(asked.request, (reply) => {
          tally.replied(since)
          if (asked.isRight(reply)) tally.right()
          else tally.wrong(reply)
          if (reply === '') return resolve()
          one()
        })
      }
      one()
    })
  await Promise.all(connections.map(caller))
}

/** Sends when a request is due, whether or not those before it have been answered. */
export function atRate(
  { requests, seconds, connections, tally }: Turn,
  rate: number,
  next: Source,
): Promise<void> {
  return new Promise((resolve) => {
    const free = [...connections]
    const started = performance.now()
    const until = started + seconds * 1000
    let sent = 0
    const dueAt = () => started + (sent * 1000) / rate
    const isLast = () => sent >= requests || performance.now() >= until
    const sendDue = () => {
      while (!isLast() && dueAt() <= performance.now() && free.length > 0) {
        const [connection, due, asked] = [free.pop()!, dueAt(), next()]
        sent++
        connection.send(asked.request, (reply) => {
          tally.replied(due)
          if (asked.isRight(reply)) tally.right()
          else tally.wrong(reply)
          free.push(connection)
          sendDue()
        })
      }
    }
    const turn = () => {
      sendDue()
      if (isLast() && free.length === connections.length) return resolve()
      setTimeout(turn, 1)
    }
    turn()
  })
}
