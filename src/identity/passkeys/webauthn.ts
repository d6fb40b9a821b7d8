/**
 * Verifies what authenticators say (WebAuthn). The only file that uses @simplewebauthn/server. It is loaded at first use:
 * it takes a few hundred milliseconds and 29 MB, and many services have no passkeys.
 */
import type { Static } from 'typebox'
import type { AssertionCredential, AttestationCredential } from './schemas.ts'
import type { Passkey } from './store.ts'

/** WebAuthn §4. */
const credentialIdOctetsMax = 1_023

type Assertion = Static<typeof AssertionCredential>
type Attestation = Static<typeof AttestationCredential>

/** This service, as authenticators know it. */
export interface RelyingParty {
  readonly id: string
  readonly name: string
  /** Pages that may use its passkeys. */
  readonly origins: readonly string[]
}

/** COSE numbers: ES256, EdDSA, RS256. Named, because the library would ask Node about ML-DSA, which Node warns about. */
export const algorithms = [-7, -8, -257]

/**
 * A key that no passkey has. The answer of an unknown credential is verified with it, so that it costs as much as that of
 * a known one.
 */
const decoyKey =
  'pQECAyYgASFYILv0TU1BdTd4ra26TuBi5fVWxFsEjW6w0HDMokQJid5uIlggnyfiJa9me1lzTg60fc3FESHoLPaZINUWxtq_Sc2UI80'

const bytesOf = (base64url: string) => new Uint8Array(Buffer.from(base64url, 'base64url'))

let library: Promise<typeof import('@simplewebauthn/server')> | undefined
const load = () => (library ??= import('@simplewebauthn/server'))

/** The challenge that was answered; null if it cannot be read, or a page within a foreign page asked. */
export function challengeIn({ response }: Assertion | Attestation): string | null {
  try {
    const data: unknown = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8'))
    const { challenge, crossOrigin } = data as { challenge?: unknown; crossOrigin?: unknown }
    return typeof challenge === 'string' && crossOrigin !== true ? challenge : null
  } catch {
    return null
  }
}

/** The columns of a passkey that an answer changes. */
export type Asserted = Pick<Passkey, 'sign_count' | 'backed_up'>

/** Null if it is not right. The caller compares the counter: of many answers at once, the store sees all. */
export async function verifyAssertion(
  credential: Assertion,
  challenge: string,
  publicKey: string | undefined,
  { id, origins }: RelyingParty,
): Promise<Asserted | null> {
  const { verifyAuthenticationResponse } = await load()
  const { userHandle, ...response } = credential.response
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        ...credential,
        clientExtensionResults: {},
        response: { ...response, ...(userHandle && { userHandle }) },
      },
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      requireUserVerification: true,
      credential: { id: credential.id, publicKey: bytesOf(publicKey ?? decoyKey), counter: 0 },
    })
    if (!verified || publicKey === undefined) return null
    const { newCounter, credentialBackedUp } = authenticationInfo
    return { sign_count: newCounter, backed_up: credentialBackedUp ? 1 : 0 }
  } catch {
    return null
  }
}

/** Those that a new one brings. */
type Attested = Asserted & Pick<Passkey, 'credential_id' | 'public_key' | 'aaguid'>

/** Null if it is not right. */
export async function verifyAttestation(
  credential: Attestation,
  challenge: string,
  { id, origins }: RelyingParty,
): Promise<Attested | null> {
  const { verifyRegistrationResponse } = await load()
  const { clientDataJSON, attestationObject } = credential.response
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...credential,
        clientExtensionResults: {},
        response: { clientDataJSON, attestationObject },
      },
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: [...algorithms],
    })
    if (!verified) return null
    const { credential: made, aaguid, credentialBackedUp } = registrationInfo
    if (made.id !== credential.id || bytesOf(made.id).length > credentialIdOctetsMax) return null
    return {
      credential_id: made.id,
      public_key: Buffer.from(made.publicKey).toString('base64url'),
      aaguid,
      sign_count: made.counter,
      backed_up: credentialBackedUp ? 1 : 0,
    }
  } catch {
    return null
  }
}
