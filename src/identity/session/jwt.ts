/**
 * Signed tokens (JWT), access tokens among them (RFC 9068). The only file that uses jose, which verifies them.
 * node:crypto signs them, because it does so synchronously and jose goes through the thread pool.
 */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { JSONWebKeySet, JWK, JWTPayload } from 'jose'
import { JWKSNoMatchingKey } from 'jose/errors'
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint'
import { createLocalJWKSet } from 'jose/jwks/local'
import { jwtVerify } from 'jose/jwt/verify'
import { exportJWK } from 'jose/key/export'
import { generateKeyPair } from 'jose/key/generate/keypair'
import { importJWK } from 'jose/key/import'

export interface AccessClaims {
  readonly sub: string
  /** The session; null if a client has the token for itself. */
  readonly sid: string | null
  readonly roles: readonly string[]
  readonly clientId: string
  readonly audience: string
  readonly scope: string | null
  readonly jti: string
  readonly iat: number
  readonly exp: number
  /** The key that signed it. */
  readonly kid: string
}

export interface Issuer {
  readonly issuer: string
  readonly audience: string
  readonly clientId: string
}

export type PublicJwk = JWK
export type VerifyingKey = Awaited<ReturnType<typeof importJWK>>

/** `typ` in the header: the purpose of a token. A token of one kind is never accepted as another. */
export type TokenType = 'at+jwt' | 'JWT' | 'logout+jwt'

export interface SigningKey {
  readonly kid: string
  readonly key: KeyObject
}

export type KeyFor = (kid: string) => Promise<VerifyingKey | undefined>

/** RS256 is for ID tokens and logout tokens of clients that ask for it. */
export const algorithms = ['ES256', 'RS256'] as const
export type Algorithm = (typeof algorithms)[number]

const algorithmOf = ({ asymmetricKeyType }: KeyObject): Algorithm =>
  asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256'

export async function newKeyPair(alg: Algorithm): Promise<{ kid: string; privateJwk: JWK; publicJwk: JWK }> {
  const pair = await generateKeyPair(alg, { extractable: true })
  const [privateJwk, publicJwk] = [await exportJWK(pair.privateKey), await exportJWK(pair.publicKey)]
  const kid = await calculateJwkThumbprint(publicJwk)
  return { kid, privateJwk, publicJwk: { ...publicJwk, kid, use: 'sig', alg } }
}

/** The key says its algorithm, and verifies no other. */
export function importVerifyingKey(jwk: JWK): Promise<VerifyingKey> {
  return importJWK(jwk)
}

export function importSigningKey(jwk: JWK): KeyObject {
  return createPrivateKey({ key: jwk, format: 'jwk' })
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

interface Claims extends Readonly<Record<string, unknown>> {
  readonly iss: string
  readonly aud: string
}

export function signToken(
  { kid, key }: SigningKey,
  type: TokenType,
  claims: Claims,
  { now, ttlMs }: { now: number; ttlMs: number },
): string {
  const iat = Math.floor(now / 1000)
  const header = encoded({ alg: algorithmOf(key), typ: type, kid })
  const payload = encoded({ ...claims, iat, exp: iat + ttlMs / 1000 })
  const signature = sign('sha256', Buffer.from(`${header}.${payload}`), { key, dsaEncoding: 'ieee-p1363' })
  return `${header}.${payload}.${signature.toString('base64url')}`
}

interface Expected {
  readonly issuer: string
  readonly now: number
  readonly keyFor: KeyFor
  readonly evenExpired?: boolean
}

interface ReadToken {
  readonly claims: JWTPayload & { readonly sub: string; readonly iat: number; readonly exp: number }
  readonly kid: string
}

/** The claims of a valid token of this type that we issued, for any audience; null for any other. */
export async function readToken(
  token: string,
  type: TokenType,
  { issuer, now, keyFor, evenExpired = false }: Expected,
): Promise<ReadToken | null> {
  let kid = ''
  try {
    const { payload } = await jwtVerify(
      token,
      async (header) => {
        kid = header.kid ?? ''
        const key = await keyFor(kid)
        if (!key) throw new Error('unknown key')
        return key
      },
      {
        algorithms: [...algorithms],
        typ: type,
        issuer,
        currentDate: new Date(evenExpired ? 0 : now),
        requiredClaims: ['sub', 'exp', 'iat'],
      },
    )
    const { sub, iat, exp } = payload
    if (sub === undefined || iat === undefined || exp === undefined) return null
    return { claims: { ...payload, sub, iat, exp }, kid }
  } catch (error) {
    if (error instanceof Error && error.name === 'AppError') throw error
    return null
  }
}

/** For a client, `audience` is its own unless the token opens something here. */
export interface NewAccessToken {
  readonly sub: string
  readonly sid?: string
  readonly roles?: readonly string[]
  readonly jti: string
  readonly clientId: string
  readonly audience: string
  readonly scope?: string
}

export function signAccessToken(
  key: SigningKey,
  issuer: string,
  { clientId, audience, ...claims }: NewAccessToken,
  times: { now: number; ttlMs: number },
): string {
  return signToken(key, 'at+jwt', { ...claims, iss: issuer, aud: audience, client_id: clientId }, times)
}

/** The claims of a valid token that we issued; null for any other. */
export async function verifyAccessToken(
  token: string,
  { issuer, audience, clientId: ownId }: Issuer,
  now: number,
  keyFor: KeyFor,
): Promise<AccessClaims | null> {
  const read = await readToken(token, 'at+jwt', { issuer, now, keyFor })
  if (!read) return null
  const { sub, sid, roles = [], iat, exp, jti, aud, scope = null, client_id: clientId } = read.claims
  if (typeof clientId !== 'string' || !Array.isArray(roles) || jti === undefined) return null
  if (scope !== null && typeof scope !== 'string') return null
  const isOwn = clientId === ownId
  if (aud !== audience && (isOwn || aud !== clientId)) return null
  if (sid !== undefined && typeof sid !== 'string') return null
  if (sid === undefined && isOwn) return null
  return { sub, sid: sid ?? null, roles, clientId, audience: aud, scope, jti, iat, exp, kid: read.kid }
}

export type ForeignKeys = JSONWebKeySet

/** Signed with a private key: a token that a shared secret signs could be signed by anybody who has it. */
const foreignAlgorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

/** The claims of a valid token that another issuer signed for us; null for any other. */
export async function verifyForeignToken(
  token: string,
  keys: ForeignKeys,
  expected: { issuer: string; audience: string; now: number; toleranceSeconds: number },
): Promise<Readonly<Record<string, unknown>> | null | 'unknown-key'> {
  const { issuer, audience, now, toleranceSeconds: clockTolerance } = expected
  try {
    const currentDate = new Date(now)
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
      ...{ issuer, audience, currentDate, clockTolerance },
      algorithms: foreignAlgorithms,
      requiredClaims: ['iat'],
    })
    return payload.iat! * 1000 > now + clockTolerance * 1000 ? null : payload
  } catch (error) {
    return error instanceof JWKSNoMatchingKey ? 'unknown-key' : null
  }
}
