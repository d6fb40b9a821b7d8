import { Email, Name, Timestamp } from '../../platform/http/schemas.ts'
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
export const StaffProfile = Type.Object(profileFields, { title: 'StaffProfile' })
export const StaffMember = Type.Object({ ...profileFields, createdAt: Timestamp() }, { title: 'StaffMember' })

const firstname = Name('Given name.', 'Ada')
const lastname = Name('Family name.', 'Lovelace')

export const StaffList = Type.Object({ members: Type.Array(StaffMember) }, { title: 'StaffList' })
export const NewStaffMember = Type.Object(
  { email: Email, firstname, lastname, may: May },
  { title: 'NewStaffMember' },
)
export const StaffChange = Type.Object(
  {
    firstname: Type.Optional(firstname),
    lastname: Type.Optional(lastname),
    may: Type.Optional(May),
  },
  { title: 'StaffChange' },
)
