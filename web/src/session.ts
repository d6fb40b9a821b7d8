/**
 * Who is signed in. The access token is only in this module's memory; the refresh token is in a cookie that scripts
 * cannot read. The device only remembers that there was a sign-in, so that a first visit sends no request. Tabs share
 * the cookie: they use it one at a time under a lock, and tell each other about sign-in and sign-out.
 */
import { useSyncExternalStore } from 'react'
import type { Static } from 'typebox'
import type { LogoutReply as LogoutReplySchema } from '../../src/identity/oauth/authorize-schemas.ts'
import type { PortalTokenReply } from '../../src/identity/session/schemas.ts'
import type { Answer } from '../../src/identity/sign-in/schemas.ts'
import { forgetPeople, recall, remember } from './device.ts'
import { forgetDraft } from './draft.ts'
import { asProblem, type Call, type Problem, type ProblemCode, send } from './http.ts'
import { forgetOffline, lastForOffline } from './offline.ts'
import { isStaff, type Role, type User } from './people.ts'
import { registerWorker } from './register-worker.ts'
import { forgetAll, keep } from './resource.ts'
import { go } from './route.ts'
import { isShared } from './shared-computer.ts'

export type Session =
  | { readonly state: 'starting' }
  | { readonly state: 'unreachable'; readonly problem: Problem }
  | { readonly state: 'out'; readonly reason: Farewell | null }
  | { readonly state: 'in'; readonly user: User }

export type Farewell = 'signed-out' | 'signed-out-elsewhere' | 'ended' | 'closed'

type TokenReply = Omit<Static<ReturnType<typeof PortalTokenReply>>, 'user'> & { readonly user: User }

const renewBeforeMs = 30_000

let session: Session = { state: 'starting' }
let token: { readonly value: string; readonly freshUntil: number } | null = null
let refreshing: Promise<void> | null = null

const listeners = new Set<() => void>()
const tabs = new BroadcastChannel('chiron')

function become(next: Session): void {
  session = next
  for (const listener of listeners) listener()
}

export function useSession(): Session {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => session,
  )
}

function admit({ access_token: value, expires_in, user }: TokenReply): void {
  const other = session.state === 'in' && session.user.userId !== user.userId
  if (other) forgetAll()
  if (!token && !isStaff(user) && !isShared()) registerWorker()
  token = { value, freshUntil: Date.now() + expires_in * 1000 - renewBeforeMs }
  remember('signed-in', '1')
  remember('waiting', null)
  forgetDraft()
  become({ state: 'in', user })
}

function leave(reason: Farewell | null): void {
  token = null
  remember('signed-in', null)
  forgetPeople()
  forgetOffline()
  forgetAll()
  become({ state: 'out', reason })
  // In the portal the next person must not land on a page of the last one. After a session that merely ended, it is
  // the same person.
  if (reason !== 'ended' && location.pathname === '/' && location.hash.length > 2 && !isRefusal())
    go('#/', { replace: true })
}

/** A sign-in elsewhere was refused, and this is what the page says. */
const isRefusal = () => location.hash.startsWith('#/school-refused')

/**
 * One tab at a time. Locks need a secure context; without them the service's grace period for refresh tokens has to do.
 */
const alone = <T>(work: () => Promise<T>): Promise<T> =>
  navigator.locks ? (navigator.locks.request('chiron.cookie', work) as Promise<T>) : work()

function refresh(): Promise<void> {
  refreshing ??= alone(async () => {
    try {
      admit(await send<TokenReply>('/portal/refresh', { method: 'POST' }))
    } catch (error) {
      // Several calls may find that the session has ended; the first says so.
      const isOver = asProblem(error).status === 401 && session.state !== 'out'
      if (isOver) leave(session.state === 'in' ? 'ended' : null)
      throw error
    }
  }).finally(() => {
    refreshing = null
  })
  return refreshing
}

/**
 * Called when the page loads, and again to retry. Without a network a student sees the last class list; the first call
 * that gets through renews the sign-in. `anyway` asks the service even if this device remembers no sign-in.
 */
export async function resume({ anyway = false } = {}): Promise<void> {
  if (!anyway && recall('signed-in') === null) return become({ state: 'out', reason: null })
  try {
    await refresh()
  } catch (error) {
    if (asProblem(error).status === 401) return
    const last = await lastForOffline()
    if (!last) return become({ state: 'unreachable', problem: asProblem(error) })
    keep(last.path, last.data, last.at)
    become({ state: 'in', user: last.user })
  }
}

// A wrong code is 401 as well, and must not be sent twice.
const tokenRefused: readonly ProblemCode[] = ['unauthenticated', 'invalid-token', 'session-ended']

/** Makes a call with the access token. */
export function ask<T>(path: string, call: Call = {}): Promise<T> {
  return withToken((value) => send<T>(path, { ...call, token: value }))
}

/** If the token is refused, it is renewed once. */
export async function withToken<T>(work: (token: string) => Promise<T>): Promise<T> {
  if (!token || token.freshUntil < Date.now()) await refresh()
  try {
    return await work(token!.value)
  } catch (error) {
    if (!tokenRefused.includes(asProblem(error).code)) throw error
    await refresh()
    return work(token!.value)
  }
}

/** Safe to repeat with the same key if no reply came. */
export async function signIn(
  role: Role,
  answer: Static<typeof Answer>,
  idempotencyKey: string,
): Promise<void> {
  const call: Call = { method: 'POST', body: answer, idempotencyKey }
  await alone(async () => admit(await send<TokenReply>(`/portal/${role}/validate-otp`, call)))
  byCode = true
  tabs.postMessage('in')
}

/** The reply says whose passkey it is, of any role. Safe to repeat with the same key if no reply came. */
export async function signInWithPasskey(credential: object, idempotencyKey: string): Promise<void> {
  const call: Call = { method: 'POST', body: { credential }, idempotencyKey }
  await alone(async () => admit(await send<TokenReply>('/portal/passkey/validate', call)))
  tabs.postMessage('in')
}

let byCode = false

/** Whether the reader has signed in with a code since the page was loaded. */
export const cameByCode = (): boolean => byCode

/** Throws if the service could not be reached; the person is then still signed in. */
export async function signOut(reason: Farewell = 'signed-out'): Promise<void> {
  // Also when the service cannot be reached: what is on this device goes at once.
  await forgetOffline()
  await alone(() => send('/portal/sign-out', { method: 'POST' }))
  leave(reason)
  tabs.postMessage('out')
}

export type LogoutReply = Static<typeof LogoutReplySchema>

/** Signs out because an application asks for it, unless the service wants to be sure first. */
export async function signOutFor(body: { query: string; confirmed?: true }): Promise<LogoutReply> {
  const reply = await alone(() => send<LogoutReply>('/portal/logout', { method: 'POST', body }))
  if ('need' in reply) return reply
  await forgetOffline()
  leave('signed-out')
  tabs.postMessage('out')
  return reply
}

export function rename(user: User): void {
  become({ state: 'in', user })
}

function quietly(work: Promise<void>): void {
  work.catch(() => {
    // The next call runs into the same problem and shows it.
  })
}

tabs.addEventListener('message', ({ data }) => {
  if (data === 'out' && session.state !== 'out') leave('signed-out-elsewhere')
  if (data === 'in') quietly(refresh())
})

// A page restored from the back-forward cache has missed messages from other tabs.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted && session.state === 'in') quietly(refresh())
})
