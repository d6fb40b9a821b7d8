import type { Static } from 'typebox'
import { Type } from '../../platform/http/type.ts'

const clientFields = {
  client_id: Type.Optional(Type.String({ description: 'Unless it is in the Authorization header.' })),
  client_secret: Type.Optional(
    Type.String({ description: 'Of a client with a secret, unless it is in the Authorization header.' }),
  ),
}

export const TokenForm = Type.Object(
  {
    grant_type: Type.Enum(['authorization_code', 'refresh_token', 'client_credentials'], {
      title: 'GrantType',
    }),
    code: Type.Optional(Type.String()),
    redirect_uri: Type.Optional(Type.String({ description: 'The same as in the authorization request.' })),
    code_verifier: Type.Optional(Type.String({ description: 'RFC 7636' })),
    refresh_token: Type.Optional(Type.String()),
    scope: Type.Optional(Type.String({ description: 'Fewer scopes than were granted.' })),
    ...clientFields,
  },
  { title: 'TokenForm', description: 'RFC 6749 §4.1.3, §6, §4.4.2' },
)

export const ClientTokenReply = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Literal('Bearer', { title: 'TokenType' }),
    expires_in: Type.Integer({ description: 'Seconds.' }),
    scope: Type.String(),
    id_token: Type.Optional(Type.String()),
    refresh_token: Type.Optional(Type.String()),
  },
  { title: 'ClientTokenReply', description: 'RFC 6749 §5.1' },
)

export const TokenOfClientForm = Type.Object(
  {
    token: Type.String(),
    token_type_hint: Type.Optional(Type.String({ description: 'Ignored.' })),
    ...clientFields,
  },
  { title: 'TokenOfClientForm', description: 'RFC 7662 §2.1, RFC 7009 §2.1' },
)

export const Introspection = Type.Object(
  {
    active: Type.Boolean(),
    token_type: Type.Optional(Type.String()),
    scope: Type.Optional(Type.String()),
    client_id: Type.Optional(Type.String()),
    sub: Type.Optional(Type.String()),
    sid: Type.Optional(Type.String()),
    roles: Type.Optional(Type.Array(Type.String())),
    iss: Type.Optional(Type.String()),
    aud: Type.Optional(Type.String()),
    iat: Type.Optional(Type.Integer()),
    exp: Type.Optional(Type.Integer()),
    jti: Type.Optional(Type.String()),
  },
  { title: 'Introspection', description: 'RFC 7662 §2.2' },
)
export type Introspection = Static<typeof Introspection>

export const UserInfoForm = Type.Object(
  {
    access_token: Type.Optional(
      Type.String({ description: 'The token, unless it is in the Authorization header.' }),
    ),
  },
  { title: 'UserInfoForm', description: 'RFC 6750 §2.2' },
)

export const UserInfo = Type.Object(
  {
    sub: Type.String(),
    name: Type.Optional(Type.String()),
    given_name: Type.Optional(Type.String()),
    family_name: Type.Optional(Type.String()),
    nickname: Type.Optional(Type.String({ description: 'The name that a student prefers.' })),
    preferred_username: Type.Optional(
      Type.String({ description: 'The student number, or else the userId.' }),
    ),
    locale: Type.Optional(Type.String({ description: 'The language in which the person signed in.' })),
    verified: Type.Optional(
      Type.Boolean({
        description: 'Whether the school has checked who a veterinarian is. True for students and staff.',
      }),
    ),
    roles: Type.Optional(Type.Array(Type.String())),
    student_number: Type.Optional(Type.String()),
    year: Type.Optional(Type.Integer()),
    school: Type.Optional(Type.String()),
    updated_at: Type.Optional(Type.Integer({ description: 'Seconds since 1970.' })),
    email: Type.Optional(Type.String()),
    email_verified: Type.Optional(Type.Boolean()),
  },
  { title: 'UserInfo', description: 'OpenID Connect Core §5.1' },
)
export type UserInfo = Static<typeof UserInfo>
