import { Id, Nullable, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { OtpCode } from '../sign-in/schemas.ts'

const base64url = '^[A-Za-z0-9_-]+$'
const Base64Url = (description: string) => Type.String({ pattern: base64url, description })

const required = Type.Literal('required', { title: 'PasskeyRequirement' })
const PublicKeyType = Type.Literal('public-key', { title: 'PublicKeyType' })
const Challenge = Base64Url('Valid for five minutes, and once.')
const Timeout = Type.Integer({ description: 'Milliseconds.', examples: [300_000] })

const CredentialDescriptor = Titled('CredentialDescriptor', {
  type: PublicKeyType,
  id: Type.String(),
  transports: Type.Array(Type.String()),
})

export const PasskeyRequestOptions = Type.Object(
  {
    challenge: Challenge,
    rpId: Type.String({ examples: ['access.example.org'] }),
    timeout: Timeout,
    userVerification: required,
    allowCredentials: Type.Array(CredentialDescriptor, {
      description: 'Always empty: the device offers the passkeys it has.',
    }),
  },
  {
    title: 'PasskeyRequestOptions',
    description: 'For `PublicKeyCredential.parseRequestOptionsFromJSON`.',
  },
)

const RelyingParty = Titled('RelyingParty', { id: Type.String(), name: Type.String() })
const PasskeyOwner = Titled('PasskeyOwner', {
  id: Type.String({ description: 'Says nothing about the account.' }),
  name: Type.String({ examples: ['ada@example.org (student)'] }),
  displayName: Type.String(),
})
const PasskeyAlgorithm = Titled('PasskeyAlgorithm', {
  type: PublicKeyType,
  alg: Type.Integer({ description: 'Of COSE.' }),
})
const AuthenticatorSelection = Titled('AuthenticatorSelection', {
  residentKey: required,
  requireResidentKey: Type.Boolean(),
  userVerification: required,
})

export const PasskeyCreationOptions = Type.Object(
  {
    challenge: Challenge,
    rp: RelyingParty,
    user: PasskeyOwner,
    pubKeyCredParams: Type.Array(PasskeyAlgorithm),
    timeout: Timeout,
    attestation: Type.Literal('none', { title: 'NoAttestation' }),
    authenticatorSelection: AuthenticatorSelection,
    excludeCredentials: Type.Array(CredentialDescriptor),
  },
  {
    title: 'PasskeyCreationOptions',
    description: 'For `PublicKeyCredential.parseCreationOptionsFromJSON`.',
  },
)

const credentialFields = {
  id: Base64Url('The credential’s id.'),
  rawId: Base64Url('The same.'),
  type: PublicKeyType,
}

const AssertionResponse = Titled('PasskeyAssertionResponse', {
  clientDataJSON: Base64Url('With the challenge and the origin.'),
  authenticatorData: Base64Url('With flags and the counter.'),
  signature: Base64Url('Over both.'),
  userHandle: Type.Optional(Nullable(Type.String({ description: 'From when the passkey was added.' }))),
})
export const AssertionCredential = Type.Object(
  { ...credentialFields, response: AssertionResponse },
  { title: 'PasskeyAssertion', description: 'As `toJSON()` of the credential gives it.' },
)
export const PasskeyAnswer = Titled('PasskeyAnswer', { credential: AssertionCredential })

const AttestationResponse = Titled('PasskeyAttestationResponse', {
  clientDataJSON: Base64Url('With the challenge and the origin.'),
  attestationObject: Base64Url('With the public key.'),
  transports: Type.Optional(Type.Array(Type.String(), { documented: { maxItems: 10 } })),
})
export const AttestationCredential = Type.Object(
  { ...credentialFields, response: AttestationResponse },
  { title: 'PasskeyAttestation', description: 'As `toJSON()` of the credential gives it.' },
)

const PasskeyName = Type.String({
  description: 'To recognise it by.',
  documented: { minLength: 1, maxLength: 100 },
  examples: ['My phone'],
})
export const NewPasskey = Titled('NewPasskey', {
  credential: AttestationCredential,
  name: Type.Optional(PasskeyName),
})
export const PasskeyChange = Titled('PasskeyChange', { name: PasskeyName })
export const AddedPasskey = Titled('AddedPasskey', { passkeyId: Id('The passkey.'), name: Type.String() })

export const PasskeyEntry = Titled('Passkey', {
  passkeyId: Id('The passkey.'),
  name: Type.String(),
  provider: Nullable(Type.String({ examples: ['iCloud Keychain'] })),
  createdAt: Timestamp(),
  lastUsedAt: Nullable(Timestamp()),
  backedUp: Type.Boolean({
    description: 'Whether its provider has a copy, so that other devices have it.',
  }),
})
export const PasskeyList = Titled('PasskeyList', { passkeys: Type.Array(PasskeyEntry) })

/** Part of the export of every role, and of what staff see of a person. */
export const PasskeyFields = { passkeys: Type.Array(PasskeyEntry) }

export const PasskeyEndpoints = Titled('PasskeyEndpoints', {
  enroll: Type.String({ description: 'Where people add passkeys.' }),
  manage: Type.String({ description: 'Where people see and remove them.' }),
})

export const SteppedUp = Titled('SteppedUp', {
  authenticatedAt: Timestamp('When the person proved who they are.'),
})
export const StepUpCodeRequest = Titled('StepUpCodeRequest', {
  sessionId: Type.Optional(Type.String({ description: 'From an earlier reply, to resend its code.' })),
})
export const StepUpCodeAnswer = Titled('StepUpCodeAnswer', {
  otp_code: OtpCode,
  sessionId: Type.String({
    description: 'From the request for the code.',
    documented: { minLength: 1 },
  }),
})
