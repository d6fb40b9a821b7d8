/** Whether this device is online, and retries while the service is unavailable. */
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

/** Retries every few seconds, and as soon as the device is online, until the problem is over. */
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
