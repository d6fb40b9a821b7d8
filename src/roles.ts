/** The portal imports this file, so it must not use Node. */
export const roles = ['veterinarian', 'student', 'staff'] as const
export type Role = (typeof roles)[number]

/** The roles that the school serves; staff is not one of them. */
export const servedRoles = ['veterinarian', 'student'] as const satisfies readonly Role[]
export type ServedRole = (typeof servedRoles)[number]

/** What a member of staff may do: people and deliveries, the roster, or everything. */
export const rights = ['support', 'registrar', 'admin'] as const
export type Right = (typeof rights)[number]
