/**
 * The queue in front of the routes. It keeps replies fast when requests exceed capacity.
 *
 * A burst waits here and drains. A queue that does not drain is overload: from then on an adaptive concurrency limit
 * admits only as many requests as are answered in time and refuses the others, until there have been no refusals for a
 * while. A late reply is worth little to its client and delays the next one (docs/decisions/0017-overload.md).
 */
import type { Clock } from '../lib/clock.ts'
import type { FailureLog } from '../lib/failure.ts'

const workingMax = 128
const waitingMax = 5_000
const patienceMs = 3_000
/** When the oldest has waited longer than this, the newest goes first: some are refused instead of all being late. */
const inOrderMs = 1_000
/** In overload, the target time for a request. Requests that still wait after it are refused. */
const inTimeMs = 5
/**
 * In overload, the concurrency limit for running and waiting requests. Adjusted at every tick, by whether most were in
 * time.
 */
const room = { min: 16, max: workingMax + waitingMax, growth: 1.05, shrinkage: 0.8 }
/** Some requests are slow even without load. */
const lateMax = 0.1
/** Overload ends after this long without a refusal. */
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
  room: number
  checkedAt: number
  /** Requests finished since the last tick, and how many of them were late. */
  done: number
  late: number
}

export class RequestQueue {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #log: Pick<FailureLog, 'warn'>
  #working = 0
  /** Oldest first. */
  #waiting: Place[] = []
  #overload: Overload | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Pick<Clock, 'elapsed'>, log: Pick<FailureLog, 'warn'>) {
    this.#clock = clock
    this.#log = log
  }

  get isOverloaded(): boolean {
    return this.#overload !== null
  }

  /** Whether a new request would be refused anyway, so that it need not be processed. */
  get isClosed(): boolean {
    return this.#overload !== null && this.#working + this.#waiting.length >= this.#overload.room
  }

  /** Counts a refusal. */
  noteRefused(): void {
    if (!this.#overload) return
    this.#overload.refused++
    this.#overload.refusedAt = this.#clock.elapsed()
  }

  /** `turn` is called when the request may run, usually at once, or when it is refused. */
  enter(turn: Place['turn']): Place {
    const place: Place = { since: this.#clock.elapsed(), turn, state: 'waiting' }
    if (this.#working < workingMax) this.#start(place)
    else this.#wait(place)
    return place
  }

  /** Call when the reply is ready or the client has left; idempotent. */
  leave(place: Place): void {
    const { state } = place
    place.state = 'left'
    if (state !== 'working') return
    this.#working--
    if (this.#overload) {
      this.#overload.done++
      if (this.#clock.elapsed() - place.since > inTimeMs) this.#overload.late++
    }
    this.#takeNext()
  }

  #start(place: Place): void {
    place.state = 'working'
    this.#working++
    place.turn(true)
  }

  #wait(place: Place): void {
    if (this.#waiting.length >= waitingMax) this.#checkOverload({ isFull: true })
    if (this.#waiting.length >= waitingMax) return void this.#refuse(place)
    this.#waiting.push(place)
    this.#timer ??= setInterval(() => this.#checkOverload({ isFull: false }), tickMs).unref()
  }

  #refuse(place: Place): void {
    if (place.state === 'left') return
    place.state = 'left'
    this.noteRefused()
    place.turn(false)
  }

  #takeNext(): void {
    while (this.#waiting.length > 0 && this.#working < workingMax) {
      const newestFirst = this.#clock.elapsed() - this.#waiting[0]!.since > inOrderMs
      const place = newestFirst ? this.#waiting.pop()! : this.#waiting.shift()!
      if (place.state === 'waiting') this.#start(place)
    }
  }

  #checkOverload({ isFull }: { isFull: boolean }): void {
    const now = this.#clock.elapsed()
    const longest = now - (this.#waiting[0]?.since ?? now)
    if (!this.#overload && (isFull || longest >= patienceMs)) {
      const start = { room: workingMax, checkedAt: now, done: 0, late: 0 }
      this.#overload = { since: now, refused: 0, refusedAt: now, ...start }
      this.#log.warn({ waiting: this.#waiting.length }, 'overloaded; refusing queued requests')
    }
    if (this.#overload) this.#shed(this.#overload, now)
    if (this.#overload || this.#waiting.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #shed(overload: Overload, now: number): void {
    // Oldest first, so late requests are at the front.
    const inTime = this.#waiting.findIndex(({ since }) => now - since < inTimeMs)
    const tooLate = this.#waiting.splice(0, inTime < 0 ? this.#waiting.length : inTime)
    for (const place of tooLate) this.#refuse(place)

    // A late tick has waited for the event loop like any other event.
    const isLate = now - overload.checkedAt >= tickMs + inTimeMs
    const keepsUp = !isLate && tooLate.length === 0 && overload.late <= overload.done * lateMax
    overload.room = keepsUp
      ? Math.min(room.max, overload.room * room.growth)
      : Math.max(room.min, overload.room * room.shrinkage)
    Object.assign(overload, { checkedAt: now, done: 0, late: 0 })

    if (this.isClosed || now - overload.refusedAt < calmAfterMs) return
    this.#overload = null
    const { refused, since } = overload
    this.#log.warn({ refused, forMs: now - since }, 'no longer overloaded')
  }
}
