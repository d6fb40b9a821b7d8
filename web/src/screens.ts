/** The parts that are fetched when somebody is let in: a stranger's first screen need not carry them. */
import { lazy } from 'react'
import type { Role } from './people.ts'

const parts = {
  veterinarian: () => import('./veterinarian/veterinarian.tsx'),
  student: () => import('./student/student.tsx'),
  publicProfile: () => import('./veterinarian/public-profile.tsx'),
}

export const VeterinarianScreens = lazy(async () => ({
  default: (await parts.veterinarian()).VeterinarianScreens,
}))
export const StudentScreens = lazy(async () => ({ default: (await parts.student()).StudentScreens }))
export const PublicProfile = lazy(async () => ({ default: (await parts.publicProfile()).PublicProfile }))

/** While the code is typed. */
export function preload(role: Role): void {
  parts[role]().catch(() => {
    // It is asked for again when it is needed, and said then.
  })
}
