/**
 * Storage on this device between visits; on a shared computer only the tab does, until it is closed. If the browser
 * refuses storage, nothing is remembered.
 */
import { isShared, setShared } from './shared-computer.ts'

type Name = 'language' | 'role' | 'signed-in' | 'waiting' | 'passkey-offered' | `seen.${string}`

const prefix = 'chiron.'
const storage = () => (isShared() ? sessionStorage : localStorage)

export function recall(name: Name): string | null {
  try {
    return storage().getItem(prefix + name)
  } catch {
    return null
  }
}

export function remember(name: Name, value: string | null): void {
  try {
    if (value === null) storage().removeItem(prefix + name)
    else storage().setItem(prefix + name, value)
  } catch {}
}

/** Everything that was remembered for one person. Language and role stay, unless the next person is another one. */
export function forgetPeople(): void {
  forget(isShared() ? prefix : `${prefix}seen.`)
}

/** Moves what was remembered so far to the right storage. */
export function shareComputer(shared: boolean): void {
  try {
    const all = Object.entries(storage()).filter(([name]) => name.startsWith(prefix))
    forget(prefix)
    setShared(shared)
    for (const [name, value] of all) storage().setItem(name, value)
  } catch {
    setShared(shared)
  }
}

function forget(start: string): void {
  try {
    for (const name of Object.keys(storage())) if (name.startsWith(start)) storage().removeItem(name)
  } catch {}
}
