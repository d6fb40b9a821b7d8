/** Who can have an account. The portal reads this too, so nothing of Node belongs here. */
export const roles = ['veterinarian', 'student'] as const
export type Role = (typeof roles)[number]
