/**
 * A sign-in that has gone to the provider. All of it is sealed in a cookie, so nothing is stored before the answer, and an
 * answer counts only in the browser that asked.
 */
import { randomBytes } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'
import { minute } from '../../platform/lib/clock.ts'
import { newToken } from '../../platform/lib/random.ts'
import { seal, unseal } from '../../platform/lib/seal.ts'
import type { Secrets } from '../../platform/lib/secret.ts'
import type { SchoolRole } from '../../roles.ts'

const inProgressTtlMs = 10 * minute
/** The release before reads sign-ins that are not deflated; it refuses longer paths. */
const plainReturnMax = 2_000

/** Separates it from other sealed texts. */
const owner = 'school sign-in'

export interface InProgress {
  readonly providerId: string
  readonly role: SchoolRole
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** The path to go on to. */
  readonly returnTo: string
  readonly startedAt: number
  /** Whether others use the browser, too. The cookie that says so is not sent with the answer. */
  readonly shared: boolean
  /** The session that connects the account; null for a sign-in. */
  readonly linkFor: { readonly sessionId: string; readonly personId: string } | null
}

export function newInProgress(
  about: Pick<InProgress, 'providerId' | 'role' | 'returnTo' | 'shared' | 'linkFor'>,
  now: number,
): InProgress {
  return {
    ...about,
    state: newToken(),
    nonce: newToken(),
    verifier: randomBytes(48).toString('base64url'),
    startedAt: now,
  }
}

export function sealInProgress(secrets: Secrets, inProgress: InProgress): string {
  const json = JSON.stringify(inProgress)
  return seal(secrets, owner, inProgress.returnTo.length > plainReturnMax ? deflateSync(json) : json)
}

/** Null if it is not ours, or too old. */
export function readInProgress(secrets: Secrets, sealed: string, now: number): InProgress | null {
  const opened = unseal(secrets, owner, sealed)
  if (opened === null) return null
  const { text, bytes } = opened
  const inProgress: InProgress = JSON.parse(text.startsWith('{') ? text : inflateSync(bytes).toString())
  const age = now - inProgress.startedAt
  return age >= 0 && age <= inProgressTtlMs ? inProgress : null
}
