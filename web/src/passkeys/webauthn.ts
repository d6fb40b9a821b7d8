/** The browser's side of passkeys. Where it has none (an old browser, no https), the portal shows nothing of them. */
import type { Static } from 'typebox'
import type { PasskeyCreationOptions, PasskeyRequestOptions } from '../../../src/identity/passkeys/schemas.ts'
import { Problem } from '../http.ts'
import { school } from '../school.ts'

type CreationOptions = Static<typeof PasskeyCreationOptions>
export type RequestOptions = Static<typeof PasskeyRequestOptions>

export const canUsePasskeys = (): boolean =>
  school.passkeys !== null &&
  typeof PublicKeyCredential === 'function' &&
  'parseRequestOptionsFromJSON' in PublicKeyCredential

/** Whether the browser can offer passkeys in a field. */
export const canAutofill = async (): Promise<boolean> =>
  canUsePasskeys() && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true

/** What became of asking the device: the reader may cancel, or it may take too long. */
export class NoPasskey extends Error {
  override readonly name = 'NoPasskey'
  readonly isCancelled: boolean

  constructor(cause: unknown) {
    super('the device gave no passkey', { cause })
    const name = cause instanceof DOMException ? cause.name : ''
    this.isCancelled = name === 'NotAllowedError' || name === 'AbortError'
  }
}

export async function getPasskey(
  options: RequestOptions,
  how: { readonly mediation?: CredentialMediationRequirement; readonly signal?: AbortSignal } = {},
): Promise<object> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as PublicKeyCredentialRequestOptionsJSON,
  )
  return jsonOf(navigator.credentials.get({ publicKey, ...how }))
}

export async function createPasskey(options: CreationOptions): Promise<object> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as PublicKeyCredentialCreationOptionsJSON,
  )
  return jsonOf(navigator.credentials.create({ publicKey }))
}

async function jsonOf(asking: Promise<Credential | null>): Promise<object> {
  let credential: Credential | null
  try {
    credential = await asking
  } catch (error) {
    // The device has one for this account.
    if (error instanceof DOMException && error.name === 'InvalidStateError')
      throw new Problem('passkey-exists')
    throw new NoPasskey(error)
  }
  if (!(credential instanceof PublicKeyCredential)) throw new NoPasskey(null)
  return credential.toJSON()
}

type Signal = (gone: { rpId: string; credentialId: string }) => Promise<void>

/** So that the device no longer offers a passkey that the service does not know. */
export function forgetPasskey(rpId: string, credential: object): void {
  const { id } = credential as { id: string }
  const signal: Signal | undefined = Reflect.get(PublicKeyCredential, 'signalUnknownCredential')
  signal?.call(PublicKeyCredential, { rpId, credentialId: id }).catch(() => {})
}
