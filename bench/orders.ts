/** What the benchmark asks of its load process, and what it gets back. */

/** A request as it goes over the wire and what its reply must hold; or a refresh token; or an address. */
export interface Card {
  readonly text: string
  readonly expected?: string
}

export interface Deck {
  readonly deck: string
  readonly cards: readonly Card[]
}

export type Traffic =
  | { readonly kind: 'requests'; readonly deck: string }
  | { readonly kind: 'refresh'; readonly deck: string }
  | { readonly kind: 'register' }
  | {
      readonly kind: 'sign-ins'
      readonly deck: string
      readonly flow: 'chiron' | 'better-auth' | 'pocketbase'
    }

/** One of those who take turns. */
export interface Side {
  readonly port: number
  readonly traffic: Traffic
  /** Processes whose processor time is wanted: the server's, and its database's where that is apart. */
  readonly server: readonly number[]
  readonly store: readonly number[]
  /** Requests a second; as many as possible without it. Latency then counts from when one was due. */
  readonly rate?: number
  /** A turn ends with so many requests (or sign-ins), or after so many seconds. */
  readonly turnRequests: number
  readonly turnSeconds: number
}

/** One round: sides take short turns until each has had so many requests or so many seconds. */
export interface Order {
  readonly sides: readonly Side[]
  readonly requests: number
  readonly seconds: number
  /** Counts from the very first request, to see a server wake up. */
  readonly cold?: boolean
}

/** Of one side in one round: a slice. */
export interface Slice {
  /** Requests, or whole sign-ins. */
  readonly done: number
  readonly perSecond: number
  /** Processor time for each of them. */
  readonly cpuMicros: number
  readonly storeMicros: number
  /** Of single requests, in milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly failures: number
  /** The first reply that was not as expected. */
  readonly failure: string | null
  /** Of each turn: when it ended, in seconds of load, and processor time for a request. */
  readonly turns: readonly { readonly at: number; readonly cpuMicros: number }[]
}
