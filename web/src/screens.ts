/** Screens loaded only after sign-in, to keep the first page small. */
import { lazy } from 'react'
import type { Role } from './people.ts'

const parts = {
  veterinarian: () => import('./veterinarian/veterinarian.tsx'),
  student: () => import('./student/student.tsx'),
  passkeys: () => import('./passkeys/page.tsx'),
  authorize: () => import('./oauth/authorize.tsx'),
  logout: () => import('./oauth/logout.tsx'),
  schoolLinks: () => import('./school-account/page.tsx'),
  publicProfile: () => import('./veterinarian/public-profile.tsx'),
  /** Has a page of its own. */
  staff: async () => {},
}

export const VeterinarianScreens = lazy(async () => ({
  default: (await parts.veterinarian()).VeterinarianScreens,
}))
export const StudentScreens = lazy(async () => ({ default: (await parts.student()).StudentScreens }))
export const Passkeys = lazy(async () => ({ default: (await parts.passkeys()).Passkeys }))
export const Authorize = lazy(async () => ({ default: (await parts.authorize()).Authorize }))
export const Logout = lazy(async () => ({ default: (await parts.logout()).Logout }))
export const SchoolLinks = lazy(async () => ({ default: (await parts.schoolLinks()).SchoolLinks }))
export const PublicProfile = lazy(async () => ({ default: (await parts.publicProfile()).PublicProfile }))

/** Called while the code is being typed. */
export function preload(role: Role): void {
  parts[role]().catch(() => {
    // It is loaded again when needed, and a failure is shown then.
  })
}
