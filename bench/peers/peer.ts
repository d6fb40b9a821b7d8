/** What the benchmark needs to know of a peer. */
import type { Request, SignInFlow } from '../load.ts'
import type { Server } from '../processes.ts'

export interface PeerSizes {
  readonly folder: string
  readonly smtpUrl: string
  readonly accounts: number
  readonly tokens: number
}

export interface Peer {
  readonly name: string
  readonly server: Server
  /** Requests for one's own record, one for each session. */
  readonly own: readonly Request[]
  readonly flow: SignInFlow
}

/** The address of an account in every peer. */
export const addressOf = (account: number) => `user${account}@school.example`
