/**
 * The form input so far: kept while the reader switches between the forms, cleared at sign-in. On a shared computer
 * the next reader may have another role.
 */
import { recall, remember, shareComputer } from './device.ts'
import { type ServedRole, servedRoles } from './people.ts'
import { isShared } from './shared-computer.ts'

interface Draft {
  /** Null until the reader has chosen on this device: a wrong guess would make a student register. */
  role: ServedRole | null
  email: string
  firstname: string
  lastname: string
  /** Whether the reader was typing the address when this script arrived. */
  typing: boolean
}

const blank = { email: '', firstname: '', lastname: '', typing: false }

export const draft: Draft = { role: servedRoles.find((role) => role === recall('role')) ?? null, ...blank }

export function chooseRole(role: ServedRole): void {
  draft.role = role
  remember('role', role)
}

export function forgetDraft(): void {
  Object.assign(draft, blank, isShared() && { role: null })
}

/** Takes over input typed into the form of index.html before this script had loaded. */
export function takeOver(): void {
  for (const input of document.querySelectorAll<HTMLInputElement>('.static input')) {
    if (input.type === 'email' && input.value !== '') draft.email = input.value
    if (input.type === 'email' && input === document.activeElement) draft.typing = true
    if (input.name === 'shared' && input.checked !== isShared()) shareComputer(input.checked)
    const role = servedRoles.find((each) => each === input.value)
    if (role && input.checked) chooseRole(role)
  }
}

/** Catches only obvious mistakes; the service has the real rules. */
export const looksLikeAddress = (text: string): boolean => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text.trim())
