/**
 * The queue in front of the routes. It keeps replies quick when more is asked than the service can do.
 *
 * A burst waits here for its turn and drains. A queue that does not drain is overload: then, until it is empty, fewer
 * requests are worked on at once, few wait, and none longer than a moment; the others are refused. A late reply is worth
 * little to its client, and holds up the next one (docs/decisions/0017-overload.md).
 */
import type { Clock } from '../lib/clock.ts'
import type { FailureLog } from '../lib/failure.ts'

const waitingMax = 5_000
/** When the oldest has waited longer, the newest goes first: some are refused in the end instead of all being late. */
const inOrderMs = 1_000
const usual = { workingMax: 128, patienceMs: 3_000 }
const overloaded = { workingMax: 16, patienceMs: 20, waitingMax: 16 }
/** Overload is over when nobody was refused for so long, and nobody waits. */
const calmAfterMs = 100
const tickMs = 10

export interface Place {
  readonly since: number
  /** Called once, unless the request leaves first. */
  readonly turn: (admitted: boolean) => void
  state: 'waiting' | 'working' | 'left'
}

interface Overload {
  readonly since: number
  refused: number
  refusedAt: number
}

export class RequestQueue {
  readonly #clock: Clock
  readonly #log: Pick<FailureLog, 'warn'>
  #working = 0
  /** Oldest first. */
  #waiting: Place[] = []
  #bounds = usual
  #overload: Overload | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Clock, log: Pick<FailureLog, 'warn'>) {
    this.#clock = clock
    this.#log = log
  }

  /** Whether a newcomer would be refused in any case, so that nothing need be done about it. */
  get isClosed(): boolean {
    return this.#overload !== null && this.#waiting.length >= overloaded.waitingMax
  }

  /** Counts a refusal. */
  noteRefused(): void {
    if (!this.#overload) return
    this.#overload.refused++
    this.#overload.refusedAt = this.#clock.now()
  }

  /** `turn` is called when the request may be worked on, which is usually at once, or refused. */
  enter(turn: Place['turn']): Place {
    const place: Place = { since: this.#clock.now(), turn, state: 'waiting' }
    if (this.#hasRoom()) this.#start(place)
    else this.#wait(place)
    return place
  }

  /** To be called when the reply is ready or the client is gone; also twice. */
  leave(place: Place): void {
    const { state } = place
    place.state = 'left'
    if (state !== 'working') return
    this.#working--
    this.#takeNext()
  }

  #start(place: Place): void {
    place.state = 'working'
    this.#working++
    place.turn(true)
  }

  #wait(place: Place): void {
    if (this.#waiting.length >= waitingMax) this.#tend({ isFull: true })
    if (this.#waiting.length >= waitingMax) return void this.#refuse(place)
    this.#waiting.push(place)
    this.#timer ??= setInterval(() => this.#tend({ isFull: false }), tickMs).unref()
  }

  #refuse(place: Place): void {
    if (place.state === 'left') return
    place.state = 'left'
    this.noteRefused()
    place.turn(false)
  }

  #takeNext(): void {
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      const newestFirst = this.#clock.now() - this.#waiting[0]!.since > inOrderMs
      const place = newestFirst ? this.#waiting.pop()! : this.#waiting.shift()!
      if (place.state === 'waiting') this.#start(place)
    }
    if (this.#waiting.length > 0) return
    this.#stopTimer()
    if (this.#overload && this.#hasRoom()) this.#calmDown(this.#overload)
  }

  #hasRoom(): boolean {
    return this.#working < this.#bounds.workingMax
  }

  #tend({ isFull }: { isFull: boolean }): void {
    const now = this.#clock.now()
    const longest = now - (this.#waiting[0]?.since ?? now)
    if (!this.#overload && (isFull || longest >= this.#bounds.patienceMs)) {
      this.#overload = { since: now, refused: 0, refusedAt: now }
      this.#bounds = overloaded
      this.#log.warn({ waiting: this.#waiting.length }, 'overloaded; requests that wait are refused')
    }
    if (!this.#overload) return
    // The oldest are first, so those who are late are, too.
    const inTime = this.#waiting.findIndex(({ since }) => now - since < overloaded.patienceMs)
    const late = this.#waiting.splice(0, inTime < 0 ? this.#waiting.length : inTime)
    for (const place of late) this.#refuse(place)
    if (this.#waiting.length === 0) this.#stopTimer()
  }

  #calmDown({ since, refused, refusedAt }: Overload): void {
    const now = this.#clock.now()
    if (now - refusedAt < calmAfterMs) return
    this.#overload = null
    this.#bounds = usual
    this.#log.warn({ refused, forMs: now - since }, 'no longer overloaded')
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
