/** What this device remembers between visits. If the browser refuses storage, it remembers nothing. */

type Name = 'language' | 'role' | 'signed-in' | `seen.${string}`

const key = (name: Name) => `chiron.${name}`

export function recall(name: Name): string | null {
  try {
    return localStorage.getItem(key(name))
  } catch {
    return null
  }
}

export function remember(name: Name, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key(name))
    else localStorage.setItem(key(name), value)
  } catch {}
}

/** Everything that was remembered for one person; language and role stay. */
export function forgetPeople(): void {
  try {
    for (const each of Object.keys(localStorage))
      if (each.startsWith(key('seen.'))) localStorage.removeItem(each)
  } catch {}
}
