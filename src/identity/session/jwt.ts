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
  readonly sid: string
  readonly roles: readonly string[]
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

/** The purpose of a token. A token of one kind is never accepted as another. */
interface TokenKind {
  /** `typ` in the header. */
  readonly type: string
  readonly issuer: string
  readonly audience: string
}

export interface SigningKey {
  readonly kid: string
  readonly key: KeyObject
}

export type KeyFor = (kid: string) => Promise<VerifyingKey | undefined>

const algorithm = 'ES256'
const accessTokens = ({ issuer, audience }: Issuer): TokenKind => ({ type: 'at+jwt', issuer, audience })

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

function signToken(
  { kid, key }: SigningKey,
  { type, issuer, audience }: TokenKind,
  claims: Readonly<Record<string, unknown>> & { readonly sub: string },
  { now, ttlMs }: { now: number; ttlMs: number },
): string {
  const iat = Math.floor(now / 1000)
  const header = encoded({ alg: algorithm, typ: type, kid })
  const payload = encoded({ ...claims, iss: issuer, aud: audience, iat, exp: iat + ttlMs / 1000 })
  const signature = sign('sha256', Buffer.from(`${header}.${payload}`), { key, dsaEncoding: 'ieee-p1363' })
  return `${header}.${payload}.${signature.toString('base64url')}`
}

interface ReadToken {
  readonly claims: JWTPayload & { readonly sub: string; readonly exp: number }
  readonly kid: string
}

/** The claims of a valid token of this kind that we issued; null for any other. */
async function readToken(
  token: string,
  { type, issuer, audience }: TokenKind,
  now: number,
  keyFor: KeyFor,
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
        algorithms: [algorithm],
        typ: type,
        issuer,
        audience,
        currentDate: new Date(now),
        requiredClaims: ['sub', 'exp', 'iat'],
      },
    )
    const { sub, exp } = payload
    return sub === undefined || exp === undefined ? null : { claims: { ...payload, sub, exp }, kid }
  } catch (error) {
    if (error instanceof Error && error.name === 'AppError') throw error
    return null
  }
}

export function signAccessToken(
  key: SigningKey,
  issuer: Issuer,
  claims: { sub: string; sid: string; roles: readonly string[]; jti: string; now: number; ttlMs: number },
): string {
  const { now, ttlMs, ...rest } = claims
  return signToken(key, accessTokens(issuer), { ...rest, client_id: issuer.clientId }, { now, ttlMs })
}

/** The claims of a valid token that we issued; null for any other. */
export async function verifyAccessToken(
  token: string,
  issuer: Issuer,
  now: number,
  keyFor: KeyFor,
): Promise<AccessClaims | null> {
  const read = await readToken(token, accessTokens(issuer), now, keyFor)
  if (!read) return null
  const { sub, sid, roles, exp, jti, client_id } = read.claims
  if (typeof sid !== 'string' || !Array.isArray(roles) || jti === undefined || client_id === undefined)
    return null
  return { sub, sid, roles, exp, kid: read.kid }
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
