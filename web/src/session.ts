/**
 * Who is signed in. The access token lives in this module's memory and nowhere else; the refresh token is in a cookie
 * that scripts cannot read. What is remembered in localStorage is only that there was a sign-in, so that a stranger's
 * visit asks nothing.
 *
 * Tabs share the cookie. They use it one after the other, under a lock, and tell each other of sign-in and sign-out.
 */
import { useSyncExternalStore } from 'react'
import { asProblem, type Call, type Problem, send } from './http.ts'
import type { Role, User } from './people.ts'
import { forgetAll } from './resource.ts'

export type Session =
  | { readonly state: 'starting' }
  | { readonly state: 'unreachable'; readonly problem: Problem }
  | { readonly state: 'out'; readonly reason: Farewell | null }
  | { readonly state: 'in'; readonly user: User }

/** Why somebody who was signed in no longer is. */
export type Farewell = 'signed-out' | 'signed-out-elsewhere' | 'ended' | 'closed'

interface TokenReply {
  readonly access_token: string
  readonly expires_in: number
  readonly user: User
}

const hint = 'chiron.signed-in'
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
  token = { value, freshUntil: Date.now() + expires_in * 1000 - renewBeforeMs }
  remember(true)
  become({ state: 'in', user })
}

function leave(reason: Farewell | null): void {
  token = null
  remember(false)
  forgetAll()
  become({ state: 'out', reason })
}

/** Storage may be refused; then a reload asks for a code again. */
function remember(signedIn: boolean): void {
  try {
    if (signedIn) localStorage.setItem(hint, '1')
    else localStorage.removeItem(hint)
  } catch {}
}

function wasSignedIn(): boolean {
  try {
    return localStorage.getItem(hint) !== null
  } catch {
    return false
  }
}

/** One tab at a time. Without a secure context there are no locks, and the service's grace has to do. */
const alone = <T>(work: () => Promise<T>): Promise<T> =>
  navigator.locks ? (navigator.locks.request('chiron.cookie', work) as Promise<T>) : work()

/** A new access token for the cookie. */
function refresh(): Promise<void> {
  refreshing ??= alone(async () => {
    try {
      admit(await send<TokenReply>('/portal/refresh', { method: 'POST' }))
    } catch (error) {
      if (asProblem(error).status === 401) leave(session.state === 'in' ? 'ended' : null)
      throw error
    }
  }).finally(() => {
    refreshing = null
  })
  return refreshing
}

/** On loading the page, and again when it could not be done. */
export async function resume(): Promise<void> {
  if (!wasSignedIn()) return become({ state: 'out', reason: null })
  try {
    await refresh()
  } catch (error) {
    if (asProblem(error).status !== 401) become({ state: 'unreachable', problem: asProblem(error) })
  }
}

/** A call in the name of who is signed in. A token that was refused is renewed, once. */
export async function ask<T>(path: string, call: Call = {}): Promise<T> {
  if (!token || token.freshUntil < Date.now()) await refresh()
  try {
    return await send<T>(path, { ...call, token: token!.value })
  } catch (error) {
    if (asProblem(error).status !== 401) throw error
    await refresh()
    return send<T>(path, { ...call, token: token!.value })
  }
}

export interface Answer {
  readonly email: string
  readonly otp_code: number
  readonly sessionId: string
}

/** May be repeated with the same key when no reply came: whoever was let in is let in again. */
export async function signIn(role: Role, answer: Answer, idempotencyKey: string): Promise<void> {
  const call: Call = { method: 'POST', body: answer, idempotencyKey }
  await alone(async () => admit(await send<TokenReply>(`/portal/${role}/validate-otp`, call)))
  tabs.postMessage('in')
}

/** Throws when the service could not be told: then one still is signed in. */
export async function signOut(reason: Farewell = 'signed-out'): Promise<void> {
  await alone(() => send('/portal/sign-out', { method: 'POST' }))
  leave(reason)
  tabs.postMessage('out')
}

export function rename(user: User): void {
  become({ state: 'in', user })
}

function quietly(work: Promise<void>): void {
  work.catch(() => {
    // The next call finds out and says so.
  })
}

tabs.addEventListener('message', ({ data }) => {
  if (data === 'out' && session.state !== 'out') leave('signed-out-elsewhere')
  if (data === 'in') quietly(refresh())
})

// A page taken back from the browser's memory has heard nothing meanwhile.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted && session.state === 'in') quietly(refresh())
})
