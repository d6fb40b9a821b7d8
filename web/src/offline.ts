/**
 * The last class list, shown with its time when there is no network. It is in the browser's cache storage, where no
 * request carries it, and is erased at sign-out. The shell of the page is the service worker's business.
 */
import { assumeClockAhead, clockAheadMs, now } from './clock.ts'
import type { Student } from './people.ts'
import { isShared } from './shared-computer.ts'

const storage = 'chiron.last'
const place = '/last'
/** A sign-in lasts as long without use. */
const keptMs = 30 * 24 * 60 * 60_000

interface Last {
  readonly user: Student
  /** The cached reply, its path and its time. */
  readonly path: string
  readonly data: unknown
  readonly at: number
  /** How far the service's clock is ahead; former versions kept none. */
  readonly aheadMs?: number
}

let erasures = 0

/** On a shared computer, without a secure context, or if storage is full, there is nothing to show offline. */
export async function keepForOffline(user: Student, path: string, data: unknown): Promise<void> {
  if (isShared()) return
  const before = erasures
  const last: Last = { user, path, data, at: now(), aheadMs: clockAheadMs() }
  try {
    const cache = await caches.open(storage)
    await cache.put(place, Response.json(last))
    // Signed out in the meantime.
    if (erasures !== before) await caches.delete(storage)
  } catch {}
}

export async function lastForOffline(): Promise<Last | null> {
  try {
    const reply = await (await caches.open(storage)).match(place)
    const last: Last | undefined = await reply?.json()
    assumeClockAhead(last?.aheadMs ?? 0)
    return last && now() - last.at < keptMs ? last : null
  } catch {
    return null
  }
}

export async function forgetOffline(): Promise<void> {
  erasures++
  try {
    await caches.delete(storage)
  } catch {}
}
