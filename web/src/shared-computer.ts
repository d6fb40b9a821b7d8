/**
 * Whether the reader has said that others use this computer too. The mark is a cookie that ends with the browser:
 * every tab and the service see it (src/platform/http/portal.ts), and it needs no clean-up.
 */
import { useSyncExternalStore } from 'react'

const isSecure = location.protocol === 'https:'
const mark = `${isSecure ? '__Host-' : ''}chiron_shared=1`
const listeners = new Set<() => void>()

export const isShared = (): boolean => document.cookie.split('; ').includes(mark)

/** For device.ts, which moves what was remembered so far. */
export function setShared(shared: boolean): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in browsers that people use
  document.cookie = `${mark}; Path=/; SameSite=Strict${isSecure ? '; Secure' : ''}${shared ? '' : '; Max-Age=0'}`
  for (const listener of listeners) listener()
}

export function useShared(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, isShared)
}
