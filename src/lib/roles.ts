/** The portal imports this file, so it must not use Node. */
export const roles = ['veterinarian', 'student'] as const
export type Role = (typeof roles)[number]
