import { Id, Nullable, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { roles } from '../../roles.ts'
import { clientKinds, consents, idTokenAlgs, personScopes, serviceScopes, subjects } from './kinds.ts'

const RoleName = Type.Enum([...roles], { title: 'Role' })
const Kind = Type.Enum([...clientKinds], {
  title: 'ClientKind',
  description:
    '`web`: a server with a secret. `spa`: a page in a browser. `native`: an app on a device. `service`: a program without people, with a secret.',
})
const SubjectKind = Type.Enum([...subjects], {
  title: 'ClientSubject',
  description: '`pairwise`: it gets ids of people that no other application knows.',
})
const ConsentKind = Type.Enum([...consents], {
  title: 'ClientConsent',
  description:
    'Whether people are asked before they are signed in there. Not for `native`, which asks each time, nor for `service`.',
})
const list = (values: readonly string[]) => values.map((value) => `\`${value}\``).join(', ')

/** Those that can be changed. */
const fields = {
  name: Type.String({
    description: 'Shown to people.',
    documented: { minLength: 1, maxLength: 100 },
    examples: ['Moodle'],
  }),
  redirectUris: Type.Array(Type.String(), {
    description:
      'Where people return after signing in; compared exactly. Https; for `native` also http on the user’s own machine with any port, or a private scheme with a dot. No wildcards, no fragments.',
    examples: [['https://moodle.example.org/admin/oauth2callback.php']],
  }),
  logoutUris: Type.Array(Type.String(), {
    description: 'Where people may return after signing out. The same rules apply.',
  }),
  backchannelUri: Nullable(
    Type.String({
      description:
        'Is called when a session ends. Https, and a public address unless the operator allows others.',
    }),
  ),
  scopes: Type.Array(Type.String(), {
    description: `What it may ask for: ${list(personScopes)}; for a service ${list(serviceScopes)}.`,
    examples: [['openid', 'profile', 'email']],
  }),
  roles: Type.Array(RoleName, { description: 'Who may sign in there. Empty for a service.' }),
  pkce: Type.Boolean({ description: 'Whether PKCE is required. It can be off for `web` alone.' }),
  claimsInIdToken: Type.Boolean({ description: 'Whether the ID token has names and addresses.' }),
  idTokenAlg: Type.Enum([...idTokenAlgs], {
    title: 'IdTokenAlg',
    description: 'How its ID tokens and logout tokens are signed. Everything else is ES256.',
  }),
  unverifiedVeterinarians: Type.Boolean({
    description:
      'Whether veterinarians may sign in there whom the school has not verified. Anybody can register as a veterinarian.',
  }),
}

const clientFields = {
  clientId: Type.String(),
  kind: Kind,
  ...fields,
  unverifiedVeterinarians: Nullable(
    Type.Boolean({
      description:
        'Whether veterinarians may sign in there whom the school has not verified. Null for an application that was registered before this could be chosen: they may, until somebody decides.',
    }),
  ),
  consent: Nullable(ConsentKind),
  subject: SubjectKind,
  hasSecret: Type.Boolean(),
  formerSecretUntil: Nullable(Timestamp('Until then, the secret before the last rotation works, too.')),
  enabled: Type.Boolean(),
  disabledAt: Nullable(Timestamp()),
  createdAt: Timestamp(),
  lastUsedAt: Nullable(Timestamp('Null if it was never used.')),
  signedIn: Type.Integer({ description: 'How many people are signed in there.' }),
  calls: Type.Object(
    {
      waiting: Type.Integer(),
      failed: Type.Integer({ description: 'Given up.' }),
    },
    { title: 'ClientCalls', description: 'Back-channel calls of the last seven days.' },
  ),
}
export const ClientSummary = Titled('ClientSummary', clientFields)
export const ClientList = Titled('ClientList', { clients: Type.Array(ClientSummary) })

const FailedCall = Titled('ClientFailedCall', {
  userId: Type.String(),
  sessionId: Type.String(),
  state: Type.Enum(['waiting', 'failed'], {
    title: 'ClientCallState',
    description: '`failed`: given up. `waiting`: it will be tried again.',
  }),
  attempts: Type.Integer(),
  status: Nullable(Type.Integer({ description: 'HTTP status of the last answer.' })),
  error: Nullable(Type.String({ description: 'Why the last attempt failed.' })),
  triedAt: Nullable(Timestamp()),
  nextTryAt: Nullable(Timestamp()),
})
const entryFields = {
  ...clientFields,
  failedCalls: Type.Array(FailedCall, {
    description: 'Back-channel calls that failed in the last seven days, newest first; at most 50.',
  }),
}
export const ClientEntry = Titled('ClientDetail', entryFields)

const secret = Type.String({
  description: 'The secret. Shown only here.',
  examples: ['8sK4c1m6Y0a2vN9bWqJx3tR5uE7oPzLdHfGiCjVkTnM'],
})
export const ClientWithSecret = Titled('ClientWithSecret', { ...entryFields, secret })
export const ClientAdded = Type.Object(
  { ...entryFields, secret: Nullable(secret) },
  { title: 'ClientAdded', description: '`secret` is null for `spa` and `native`, which have none.' },
)

const changeFields = {
  redirectUris: Type.Optional(fields.redirectUris),
  logoutUris: Type.Optional(fields.logoutUris),
  backchannelUri: Type.Optional(fields.backchannelUri),
  scopes: Type.Optional(fields.scopes),
  roles: Type.Optional(fields.roles),
  consent: Type.Optional(ConsentKind),
  pkce: Type.Optional(fields.pkce),
  claimsInIdToken: Type.Optional(fields.claimsInIdToken),
  idTokenAlg: Type.Optional(fields.idTokenAlg),
  unverifiedVeterinarians: Type.Optional(fields.unverifiedVeterinarians),
}
export const NewClientBody = Type.Object(
  {
    name: fields.name,
    ...changeFields,
    kind: Type.Optional(Kind),
    subject: Type.Optional(SubjectKind),
  },
  {
    title: 'ClientRegistration',
    description:
      'The kind is `web` if it is left out. Everybody but a `service` needs redirect URIs; a `service` has no people, and so none of the fields about them.',
  },
)
export const ClientChange = Type.Object(
  { name: Type.Optional(fields.name), ...changeFields, enabled: Type.Optional(Type.Boolean()) },
  { title: 'ClientChange', description: 'Lists replace the former ones.' },
)
export const ClientRotation = Titled('ClientRotation', {
  overlapSeconds: Type.Integer({
    description: 'How long the former secret works, up to 30 days; 0 if it leaked.',
    documented: { minimum: 0, maximum: 2_592_000 },
    examples: [604_800],
  }),
})
export const ClientSignOut = Titled('ClientSignOut', {
  ended: Type.Integer({ description: 'Number of sessions.' }),
})
export const ClientPeople = Titled('ClientPeople', {
  people: Type.Array(
    Titled('ClientPerson', {
      userId: Id('The person’s id.'),
      name: Nullable(Type.String()),
      role: RoleName,
      sessions: Type.Integer(),
      since: Timestamp('Start of the oldest of these sessions.'),
      lastSeenAt: Timestamp(),
    }),
  ),
  next: Nullable(Type.String({ description: 'Give it as `after` for the next page.' })),
})
