/**
 * Signing keys, stored with the private part encrypted under a key derived from the secret. A new key is published for
 * a while before it signs, and an old one verifies until its last token has expired, so rotation goes unnoticed. A key
 * that leaked is revoked: it is gone at once, and so are the tokens that it signed. A key that the current secrets
 * cannot decrypt is neither used nor trusted; if there are only such keys, the secret is wrong and the service does not
 * start. Each algorithm has its own keys, with the same rules; RSA keys take long to make, so the first is made after the
 * start, or when it is first needed. Values sealed under the previous secret are resealed, so that the previous secret can be dropped.
 */
import type { KeyObject } from 'node:crypto'
import { AppError, UsageError } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import { decision } from '../../platform/db/decision.ts'
import { type By, bySystem } from '../../platform/lib/by.ts'
import { day, minute, second, timestamp } from '../../platform/lib/clock.ts'
import { seal, unseal } from '../../platform/lib/seal.ts'
import * as jwt from './jwt.ts'
import * as store from './key-store.ts'
import { canRevoke, isNext, numberAfter } from './rules.ts'

const rotateEveryMs = 90 * day
const publishedBeforeMs = 10 * minute
const reloadPauseMs = 250
/** The longest time that other processes still trust a revoked key. */
export const trustedMs = 2 * second
const retryPauseMs = second

const wrongSecret =
  'CHIRON_SECRET does not fit this store, whose keys are sealed under another secret. Set that one, or set it as CHIRON_SECRET_PREVIOUS. If it is lost or was leaked, run "chiron keys revoke --all"; everybody then has to sign in again'

const noUsableKey = () =>
  new AppError('unavailable', 'No signing key is usable.', {
    retryAfterSeconds: 2,
    cause: new Error('CHIRON_SECRET decrypts none of the signing keys'),
  })

interface Key {
  readonly alg: jwt.Algorithm
  readonly kid: string
  readonly publicJwk: jwt.PublicJwk
  readonly verifies: jwt.VerifyingKey
  readonly signs: KeyObject
  readonly createdAt: number
  readonly signsFrom: number
}

export class SigningKeys {
  #keys: Key[] = []
  /** All keys in the store, including those that the secrets cannot decrypt. */
  #rows: readonly Pick<store.SigningKeyRow, 'alg' | 'kid' | 'number'>[] = []
  #loadedAt = Number.NEGATIVE_INFINITY
  #loading: Promise<void> | null = null
  #failure: { readonly error: unknown; readonly at: number } | null = null
  readonly #deps: Pick<Context, 'db' | 'clock' | 'secrets'>
  readonly #tokenTtlMs: number

  constructor(deps: Pick<Context, 'db' | 'clock' | 'secrets'>, tokenTtlMs: number) {
    this.#deps = deps
    this.#tokenTtlMs = tokenTtlMs
  }

  /** Loads the keys, and creates the first one. Returns those that the secrets cannot decrypt; at least one must fit. */
  async open(): Promise<string[]> {
    await this.#load()
    await this.reseal()
    if (this.#numberOf('ES256') === 0) await this.#add(['ES256'], bySystem, 0)
    if (this.#of('ES256').length === 0) throw new UsageError(wrongSecret)
    const known = this.#keys.map(({ kid }) => kid)
    return this.#rows.flatMap(({ kid }) => (known.includes(kid) ? [] : [kid]))
  }

  /**
   * For each algorithm that has keys, adds one that signs after it has been published for `signsIn`. If several processes
   * do this at once, one key is added; the others return false. The very first key replaces none, so it is not an event.
   */
  rotate(by: By, { signsIn }: { signsIn: number } = { signsIn: publishedBeforeMs }): Promise<boolean> {
    const used = jwt.algorithms.filter((alg) => alg === 'ES256' || this.#numberOf(alg) > 0)
    return this.#add(used, by, signsIn)
  }

  async #add(algs: readonly jwt.Algorithm[], by: By, signsIn: number): Promise<boolean> {
    const keys = await Promise.all(algs.map((alg) => this.#newKey(alg, signsIn)))
    const locks = Object.fromEntries(algs.map((alg) => [alg, store.lockKeys(alg)]))
    const isAdded = await this.#deps.db.decide(
      decision(locks, (rows) => {
        const next = keys.filter((key) => isNext(rows[key.alg]!, key))
        return {
          writes: next.flatMap((key) => store.addSigningKey(key, by)),
          result: next.includes(keys[0]!),
        }
      }),
    )
    await this.#load()
    return isAdded
  }

  /**
   * Revokes a leaked key. If it is the signing key, a new one takes over at once. Returns the key that signs now, and
   * whether it is new; null if there is no such key. Other processes follow within `trustedMs`.
   */
  async revoke(kid: string, by: By): Promise<{ signer: string; isNew: boolean } | null> {
    for (;;) {
      await this.#load()
      const revoked = this.#rows.find((row) => row.kid === kid)
      if (!revoked) return null
      const { alg } = revoked
      const now = this.#deps.clock.now()
      const current = this.#signer(alg, now).kid
      const replacement = current === kid ? await this.#newKey(alg, 0) : null
      const signer = replacement?.kid ?? current
      const isRevoked = await this.#deps.db.decide(
        decision({ keys: store.lockKeys(alg) }, ({ keys }) => {
          if (!canRevoke(keys, { kid, signer, replacement })) return { result: false }
          const revocation = { alg, kid, replacement: replacement?.kid ?? null }
          const added = replacement ? [store.insertKey(replacement)] : []
          return { writes: [...added, ...store.revokeSigningKey(revocation, now, by)], result: true }
        }),
      )
      if (!isRevoked) continue // Another process changed the keys at the same time.
      await this.#load()
      return { signer, isNew: replacement !== null }
    }
  }

  /** Revokes all keys, also those that the secrets cannot decrypt. Returns the new key that signs ES256 now. */
  async revokeAll(by: By): Promise<string> {
    await this.#load()
    if (this.#numberOf('RS256') > 0) await this.#replaceAll('RS256', by)
    return this.#replaceAll('ES256', by)
  }

  async #replaceAll(alg: jwt.Algorithm, by: By): Promise<string> {
    const now = this.#deps.clock.now()
    const replacement = await this.#newKey(alg, 0)
    const { kid: signer } = replacement
    await this.#deps.db.decide(
      decision({ locked: store.lockKeys(alg), keys: store.readKeys(alg) }, ({ keys }) => {
        const number = numberAfter(keys)
        const revoked = keys.flatMap(({ kid }, i) =>
          store.revokeSigningKey({ alg, kid, replacement: i === 0 ? signer : null }, now, by),
        )
        return { writes: [store.insertKey({ ...replacement, number }), ...revoked], result: null }
      }),
    )
    await this.#load()
    return signer
  }

  /** Reseals everything that is sealed under the previous secret. */
  async reseal(): Promise<void> {
    if (this.#deps.secrets.all.length === 1) return
    const rows = await store.signingKeys(this.#deps.db)
    const outdated = rows.flatMap((row) => {
      const opened = unseal(this.#deps.secrets, row.kid, row.sealed)
      return opened?.outdated
        ? [store.resealSigningKey(row, seal(this.#deps.secrets, row.kid, opened.text))]
        : []
    })
    await this.#deps.db.tx(outdated)
  }

  /** The keys that the secret decrypts, by algorithm, oldest first. */
  async list() {
    await this.#load()
    const now = this.#deps.clock.now()
    return this.#keys.map((key) => ({
      kid: key.kid,
      alg: key.alg,
      state: key === this.#signer(key.alg, now) ? 'signs' : key.signsFrom > now ? 'next' : 'old',
      createdAt: timestamp(key.createdAt),
      signsFrom: timestamp(key.signsFrom),
      ageDays: Math.floor((now - key.createdAt) / day),
    }))
  }

  /** Rotates on schedule and drops keys whose last token has expired. */
  async rotateIfDue(): Promise<void> {
    const now = this.#deps.clock.now()
    await this.#load()
    if (this.#numberOf('RS256') === 0) await this.#add(['RS256'], bySystem, 0)
    const outdated = jwt.algorithms.filter((alg) => {
      const newest = this.#of(alg).at(-1)
      return newest && now - newest.createdAt >= rotateEveryMs
    })
    if (outdated.length > 0) await this.#add(outdated, bySystem, publishedBeforeMs)
    const gone = this.#keys.filter(({ alg, signsFrom }) => {
      const signer = this.#signer(alg, now)
      return signsFrom < signer.signsFrom && now - signer.signsFrom > this.#tokenTtlMs + minute
    })
    if (gone.length > 0) {
      await store.dropSigningKeys(this.#deps.db, gone)
      await this.#load()
    }
  }

  async signer(alg: jwt.Algorithm = 'ES256'): Promise<jwt.SigningKey> {
    await this.#reload(trustedMs)
    if (alg !== 'ES256' && this.#numberOf(alg) === 0) await this.#add([alg], bySystem, 0)
    const { kid, signs } = this.#signer(alg, this.#deps.clock.now())
    return { kid, key: signs }
  }

  /** Another process may have created the key, so an unknown one triggers a reload, but not too often. */
  async verifier(kid: string): Promise<jwt.VerifyingKey | undefined> {
    await this.#reload(trustedMs)
    const found = this.#keys.find((key) => key.kid === kid)
    if (found) return found.verifies
    await this.#reload(reloadPauseMs)
    const made = this.#keys.find((key) => key.kid === kid)
    // The key may exist in the store, which could not be read.
    if (!made && this.#failure) throw this.#failure.error
    return made?.verifies
  }

  async publicKeys(): Promise<jwt.PublicJwk[]> {
    await this.#reload(reloadPauseMs)
    return this.#keys.map((key) => key.publicJwk)
  }

  /** Read before anything is awaited, so that the number belongs to the keys that the caller has seen. */
  async #newKey(alg: jwt.Algorithm, signsIn: number): Promise<store.SigningKeyRow> {
    const now = this.#deps.clock.now()
    const number = this.#numberOf(alg) + 1
    const { kid, privateJwk, publicJwk } = await jwt.newKeyPair(alg)
    return {
      alg,
      kid,
      number,
      sealed: seal(this.#deps.secrets, kid, JSON.stringify(privateJwk)),
      public_jwk: JSON.stringify(publicJwk),
      created_at: now,
      signs_from: now + signsIn,
    }
  }

  /** Of the newest key; 0 if there is none. */
  #numberOf(alg: jwt.Algorithm): number {
    return this.#rows.findLast((row) => row.alg === alg)?.number ?? 0
  }

  #of(alg: jwt.Algorithm): Key[] {
    return this.#keys.filter((key) => key.alg === alg)
  }

  #signer(alg: jwt.Algorithm, now: number): Key {
    const keys = this.#of(alg)
    const key = keys.findLast((k) => k.signsFrom <= now) ?? keys[0]
    if (!key) throw noUsableKey()
    return key
  }

  /**
   * Reloads if the keys are older than this, one attempt at a time. While the store is unreachable, the keys in memory
   * are used.
   */
  async #reload(olderThanMs: number): Promise<void> {
    const now = this.#deps.clock.elapsed()
    if (now - this.#loadedAt < olderThanMs) return
    if (this.#failure && now - this.#failure.at < retryPauseMs) return
    this.#loading ??= this.#load().then(
      () => {
        this.#loading = null
      },
      (error) => {
        this.#loading = null
        this.#failure = { error, at: this.#deps.clock.elapsed() }
      },
    )
    await this.#loading
  }

  async #load(): Promise<void> {
    const rows = await store.signingKeys(this.#deps.db)
    const opened = await Promise.all(rows.map((row) => this.#open(row)))
    this.#failure = null
    this.#keys = opened.filter((key) => key !== null)
    this.#rows = rows
    this.#loadedAt = this.#deps.clock.elapsed()
  }

  async #open(row: store.SigningKeyRow): Promise<Key | null> {
    const known = this.#keys.find((key) => key.kid === row.kid)
    if (known) return known
    const opened = unseal(this.#deps.secrets, row.kid, row.sealed)
    if (opened === null) return null
    const publicJwk = JSON.parse(row.public_jwk) as jwt.PublicJwk
    return {
      alg: row.alg,
      kid: row.kid,
      publicJwk,
      verifies: await jwt.importVerifyingKey(publicJwk),
      signs: jwt.importSigningKey(JSON.parse(opened.text)),
      createdAt: row.created_at,
      signsFrom: row.signs_from,
    }
  }
}
