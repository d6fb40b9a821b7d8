/** Encrypts secrets in the store (private keys, secrets of webhooks and providers), and what callers keep for us. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Secrets } from './secret.ts'

const ivBytes = 12
const tagBytes = 16

/** AES-256-GCM with the id of the owner as associated data, so that sealed values cannot be swapped. */
export function seal(secrets: Secrets, owner: string, content: string | Buffer): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', secrets.current.seal, iv).setAAD(Buffer.from(owner))
  const sealed = Buffer.concat([cipher.update(Buffer.from(content)), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Null if no secret decrypts it. `outdated`: the previous secret did, so it should be resealed. */
export function unseal(
  secrets: Secrets,
  owner: string,
  sealed: string,
): { readonly text: string; readonly bytes: Buffer; readonly outdated: boolean } | null {
  for (const keys of secrets.all) {
    const bytes = unsealWith(keys.seal, owner, sealed)
    if (bytes !== null) return { text: bytes.toString('utf8'), bytes, outdated: keys !== secrets.current }
  }
  return null
}

function unsealWith(key: Buffer, owner: string, sealed: string): Buffer | null {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length < ivBytes + tagBytes) return null
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes))
    .setAAD(Buffer.from(owner))
    .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()])
  } catch {
    return null
  }
}
