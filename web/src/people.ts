/** Replies of the service about people and classes: types of its own schemas. */
import type { Static } from 'typebox'
import type { OpenSession } from '../../src/identity/session/schemas.ts'
import type { StaffProfile } from '../../src/identity/staff/schemas.ts'
import type { Role } from '../../src/roles.ts'
import type {
  CalendarFeed,
  ClassEntry,
  NewCalendarFeed,
  StudentCard,
  StudentProfile,
  TaughtClass as TaughtClassEntry,
} from '../../src/school/student/schemas.ts'
import type { OwnProfile } from '../../src/school/veterinarian/schemas.ts'

export { type Right, type Role, rights, roles, type ServedRole, servedRoles } from '../../src/roles.ts'

export type Veterinarian = Static<typeof OwnProfile>
export type Student = Static<typeof StudentProfile>
/** A member of staff. They use the console, not the portal. */
export type Staff = Static<typeof StaffProfile>

interface Users {
  veterinarian: Veterinarian
  student: Student
  staff: Staff
}

export type User = Users[Role]

export const isStudent = (user: User): user is Student => 'studentNumber' in user
export const isStaff = (user: User): user is Staff => 'may' in user

export type Class = Static<typeof ClassEntry>
export type Kind = Class['kind']
export type TaughtClass = Static<typeof TaughtClassEntry>

export type Card = Static<typeof StudentCard>
export type Feed = Static<typeof CalendarFeed>
export type NewFeed = Static<typeof NewCalendarFeed>

export type LiveSession = Static<typeof OpenSession>
