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

export const brand = school.name ?? 'Chiron'
