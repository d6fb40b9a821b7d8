/** What was typed so far, kept while the reader switches between the forms. */
import type { ServedRole } from '../people.ts'

export const draft: { role: ServedRole; email: string; firstname: string; lastname: string } = {
  role: 'veterinarian',
  email: '',
  firstname: '',
  lastname: '',
}

/** Catches only obvious mistakes; the service has the real rules. */
export const looksLikeAddress = (text: string): boolean => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text.trim())
