/** Reads and makes access tokens with node:crypto alone, as another service would. */
import {
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
  type webcrypto,
} from 'node:crypto'

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

export function signedBy(key: KeyObject, header: Json, payload: Json): string {
  const signed = `${part(header)}.${part(payload)}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

export function newSigner(): { key: KeyObject; publicJwk: unknown } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { key: privateKey, publicJwk: publicKey.export({ format: 'jwk' }) }
}
