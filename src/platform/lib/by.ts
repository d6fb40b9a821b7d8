/** Who made a change, and in which request. Events record it. */
import type { Caller } from './bucket.ts'

export interface By {
  /** `self`, `system`, `operator` for the command line, or the id of a member of staff. */
  readonly actor: string
  readonly requestId: string | null
  readonly network: string | null
}

export const bySystem: By = { actor: 'system', requestId: null, network: null }
export const byOperator: By = { actor: 'operator', requestId: null, network: null }

/** A person who changes their own data. */
export function bySelf({ network, requestId }: Caller): By {
  return { actor: 'self', requestId, network: network.fingerprint }
}
