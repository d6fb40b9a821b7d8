/** What an account can be, by role. */
import type { Role } from '../../roles.ts'

export const statuses = {
  veterinarian: ['pending', 'active', 'suspended', 'closed'],
  student: ['active', 'inactive', 'suspended'],
  staff: ['active', 'removed'],
} as const satisfies Record<Role, readonly string[]>

export type Status<R extends Role = Role> = (typeof statuses)[R][number]
