import { ConsentFields } from '../../identity/clients/consent-schemas.ts'
import { PasskeyFields } from '../../identity/passkeys/schemas.ts'
import { statuses } from '../../identity/people/statuses.ts'
import { HistoryFields } from '../../identity/session/schemas.ts'
import { OtpCode } from '../../identity/sign-in/schemas.ts'
import { Email, Id, Name, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { identifying, readableWith } from '../../platform/lib/readable.ts'
import { PlainClass } from '../student/schemas.ts'

export const OwnProfile = Titled('VeterinarianProfile', {
  userId: readableWith('openid', identifying(Id('The veterinarian’s id.'))),
  firstname: readableWith('profile', Type.String()),
  lastname: readableWith('profile', Type.String()),
  email: readableWith('email', Type.String()),
  status: Type.Enum(statuses.veterinarian, { title: 'VeterinarianStatus' }),
  confirmed: Type.Boolean({ description: 'Whether the names were given or confirmed while signed in.' }),
  verified: readableWith(
    'profile',
    Type.Boolean({ description: 'Whether a member of staff has checked who this is.' }),
  ),
  createdAt: Timestamp(),
  updatedAt: readableWith('profile', Timestamp()),
})

export const PublicPage = Titled('PublicPage', {
  shown: Type.Boolean({ description: 'Whether it is public.' }),
})

const firstname = Name(
  'First name: 1–100 characters of any script, at least one of them a letter; no /, @ or www.',
  'Ada',
)
const lastname = Name(
  'Last name: 1–100 characters of any script, at least one of them a letter; no /, @ or www.',
  'Marsh',
)

export const Registration = Titled('Registration', { firstname, lastname, email: Email })
export const Registered = Titled('Registered', {
  email: Type.String({ description: 'As sent.' }),
  confirmBefore: Timestamp('The registration lapses unless you sign in before then.'),
})
export const NameChange = Type.Object(
  { firstname: Type.Optional(firstname), lastname: Type.Optional(lastname) },
  { title: 'NameChange', documented: { minProperties: 1 } },
)

export const NewAddressRequest = Titled('NewAddressRequest', {
  email: Email,
  sessionId: Type.Optional(Type.String({ description: 'To resend that code.' })),
})
export const NewAddressAnswer = Titled('NewAddressAnswer', {
  otp_code: OtpCode,
  sessionId: Type.String({
    description: 'From the request for the code.',
    documented: { minLength: 1 },
  }),
})

export const PublicProfile = Titled('PublicProfile', {
  userId: Type.String(),
  firstname: Type.String(),
  lastname: Type.String(),
  verified: Type.Boolean({
    description: 'Whether a member of staff has checked who this is. If not, the name may be anyone’s.',
  }),
})

export const VeterinarianExport = Titled('VeterinarianExport', {
  exportedAt: Timestamp(),
  profile: OwnProfile,
  classes: Type.Array(PlainClass, { description: 'The classes that I teach, without their students.' }),
  ...PasskeyFields,
  ...ConsentFields,
  ...HistoryFields,
})
