/** Access tokens as JWTs (RFC 9068). The only file that knows jose. */
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  jwtVerify,
  SignJWT,
} from 'jose'

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
export type SigningKey = Awaited<ReturnType<typeof importJWK>>

const algorithm = 'ES256'
const type = 'at+jwt'

export async function newKeyPair(): Promise<{ kid: string; privateJwk: JWK; publicJwk: JWK }> {
  const pair = await generateKeyPair(algorithm, { extractable: true })
  const privateJwk = await exportJWK(pair.privateKey)
  const { d: _private, ...rest } = privateJwk
  const kid = await calculateJwkThumbprint(rest)
  return { kid, privateJwk, publicJwk: { ...rest, kid, use: 'sig', alg: algorithm } }
}

export function importKey(jwk: JWK): Promise<SigningKey> {
  return importJWK(jwk, algorithm)
}

export function signAccessToken(
  key: { kid: string; key: SigningKey },
  issuer: Issuer,
  claims: { sub: string; sid: string; roles: readonly string[]; jti: string; now: number; ttlMs: number },
): Promise<string> {
  const issuedAt = Math.floor(claims.now / 1000)
  return new SignJWT({ sid: claims.sid, roles: claims.roles, client_id: issuer.clientId })
    .setProtectedHeader({ alg: algorithm, typ: type, kid: key.kid })
    .setIssuer(issuer.issuer)
    .setAudience(issuer.audience)
    .setSubject(claims.sub)
    .setJti(claims.jti)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + claims.ttlMs / 1000)
    .sign(key.key)
}

/** The claims of a token that one of our keys signed for us and that has not expired; null for any other. */
export async function verifyAccessToken(
  token: string,
  issuer: Issuer,
  now: number,
  keyFor: (kid: string) => Promise<SigningKey | undefined>,
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
