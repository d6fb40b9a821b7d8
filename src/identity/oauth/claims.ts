/** What clients can learn about a person (OpenID Connect Core §5.1, §5.4). Pure. */
import type { Method, Role } from '../../roles.ts'
import type { Facts } from '../people/people.ts'
import { UserInfo } from './schemas.ts'

export type Claims = Omit<UserInfo, 'sub'>

/** How somebody signed in, for `acr` and `amr` (RFC 8176). */
export const acrOf = (method: Method) => `urn:chiron:${method}`
export const acrValues = (['code', 'passkey', 'school'] as const).map(acrOf)
export const amrOf: Readonly<Record<Method, readonly string[]>> = {
  code: ['otp'],
  passkey: ['pop', 'user'],
  school: ['ext'],
}

/** All claims about a person; which of them a client gets is said by the schema. */
export function claimsOf(
  { id, role, language }: { id: string; role: Role; language: string | null },
  facts: Facts,
): Claims {
  const { firstname, lastname, preferredName, studentNumber, year, school, email } = facts
  const claims = {
    name: `${preferredName ?? firstname} ${lastname}`,
    given_name: firstname,
    family_name: lastname,
    nickname: preferredName,
    preferred_username: studentNumber ?? id,
    locale: language,
    verified: facts.verified,
    roles: [role],
    student_number: studentNumber,
    year,
    school,
    updated_at: Math.floor(facts.updatedAt / 1000),
    email,
    // Codes were sent there, or it is on the school's roster.
    email_verified: true,
  }
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null)) as Claims
}

export const claimNames = Object.keys(UserInfo.properties)
