/** What was typed on the way in, kept while one goes back and forth between the forms. */
import type { Role } from '../people.ts'

export const draft: { role: Role; email: string; firstname: string; lastname: string } = {
  role: 'veterinarian',
  email: '',
  firstname: '',
  lastname: '',
}

/** Only what is plainly none is refused here; the service has the rules. */
export const looksLikeAddress = (text: string): boolean => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text.trim())
