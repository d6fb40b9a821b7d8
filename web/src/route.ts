/** Where in the portal one is: `#/sessions`, `#/classes/{id}`. Nothing after `#` is ever sent to a server. */
import { useSyncExternalStore } from 'react'

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  addEventListener('popstate', listener)
  return () => {
    removeEventListener('hashchange', listener)
    removeEventListener('popstate', listener)
  }
}

/** The parts between slashes; none on the first page. */
export function useRoute(): readonly string[] {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  return hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decoded)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

let navigated = false
addEventListener('popstate', () => {
  navigated = true
})
addEventListener('hashchange', () => {
  navigated = true
})

/** Whether one has moved since the page was loaded. */
export const wasNavigated = (): boolean => navigated

/** `state` stays with the entry of this tab's history, over reloads too. */
export function go(
  hash: string,
  { state = null, replace = false }: { state?: unknown; replace?: boolean } = {},
) {
  if (replace) history.replaceState(state, '', hash)
  else history.pushState(state, '', hash)
  dispatchEvent(new PopStateEvent('popstate'))
}
