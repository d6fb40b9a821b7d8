/**
 * Access tokens as JWTs (RFC 9068). The only file that uses jose, which verifies them. node:crypto signs them, because
 * it does so synchronously and jose goes through the thread pool.
 */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { JWK } from 'jose'
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint'
import { jwtVerify } from 'jose/jwt/verify'
import { exportJWK } from 'jose/key/export'
import { generateKeyPair } from 'jose/key/generate/keypair'
import { importJWK } from 'jose/key/import'

export interface AccessClaims {
  readonly sub: string
  readonly sid: string
  readonly roles: readonly string[]
  readonly exp: number
}

export interface Issuer {
  readonly issuer: string
  readonly audience: string
  readonly clientId: string
}

export type PublicJwk = JWK
export type VerifyingKey = Awaited<ReturnType<typeof importJWK>>

const algorithm = 'ES256'
const type = 'at+jwt'

export async function newKeyPair(): Promise<{ kid: string; privateJwk: JWK; publicJwk: JWK }> {
  const pair = await generateKeyPair(algorithm, { extractable: true })
  const privateJwk = await exportJWK(pair.privateKey)
  const { d: _private, ...rest } = privateJwk
  const kid = await calculateJwkThumbprint(rest)
  return { kid, privateJwk, publicJwk: { ...rest, kid, use: 'sig', alg: algorithm } }
}

export function importVerifyingKey(jwk: JWK): Promise<VerifyingKey> {
  return importJWK(jwk, algorithm)
}

export function importSigningKey(jwk: JWK): KeyObject {
  return createPrivateKey({ key: jwk, format: 'jwk' })
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

export function signAccessToken(
  { kid, key }: { kid: string; key: KeyObject },
  { issuer, audience, clientId }: Issuer,
  claims: { sub: string; sid: string; roles: readonly string[]; jti: string; now: number; ttlMs: number },
): string {
  const { sub, sid, roles, jti } = claims
  const iat = Math.floor(claims.now / 1000)
  const exp = iat + claims.ttlMs / 1000
  const header = encoded({ alg: algorithm, typ: type, kid })
  const payload = encoded({ sid, roles, client_id: clientId, iss: issuer, aud: audience, sub, jti, iat, exp })
  const signature = sign('sha256', Buffer.from(`${header}.${payload}`), { key, dsaEncoding: 'ieee-p1363' })
  return `${header}.${payload}.${signature.toString('base64url')}`
}

/** The claims of a valid token that we issued; null for any other. */
export async function verifyAccessToken(
  token: string,
  issuer: Issuer,
  now: number,
  keyFor: (kid: string) => Promise<VerifyingKey | undefined>,
): Promise<AccessClaims | null> {
  try {
    const { payload } = await jwtVerify(
      token,
      async (header) => {
        const key = header.kid === undefined ? undefined : await keyFor(header.kid)
        if (!key) throw new Error('unknown key')
        return key
      },
      {
        algorithms: [algorithm],
        typ: type,
        issuer: issuer.issuer,
        audience: issuer.audience,
        currentDate: new Date(now),
        requiredClaims: ['sub', 'sid', 'roles', 'exp', 'iat', 'jti', 'client_id'],
      },
    )
    const { sub, sid, roles, exp } = payload
    if (typeof sub !== 'string' || typeof sid !== 'string' || !Array.isArray(roles)) return null
    return { sub, sid, roles, exp: exp! }
  } catch (error) {
    if (error instanceof Error && error.name === 'AppError') throw error
    return null
  }
}
