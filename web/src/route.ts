/**
 * The current place in the portal: `#/sessions`, `#/classes/{id}`, `#/events?actor=system`. The part after `#` is never
 * sent to a server.
 */
import { useMemo, useSyncExternalStore } from 'react'

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  addEventListener('popstate', listener)
  return () => {
    removeEventListener('hashchange', listener)
    removeEventListener('popstate', listener)
  }
}

/** The segments of the path; empty on the first page. */
export function useRoute(): readonly string[] {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  return hash
    .replace(/^#\/?|\?.*$/g, '')
    .split('/')
    .filter(Boolean)
    .map(decoded)
}

/** What the address of the page asks for, such as filters, and how to change it; empty values are left out. */
export function useQuery(): [URLSearchParams, (changes: Readonly<Record<string, string>>) => void] {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  const [place = '', text = ''] = hash.split('?')
  const query = useMemo(() => new URLSearchParams(text), [text])
  const change = (changes: Readonly<Record<string, string>>) => {
    const all = { ...Object.fromEntries(query), ...changes }
    const next = new URLSearchParams(Object.entries(all).filter(([, value]) => value !== '')).toString()
    go(next === '' ? place : `${place}?${next}`, { replace: true })
  }
  return [query, change]
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The page for another application that this is, if it is one. */
export const pageForClient = /^\/oauth\/(authorize|logout)$/.exec(location.pathname)?.[1] ?? null

let navigated = false
addEventListener('popstate', () => {
  navigated = true
})
addEventListener('hashchange', () => {
  navigated = true
})

/** Whether the reader has navigated since the page was loaded. */
export const wasNavigated = (): boolean => navigated

/** `state` is kept in this tab's history entry and survives a reload. */
export function go(
  hash: string,
  { state = null, replace = false }: { state?: unknown; replace?: boolean } = {},
) {
  if (replace) history.replaceState(state, '', hash)
  else history.pushState(state, '', hash)
  dispatchEvent(new PopStateEvent('popstate'))
}
