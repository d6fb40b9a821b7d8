import type { Static } from 'typebox'
import type { AddedPasskey, PasskeyCreationOptions } from '../../../src/identity/passkeys/schemas.ts'
import { ask } from '../session.ts'
import { createPasskey } from './webauthn.ts'

/** Returns its name. */
export async function addPasskey(): Promise<string> {
  const options = await ask<Static<typeof PasskeyCreationOptions>>('/passkey/add-options', { method: 'POST' })
  const credential = await createPasskey(options)
  const added = await ask<Static<typeof AddedPasskey>>('/passkey', { method: 'POST', body: { credential } })
  return added.name
}
