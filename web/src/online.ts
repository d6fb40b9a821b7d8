/** Whether this device has a network, and patience while the service has none for us. */
import { useEffect, useSyncExternalStore } from 'react'
import type { Problem } from './http.ts'

const pauseMs = 5_000

function subscribe(listener: () => void): () => void {
  addEventListener('online', listener)
  addEventListener('offline', listener)
  return () => {
    removeEventListener('online', listener)
    removeEventListener('offline', listener)
  }
}

export const useOnline = (): boolean => useSyncExternalStore(subscribe, () => navigator.onLine)

/** Reads again, every few seconds and as soon as there is a network, until the problem is over. */
export function useReadAgain(problem: Problem | null, read: () => void): void {
  useEffect(() => {
    if (problem?.code !== 'unreachable' && problem?.code !== 'unavailable') return
    const look = () => document.visibilityState === 'visible' && read()
    const timer = setTimeout(look, Math.max(pauseMs, (problem.retryAt ?? 0) - Date.now()))
    addEventListener('online', look)
    return () => {
      clearTimeout(timer)
      removeEventListener('online', look)
    }
  }, [problem, read])
}
