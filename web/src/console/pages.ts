/** A paged list, reloaded from the start when its path changes. */
import { useCallback, useEffect, useState } from 'react'
import { asProblem, type Problem } from '../http.ts'
import { ask } from '../session.ts'

interface Pages<T> {
  /** Undefined until the first page is here. */
  readonly items: readonly T[] | undefined
  readonly problem: Problem | null
  readonly busy: boolean
  readonly hasMore: boolean
  /** Nothing was found, and these are similar. */
  readonly isSimilar: boolean
  more(): void
  reload(): void
}

/** `pathOf` null: nothing to read. Replies have the items under `name`, and a `next`. */
export function usePages<T>(path: string | null, name: string, waitMs = 0): Pages<T> {
  const [state, setState] = useState<{
    path: string | null
    items: readonly T[] | undefined
    next: string | null
    isSimilar?: boolean
    problem: Problem | null
  }>({ path, items: undefined, next: null, problem: null })
  const [busy, setBusy] = useState(false)
  const [round, setRound] = useState(0)

  const read = useCallback(
    async (from: string, after: string | null, signal?: AbortSignal) => {
      const joint = from.includes('?') ? '&' : '?'
      const whole = after === null ? from : `${from}${joint}after=${encodeURIComponent(after)}`
      const reply = await ask<Record<string, unknown>>(whole, signal ? { signal } : {})
      return {
        items: reply[name] as readonly T[],
        next: (reply.next ?? null) as string | null,
        isSimilar: reply.similar === true,
      }
    },
    [name],
  )

  useEffect(() => {
    if (path === null) return
    const leaving = new AbortController()
    const { signal } = leaving
    const timer = setTimeout(() => {
      setBusy(true)
      read(path, null, signal)
        .then(
          (page) => !signal.aborted && setState({ path, ...page, problem: null }),
          (error) =>
            !signal.aborted && setState({ path, items: undefined, next: null, problem: asProblem(error) }),
        )
        .finally(() => !signal.aborted && setBusy(false))
    }, waitMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
      setBusy(false)
    }
  }, [path, read, waitMs, round])

  const current =
    state.path === path ? state : { items: undefined, next: null, isSimilar: false, problem: null }
  const more = () => {
    if (path === null || busy) return
    setBusy(true)
    read(path, current.next)
      .then(
        (page) =>
          setState((before) =>
            before.path === path
              ? { path, items: [...(before.items ?? []), ...page.items], next: page.next, problem: null }
              : before,
          ),
        (error) => setState((before) => ({ ...before, problem: asProblem(error) })),
      )
      .finally(() => setBusy(false))
  }
  return {
    items: current.items,
    problem: current.problem,
    busy,
    hasMore: current.next !== null,
    isSimilar: current.isSimilar === true,
    more,
    reload: () => setRound((before) => before + 1),
  }
}
