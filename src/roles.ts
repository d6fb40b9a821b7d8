/** The portal imports this file, so it must not use Node. */
export const roles = ['veterinarian', 'student', 'staff'] as const
export type Role = (typeof roles)[number]

/** The roles that the school serves; staff is not one of them. */
export const servedRoles = ['veterinarian', 'student'] as const satisfies readonly Role[]
export type ServedRole = (typeof servedRoles)[number]

/** The roles that can sign in with an account of the school; veterinarians come from outside. */
export const schoolRoles = ['student', 'staff'] as const satisfies readonly Role[]
export type SchoolRole = (typeof schoolRoles)[number]

/** What a member of staff may do: people and deliveries, the roster, or everything. */
export const rights = ['support', 'registrar', 'admin'] as const
export type Right = (typeof rights)[number]

/** How somebody can sign in: with a code by mail, a passkey, or the school's own account. */
export const methods = ['code', 'passkey', 'school'] as const
export type Method = (typeof methods)[number]
/** The methods that are open to each role. */
export type OpenMethods = Readonly<Record<Role, readonly Method[]>>
