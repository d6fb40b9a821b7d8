import { staffChange } from '../../platform/http/access.ts'
import { Id } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Fields } from '../people/fields.ts'
import { operation } from '../session/operation.ts'
import { NewStaffMember, StaffChange, StaffList, StaffMember, StaffProfile } from './schemas.ts'
import { profileOf, type Staff } from './staff.ts'

const params = Type.Object({ userId: Id('The member’s id.') })
const changing = { tag: 'staff', ...staffChange('admin') } as const

export const staffRoutes = (staff: Staff) => [...readingStaff(staff), ...changingStaff(staff)]

const readingStaff = (staff: Staff) => [
  operation('GET /staff/me', {
    tag: 'staff',
    access: 'staff',
    may: 'any',
    id: 'getOwnStaff',
    summary: 'My profile and rights',
    reply: StaffProfile,
    answer: ({ caller }) => profileOf(caller),
  }),

  operation('GET /staff/members', {
    tag: 'staff',
    access: 'staff',
    may: 'admin',
    id: 'listStaff',
    summary: 'All members of staff',
    reply: StaffList,
    answer: async () => ({ members: await staff.list() }),
  }),
]

const changingStaff = (staff: Staff) => [
  operation('POST /staff/members', {
    ...changing,
    id: 'addStaff',
    summary: 'Add a member of staff',
    description:
      'They can sign in immediately. Like every change here, this needs a sign-in at most 30 minutes old.',
    body: NewStaffMember,
    status: 201,
    reply: StaffMember,
    refuses: ['conflict'],
    answer: ({ body, by }) => {
      const fields = new Fields()
      const address = fields.email(body.email)
      const names = {
        firstname: fields.name('firstname', body.firstname),
        lastname: fields.name('lastname', body.lastname),
      }
      fields.check()
      return staff.add(address, { ...names, may: body.may }, by)
    },
  }),

  operation('PATCH /staff/members/:userId', {
    ...changing,
    id: 'changeStaff',
    summary: 'Change a member’s name or rights',
    description: 'The last admin cannot lose that right.',
    params,
    body: StaffChange,
    reply: StaffMember,
    refuses: ['conflict', 'not-found'],
    answer: ({ params, body, by }) => {
      const { firstname: first, lastname: last, may } = body
      const fields = new Fields()
      const change = {
        ...(first !== undefined && { firstname: fields.name('firstname', first) }),
        ...(last !== undefined && { lastname: fields.name('lastname', last) }),
        ...(may !== undefined && { may }),
      }
      fields.check()
      return staff.change(params.userId, change, by)
    },
  }),

  operation('DELETE /staff/members/:userId', {
    ...changing,
    id: 'removeStaff',
    summary: 'Remove a member of staff',
    description: 'Ends their sessions at once. The last admin cannot be removed.',
    params,
    refuses: ['conflict', 'not-found'],
    answer: ({ params, by }) => staff.remove(params.userId, by),
  }),
]
