/** Replies of the service about people and classes. */
import type { Right, Role } from '../../src/roles.ts'
import type { Meeting } from '../../src/school/student/classes.ts'

export { type Right, type Role, rights, type ServedRole, servedRoles } from '../../src/roles.ts'

export const kinds = ['course', 'homeroom', 'rotation', 'practical', 'tutorial'] as const
export type Kind = (typeof kinds)[number]

export interface Veterinarian {
  readonly userId: string
  readonly firstname: string
  readonly lastname: string
  readonly email: string
  /** Whether the person gave or confirmed these names. */
  readonly confirmed: boolean
  /** Whether a member of staff has checked who this is. */
  readonly verified: boolean
  readonly createdAt: string
}

export interface Student {
  readonly userId: string
  readonly studentNumber: string | null
  readonly firstname: string
  readonly lastname: string
  readonly preferredName: string | null
  readonly pronouns: string | null
  readonly email: string
  readonly year: number | null
  readonly school: { readonly name: string } | null
}

/** A member of staff. They use the console, not the portal. */
export interface Staff {
  readonly userId: string
  readonly firstname: string
  readonly lastname: string
  readonly email: string
  readonly may: readonly Right[]
}

interface Users {
  veterinarian: Veterinarian
  student: Student
  staff: Staff
}

export type User = Users[Role]

export const isStudent = (user: User): user is Student => 'studentNumber' in user
export const isStaff = (user: User): user is Staff => 'may' in user

export interface Term {
  readonly termId: string
  readonly title: string
  readonly startDate: string
  readonly endDate: string
}

export interface Class {
  readonly classId: string
  readonly code: string | null
  readonly title: string
  readonly kind: Kind
  readonly course: { readonly code: string | null; readonly title: string }
  readonly school: { readonly name: string }
  readonly terms: readonly Term[]
  readonly teachers: readonly {
    readonly firstname: string
    readonly lastname: string
    readonly email: string | null
    readonly primary: boolean
  }[]
  readonly location: string | null
  readonly periods: readonly string[]
  readonly meetings: readonly Meeting[]
  readonly subjects: readonly string[]
  readonly enrolment: { readonly startDate: string | null; readonly endDate: string | null }
  readonly updatedAt: string
}

/** A class as its teacher sees it. */
export interface TaughtClass extends Omit<Class, 'enrolment'> {
  readonly students: readonly {
    readonly firstname: string
    readonly lastname: string
    readonly preferredName: string | null
    readonly pronouns: string | null
    readonly email: string
    readonly startDate: string | null
    readonly endDate: string | null
  }[]
}

export interface Card {
  readonly card: string
  readonly url: string
  readonly expiresAt: string
}

export interface Feed {
  readonly feedId: string
  readonly name: string
  readonly createdAt: string
  readonly lastReadAt: string | null
}

/** The address is known only when the feed is made. */
export interface NewFeed extends Omit<Feed, 'lastReadAt'> {
  readonly url: string
}

export interface LiveSession {
  readonly sessionId: string
  readonly current: boolean
  readonly startedAt: string
  readonly lastSeenAt: string
  readonly device: string
}
