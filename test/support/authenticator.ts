/**
 * An authenticator in software, written from the WebAuthn specification with node:crypto alone, so that it shares nothing
 * with the library that the service verifies with. Every field of an answer can be made wrong.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export type Algorithm = 'ES256' | 'EdDSA' | 'RS256'

/** Flags of authenticator data (WebAuthn §6.1). */
const flag = { present: 0x01, verified: 0x04, mayBackUp: 0x08, backedUp: 0x10, attested: 0x40 }

interface Credential {
  readonly id: Buffer
  readonly algorithm: Algorithm
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly rpId: string
  readonly userHandle: string
  signCount: number
}

/** What may differ from an honest answer. */
export interface Wrongs {
  readonly origin?: string
  readonly rpId?: string
  readonly challenge?: string
  readonly type?: string
  readonly crossOrigin?: boolean
  readonly topOrigin?: string
  readonly isVerified?: boolean
  readonly isPresent?: boolean
  readonly signCount?: number
  readonly userHandle?: string | null
  /** Signs with a key that the service does not know. */
  readonly key?: KeyObject
}

export interface AuthenticatorOptions {
  readonly algorithm?: Algorithm
  /** Most providers have no counter: it stays 0. */
  readonly counts?: boolean
  readonly backsUp?: boolean
  readonly aaguid?: string
}

// biome-ignore lint/suspicious/noExplicitAny: tests read options and change answers freely
type Json = any

export class Authenticator {
  readonly origin: string
  readonly credentials: Credential[] = []
  readonly #options: Required<AuthenticatorOptions>

  constructor(origin: string, options: AuthenticatorOptions = {}) {
    this.origin = origin
    this.#options = {
      algorithm: 'ES256',
      counts: true,
      backsUp: false,
      aaguid: '00000000-0000-0000-0000-000000000000',
      ...options,
    }
  }

  /** Makes a credential; the reply is that of `navigator.credentials.create` as JSON. */
  create(options: Json, wrong: Wrongs = {}): Json {
    const { algorithm } = this.#options
    const credential: Credential = {
      id: randomBytes(32),
      algorithm,
      ...keyPair(algorithm),
      rpId: options.rp.id,
      userHandle: options.user.id,
      signCount: 0,
    }
    this.credentials.push(credential)
    return this.createAgain(credential, options, wrong)
  }

  /** Offers a credential a second time, as no honest authenticator does. */
  createAgain(credential: Credential, options: Json, wrong: Wrongs = {}): Json {
    const clientData = this.#clientData('webauthn.create', options.challenge, wrong)
    const length = Buffer.alloc(2)
    length.writeUInt16BE(credential.id.length)
    const authData = Buffer.concat([
      this.#authData(credential, wrong, flag.attested),
      Buffer.from(this.#options.aaguid.replaceAll('-', ''), 'hex'),
      length,
      credential.id,
      cose(credential),
    ])
    const attestationObject = cborMap([
      [cborText('fmt'), cborText('none')],
      [cborText('attStmt'), cborMap([])],
      [cborText('authData'), cborBytes(authData)],
    ])
    return this.#reply(credential, {
      clientDataJSON: clientData.toString('base64url'),
      attestationObject: attestationObject.toString('base64url'),
      transports: ['internal', 'hybrid'],
    })
  }

  /** Answers with the newest credential, or with this one; as `navigator.credentials.get` does. */
  get(options: Json, wrong: Wrongs = {}, credential = this.credentials.at(-1)!): Json {
    if (this.#options.counts) credential.signCount++
    const clientData = this.#clientData('webauthn.get', options.challenge, wrong)
    const authData = this.#authData(credential, wrong, 0)
    const signed = Buffer.concat([authData, sha256(clientData)])
    const key = wrong.key ?? credential.privateKey
    const signature = sign(credential.algorithm === 'EdDSA' ? null : 'sha256', signed, key)
    return this.#reply(credential, {
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle: wrong.userHandle === undefined ? credential.userHandle : wrong.userHandle,
    })
  }

  #reply({ id }: Credential, response: object): Json {
    const text = id.toString('base64url')
    return {
      id: text,
      rawId: text,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
      response,
    }
  }

  #clientData(type: string, challenge: string, wrong: Wrongs): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: wrong.type ?? type,
        challenge: wrong.challenge ?? challenge,
        origin: wrong.origin ?? this.origin,
        crossOrigin: wrong.crossOrigin ?? false,
        ...(wrong.topOrigin && { topOrigin: wrong.topOrigin }),
      }),
    )
  }

  #authData({ rpId, signCount }: Credential, wrong: Wrongs, more: number): Buffer {
    const { isVerified = true, isPresent = true } = wrong
    const flags =
      (isPresent ? flag.present : 0) |
      (isVerified ? flag.verified : 0) |
      (this.#options.backsUp ? flag.mayBackUp | flag.backedUp : 0) |
      more
    const count = Buffer.alloc(4)
    count.writeUInt32BE(wrong.signCount ?? signCount)
    return Buffer.concat([sha256(Buffer.from(wrong.rpId ?? rpId)), Buffer.from([flags]), count])
  }
}

const sha256 = (data: Buffer) => createHash('sha256').update(data).digest()

export function keyPair(algorithm: Algorithm): { privateKey: KeyObject; publicKey: KeyObject } {
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519')
  if (algorithm === 'RS256') return generateKeyPairSync('rsa', { modulusLength: 2048 })
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

/** The public key as authenticators write it (RFC 9053). */
function cose({ algorithm, publicKey }: Credential): Buffer {
  const jwk = publicKey.export({ format: 'jwk' })
  const bytes = (text: string | undefined) => cborBytes(Buffer.from(text!, 'base64url'))
  const [type, alg, curve, x, y] = [1, 3, -1, -2, -3].map(cborInteger) as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ]
  if (algorithm === 'EdDSA')
    return cborMap([
      [type, cborInteger(1)],
      [alg, cborInteger(-8)],
      [curve, cborInteger(6)],
      [x, bytes(jwk.x)],
    ])
  if (algorithm === 'RS256')
    return cborMap([
      [type, cborInteger(3)],
      [alg, cborInteger(-257)],
      [curve, bytes(jwk.n)],
      [x, bytes(jwk.e)],
    ])
  return cborMap([
    [type, cborInteger(2)],
    [alg, cborInteger(-7)],
    [curve, cborInteger(1)],
    [x, bytes(jwk.x)],
    [y, bytes(jwk.y)],
  ])
}

/** RFC 8949 §3. */
function cborHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value])
  if (value < 256) return Buffer.from([(major << 5) | 24, value])
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255])
}
const cborInteger = (value: number) => (value < 0 ? cborHead(1, -1 - value) : cborHead(0, value))
const cborBytes = (bytes: Buffer) => Buffer.concat([cborHead(2, bytes.length), bytes])
const cborText = (text: string) => Buffer.concat([cborHead(3, Buffer.byteLength(text)), Buffer.from(text)])
const cborMap = (entries: readonly (readonly [Buffer, Buffer])[]) =>
  Buffer.concat([cborHead(5, entries.length), ...entries.flat()])
