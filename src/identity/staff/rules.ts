/** Who of the staff may be changed or removed. */
import type { StaffRow } from './store.ts'

const isAdmin = (may: string) => may.split(',').includes('admin')

/**
 * The member who is to have these rights, or none if null; undefined leaves them as they are. The school needs somebody
 * who can change rights, so the last admin stays one.
 */
export function memberAmong<M extends Pick<StaffRow, 'id' | 'may'>>(
  staff: readonly M[],
  id: string,
  may: string | null | undefined,
): M | 'gone' | 'last-admin' {
  const member = staff.find((one) => one.id === id)
  if (!member) return 'gone'
  const isAdminStill = may === undefined ? isAdmin(member.may) : may !== null && isAdmin(may)
  const hasAnother = staff.some((one) => one.id !== id && isAdmin(one.may))
  return isAdmin(member.may) && !isAdminStill && !hasAnother ? 'last-admin' : member
}
