/** Access tokens read and made by node:crypto alone, as another service would. */
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject, sign, verify } from 'node:crypto'

type Json = Record<string, unknown>

export interface Decoded {
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

export function verifiesUnder(token: string, jwk: JsonWebKey): boolean {
  const { signed, signature } = decode(token)
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  return verify('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }, signature)
}

export const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

export function signedBy(key: KeyObject, header: Json, payload: Json): string {
  const signed = `${part(header)}.${part(payload)}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

/** The private key behind a WebCrypto key that may be exported. */
export async function privateKeyOf(key: unknown): Promise<KeyObject> {
  const jwk = await crypto.subtle.exportKey('jwk', key as Parameters<typeof crypto.subtle.exportKey>[1])
  return createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' })
}
