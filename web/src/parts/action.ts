import { useCallback, useState } from 'react'
import { useSecondsUntil } from '../clock.ts'
import { asProblem, type Problem } from '../http.ts'

/** An action behind a button: whether it is running, how it failed, and how long to wait. */
export function useAction<A extends unknown[]>(work: (...args: A) => Promise<void>) {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const run = useCallback(
    async (...args: A) => {
      setBusy(true)
      setProblem(null)
      try {
        await work(...args)
      } catch (error) {
        setProblem(asProblem(error))
      } finally {
        setBusy(false)
      }
    },
    [work],
  )
  const waits = useSecondsUntil(problem?.retryAt ?? null) > 0
  return { busy, waits, problem, run, forget: () => setProblem(null) }
}
