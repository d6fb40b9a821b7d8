/** Caches what was read from the service until sign-out: it is shown at once on return, then read again. */
import { useCallback, useEffect, useState } from 'react'
import { now } from './clock.ts'
import { asProblem, type Problem } from './http.ts'

interface Kept<T> {
  readonly data: T
  readonly readAt: number
}

const kept = new Map<string, Kept<unknown>>()

export function forgetAll(): void {
  kept.clear()
}

/** Also for data from an earlier visit. */
export function keep<T>(key: string, data: T, readAt = now()): Kept<T> {
  const entry = { data, readAt }
  kept.set(key, entry)
  return entry
}

export interface Resource<T> {
  /** Undefined until it is loaded. */
  readonly data: T | undefined
  readonly readAt: number | null
  /** Why the last attempt failed; `data` may still hold an earlier result. */
  readonly problem: Problem | null
  reload(): void
  /** Replaces the cached data, for example after a change. */
  replace(data: T): void
}

export function useResource<T>(key: string, read: (key: string) => Promise<T>): Resource<T> {
  const before = () => kept.get(key) as Kept<T> | undefined
  const [shown, setShown] = useState<{ key: string; entry: Kept<T> | undefined; problem: Problem | null }>({
    key,
    entry: before(),
    problem: null,
  })
  const [round, setRound] = useState(0)

  useEffect(() => {
    let wanted = true
    read(key).then(
      (data) => {
        if (wanted) setShown({ key, entry: keep(key, data), problem: null })
      },
      (error) => {
        if (wanted) setShown({ key, entry: before(), problem: asProblem(error) })
      },
    )
    return () => {
      wanted = false
    }
  }, [key, read, round])

  const reload = useCallback(() => setRound((last) => last + 1), [])

  useEffect(() => {
    // A page left open overnight must show the new day when it becomes visible again.
    const look = () => {
      if (document.visibilityState === 'visible') reload()
    }
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [reload])

  const replace = useCallback((data: T) => setShown({ key, entry: keep(key, data), problem: null }), [key])
  const { entry, problem } = shown.key === key ? shown : { entry: before(), problem: null }
  return { data: entry?.data, readAt: entry?.readAt ?? null, problem, reload, replace }
}
