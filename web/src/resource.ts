/** Caches what was read from the service until sign-out: it is shown at once on return, then read again. */
import { useCallback, useEffect, useState } from 'react'
import { asProblem, type Problem } from './http.ts'

const kept = new Map<string, unknown>()

export function forgetAll(): void {
  kept.clear()
}

export interface Resource<T> {
  /** Undefined until it is loaded. */
  readonly data: T | undefined
  /** Why the last attempt failed; `data` may still hold an earlier result. */
  readonly problem: Problem | null
  reload(): void
  /** Replaces the cached data, for example after a change. */
  replace(data: T): void
}

export function useResource<T>(key: string, read: (key: string) => Promise<T>): Resource<T> {
  const [shown, setShown] = useState<{ key: string; data: T | undefined; problem: Problem | null }>({
    key,
    data: kept.get(key) as T | undefined,
    problem: null,
  })
  const [round, setRound] = useState(0)

  useEffect(() => {
    let wanted = true
    read(key).then(
      (data) => {
        if (!wanted) return
        kept.set(key, data)
        setShown({ key, data, problem: null })
      },
      (error) => {
        if (wanted) setShown({ key, data: kept.get(key) as T | undefined, problem: asProblem(error) })
      },
    )
    return () => {
      wanted = false
    }
  }, [key, read, round])

  useEffect(() => {
    // A page left open overnight must show the new day when it is looked at again.
    const look = () => {
      if (document.visibilityState === 'visible') setRound((before) => before + 1)
    }
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])

  const reload = useCallback(() => setRound((before) => before + 1), [])
  const replace = useCallback(
    (data: T) => {
      kept.set(key, data)
      setShown({ key, data, problem: null })
    },
    [key],
  )
  const current = shown.key === key ? shown : { data: kept.get(key) as T | undefined, problem: null }
  return { data: current.data, problem: current.problem, reload, replace }
}
