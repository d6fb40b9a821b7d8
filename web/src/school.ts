import type { Method, Role } from '../../src/roles.ts'

/** The school's branding, from the page's head. */
const told = (name: string) =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? null

export const school = {
  name: told('school-name'),
  logo: told('school-logo'),
  /** An https or a mailto address. */
  support: told('support'),
  privacy: told('privacy'),
  timeZone: told('time-zone'),
  /** `optional`, or `required` for staff; null if nobody can use passkeys. */
  passkeys: told('passkeys'),
}

/** How people of each role can sign in: `student=code,school staff=code`. */
const methods = Object.fromEntries(
  (told('sign-in') ?? '').split(' ').map((one) => {
    const [role = '', list = ''] = one.split('=')
    return [role, list.split(',')]
  }),
) as Partial<Record<Role, string[]>>

export const isOpen = (role: Role, method: Method): boolean => methods[role]?.includes(method) ?? true

export const brand = school.name ?? 'Chiron'
