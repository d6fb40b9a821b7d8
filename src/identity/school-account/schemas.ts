import { refusalReasons } from '../../messages/events/types.ts'
import { Id, Nullable, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { schoolRoles } from '../../roles.ts'
import { returnBytesMax, returnLengthMax } from './return-path.ts'

const ProviderRole = Type.Enum([...schoolRoles], {
  title: 'ProviderRole',
  description: 'Who can sign in with it. Veterinarians use a code or a passkey.',
})
const ProviderName = Type.String({
  description: 'What people call the account, for buttons.',
  documented: { minLength: 1, maxLength: 100 },
  examples: ['University account'],
})

export const ProviderButton = Titled('ProviderButton', {
  providerId: Id('The provider.'),
  name: ProviderName,
  roles: Type.Array(ProviderRole),
})
export const ProviderButtons = Titled('ProviderButtons', { providers: Type.Array(ProviderButton) })

const goingFields = {
  return: Type.Optional(
    Type.String({
      description: `Where to go on to: a path of this service. The start page if it is missing. A cookie keeps it, so it must have at most ${returnBytesMax} bytes when deflated.`,
      documented: { maxLength: returnLengthMax },
      examples: ['/#/classes'],
    }),
  ),
  prompt: Type.Optional(
    Type.Literal('select_account', {
      title: 'ProviderPrompt',
      description: 'Has the provider offer another account, after one was refused.',
    }),
  ),
}
export const SchoolSignIn = Titled('SchoolSignIn', goingFields)
export const SchoolSignInStarted = Titled('SchoolSignInStarted', {
  location: Type.String({ description: 'Where the browser has to go.' }),
})

export const NewSchoolLink = Titled('NewSchoolLink', { providerId: Id('The provider.'), ...goingFields })
export const SchoolLink = Titled('SchoolLink', {
  providerId: Id('The provider.'),
  name: ProviderName,
  createdAt: Timestamp(),
  lastUsedAt: Nullable(Timestamp()),
})
export const SchoolLinks = Titled('SchoolLinks', { links: Type.Array(SchoolLink) })

/** Part of the export of students, and of what staff see of a person. */
export const SchoolLinkFields = { schoolLinks: Type.Array(SchoolLink) }

export const SchoolRefusals = Titled('SchoolRefusals', {
  refusals: Type.Array(
    Titled('SchoolRefusal', {
      reference: Type.String({ description: 'As the page showed it.', examples: ['KTV-BDF-GHJ'] }),
      at: Timestamp(),
      reason: Type.Enum([...refusalReasons], { title: 'RefusalReason' }),
      role: ProviderRole,
      provider: Nullable(Type.String({ description: 'Its name; null if it was removed.' })),
      userId: Nullable(Type.String({ description: 'The person, if the account is known here.' })),
      number: Nullable(Type.String({ description: 'The student number that the provider claimed.' })),
      address: Nullable(Type.String({ description: 'The address that the provider claimed.' })),
    }),
  ),
})

export const LogoutForm = Titled('BackChannelLogout', {
  logout_token: Type.String({ description: 'OpenID Connect Back-Channel Logout 1.0.' }),
})
export const LoggedOut = Titled('LoggedOut', {})

const Kind = Type.Enum(['entra', 'google', 'oidc'], {
  title: 'ProviderKind',
  description: 'Entra ID, Google Workspace, or any other OpenID provider, such as Keycloak.',
})
const changeable = {
  name: ProviderName,
  clientId: Type.String({ description: 'From the registration at the provider.' }),
  roles: Type.Array(ProviderRole),
  domains: Type.Array(Type.String(), {
    description: 'The provider’s own domains; addresses in others never count.',
    examples: [['example.org']],
  }),
  numberClaim: Nullable(Type.String({ description: 'The claim with the student number.' })),
  addressClaim: Nullable(
    Type.String({
      description:
        'The claim with the address; `email` if it is null. Another one counts only with `trustAddresses`, because `email_verified` speaks of `email`.',
    }),
  ),
  trustAddresses: Type.Boolean({
    description: 'Whether addresses count without `email_verified`. Only if people cannot change them there.',
  }),
}
const Secret = Type.String({ description: 'The client secret. It is never shown.' })
const Tenant = Type.String({ description: 'The id of the tenant, for Entra ID.' })
const HostedDomain = Type.String({ description: 'The domain of the school, for Google.' })

export const ProviderEntry = Titled('Provider', {
  providerId: Id('The provider.'),
  ...changeable,
  kind: Kind,
  issuer: Type.String(),
  tenant: Nullable(Tenant),
  hostedDomain: Nullable(HostedDomain),
  enabled: Type.Boolean(),
  disabledAt: Nullable(Timestamp()),
  readable: Type.Boolean({
    description:
      'Whether its secret can be decrypted. If not, set it again: the service’s own secret was replaced.',
  }),
  links: Type.Integer({ description: 'Accounts that are connected.' }),
  redirectUri: Type.String({ description: 'To register at the provider.' }),
  logoutUri: Type.String({ description: 'To register for back-channel logout.' }),
  createdAt: Timestamp(),
})
export const ProviderList = Titled('ProviderList', { providers: Type.Array(ProviderEntry) })

const optional = {
  domains: Type.Optional(changeable.domains),
  numberClaim: Type.Optional(changeable.numberClaim),
  addressClaim: Type.Optional(changeable.addressClaim),
  trustAddresses: Type.Optional(changeable.trustAddresses),
}
export const NewProvider = Titled('NewProvider', {
  name: changeable.name,
  clientId: changeable.clientId,
  roles: changeable.roles,
  ...optional,
  kind: Kind,
  issuer: Type.Optional(Type.String({ examples: ['https://login.example.org/realms/school'] })),
  secret: Secret,
  tenant: Type.Optional(Nullable(Tenant)),
  hostedDomain: Type.Optional(Nullable(HostedDomain)),
})
export const ProviderChange = Titled('ProviderChange', {
  name: Type.Optional(changeable.name),
  clientId: Type.Optional(changeable.clientId),
  roles: Type.Optional(changeable.roles),
  ...optional,
  secret: Type.Optional(Secret),
  enabled: Type.Optional(Type.Boolean()),
})

export const ProviderTest = Titled('ProviderTest', {
  ok: Type.Boolean(),
  steps: Type.Array(
    Titled('ProviderTestStep', { step: Type.String(), ok: Type.Boolean(), text: Type.String() }),
  ),
  redirectUri: Type.String({ description: 'To register at the provider.' }),
  logoutUri: Type.String({ description: 'To register for back-channel logout.' }),
})
