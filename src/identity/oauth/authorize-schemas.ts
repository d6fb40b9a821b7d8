import { Id, Nullable, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Consent } from '../clients/consent-schemas.ts'

const query = Type.String({ description: 'The query of the page’s address.' })

const AskingClient = Titled('AskingClient', {
  clientId: Id('The application.'),
  name: Type.String({ examples: ['Moodle'] }),
  kind: Type.String({ description: '`web`, `spa` or `native`.', examples: ['web'] }),
  roles: Type.Array(Type.String(), { description: 'Who may sign in there.' }),
  unverifiedVeterinarians: Type.Boolean({
    description: 'Whether veterinarians may whom the school has not verified.',
  }),
})

export const AuthorizeAnswer = Titled('AuthorizeAnswer', {
  query,
  confirmed: Type.Optional(Type.Boolean({ description: 'The person allows it.' })),
  declined: Type.Optional(Type.Boolean({ description: 'The person does not want it.' })),
})

const AuthorizeNeed = Titled('AuthorizeNeed', {
  need: Type.String({
    description:
      '`sign-in`, `refused`, `step-up` or `confirm`; `other-account` if the application expects somebody else (`id_token_hint`).',
    examples: ['sign-in'],
  }),
  client: AskingClient,
  scopes: Type.Array(Type.String()),
  methods: Type.Optional(
    Type.Array(Type.String(), {
      description: 'For `step-up`: how the person can prove again who they are, `passkey` or `code`.',
    }),
  ),
  reason: Type.Optional(
    Type.String({
      description:
        'For `refused`: people of this `role` may not sign in there, or the veterinarian is `unverified`.',
    }),
  ),
})
const AuthorizeForm = Type.Object(
  {
    code: Type.Optional(Type.String()),
    error: Type.Optional(Type.String()),
    error_description: Type.Optional(Type.String()),
    state: Type.Optional(Type.String()),
    iss: Type.String(),
  },
  {
    title: 'AuthorizeForm',
    description: 'What the browser posts there, for the response mode `form_post`.',
  },
)
const AuthorizeLocation = Titled('AuthorizeLocation', {
  location: Type.String({ description: 'Where the browser goes next.' }),
  form: Type.Optional(AuthorizeForm),
})
export const AuthorizeReply = Type.Union([AuthorizeLocation, AuthorizeNeed], { title: 'AuthorizeReply' })

export const LogoutAnswer = Titled('LogoutAnswer', {
  query,
  confirmed: Type.Optional(Type.Boolean({ description: 'The person wants to sign out.' })),
})
const SignedOut = Titled('SignedOut', {
  location: Nullable(Type.String({ description: 'Where the browser goes next; null if it stays.' })),
})
const LogoutNeed = Titled('LogoutNeed', {
  need: Type.String({ description: '`confirm`.', examples: ['confirm'] }),
  client: Nullable(AskingClient),
})
export const LogoutReply = Type.Union([SignedOut, LogoutNeed], { title: 'LogoutReply' })

export const ConsentList = Titled('ConsentList', {
  consents: Type.Array(Consent),
})
