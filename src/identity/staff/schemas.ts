import { Email, Name, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { rights } from '../../roles.ts'

const May = Type.Array(Type.Enum([...rights], { title: 'Right' }), {
  description:
    '`support`: people and deliveries; `registrar`: the roster; `admin`: everything, including staff and webhooks.',
  documented: { minItems: 1 },
})
const profileFields = {
  userId: Type.String(),
  firstname: Type.String(),
  lastname: Type.String(),
  email: Type.String(),
  may: May,
}
export const StaffProfile = Titled('StaffProfile', profileFields)
export const StaffMember = Titled('StaffMember', { ...profileFields, createdAt: Timestamp() })

const firstname = Name('Given name.', 'Ada')
const lastname = Name('Family name.', 'Lovelace')

export const StaffList = Titled('StaffList', { members: Type.Array(StaffMember) })
export const NewStaffMember = Titled('NewStaffMember', { email: Email, firstname, lastname, may: May })
export const StaffChange = Titled('StaffChange', {
  firstname: Type.Optional(firstname),
  lastname: Type.Optional(lastname),
  may: Type.Optional(May),
})
