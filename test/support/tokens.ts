/** Access tokens read and made by node:crypto alone, as another service would. */
import { createPublicKey, verify, type webcrypto } from 'node:crypto'

type Json = Record<string, unknown>

interface Decoded {
  readonly header: Json
  readonly payload: Json
  readonly signature: Buffer
  readonly signed: string
}

export function decode(token: string): Decoded {
  const [header, payload, signature] = token.split('.')
  const read = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8'))
  return {
    header: read(header),
    payload: read(payload),
    signature: Buffer.from(signature ?? '', 'base64url'),
    signed: `${header}.${payload}`,
  }
}

export function verifiesUnder(token: string, jwk: webcrypto.JsonWebKey): boolean {
  const { signed, signature } = decode(token)
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  return verify('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }, signature)
}

export const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Signs as the service does; its private key cannot be exported, only used. */
export async function signedBy(key: unknown, header: Json, payload: Json): Promise<string> {
  const signed = `${part(header)}.${part(payload)}`
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' }
  const signature = await crypto.subtle.sign(algorithm, key as webcrypto.CryptoKey, Buffer.from(signed))
  return `${signed}.${Buffer.from(signature).toString('base64url')}`
}

export async function newSigner(): Promise<{ key: unknown; publicJwk: unknown }> {
  const pair = (await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair
  return { key: pair.privateKey, publicJwk: await crypto.subtle.exportKey('jwk', pair.publicKey) }
}
