import type { Static, TSchema } from 'typebox'
import { Type } from '../../platform/http/type.ts'
import { identifying, readableWith } from '../../platform/lib/readable.ts'

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

const ofProfile = <T extends TSchema>(schema: T) => Type.Optional(readableWith('profile', schema))
const ofEmail = <T extends TSchema>(schema: T) => Type.Optional(readableWith('email', schema))

export const UserInfo = Type.Object(
  {
    sub: readableWith('openid', Type.String()),
    name: ofProfile(Type.String()),
    given_name: ofProfile(Type.String()),
    family_name: ofProfile(Type.String()),
    nickname: ofProfile(Type.String({ description: 'The name that a student prefers.' })),
    preferred_username: ofProfile(
      identifying(
        Type.String({
          description:
            'The student number, or else the userId. Not for an application with ids of its own (`pairwise`).',
        }),
      ),
    ),
    locale: ofProfile(Type.String({ description: 'The language in which the person signed in.' })),
    verified: ofProfile(
      Type.Boolean({
        description: 'Whether the school has checked who a veterinarian is. True for students and staff.',
      }),
    ),
    roles: ofProfile(Type.Array(Type.String())),
    student_number: ofProfile(identifying(Type.String({ description: 'Not for `pairwise` either.' }))),
    year: ofProfile(Type.Integer()),
    school: ofProfile(Type.String()),
    updated_at: ofProfile(Type.Integer({ description: 'Seconds since 1970.' })),
    email: ofEmail(Type.String()),
    email_verified: ofEmail(Type.Boolean()),
  },
  { title: 'UserInfo', description: 'OpenID Connect Core §5.1' },
)
export type UserInfo = Static<typeof UserInfo>
