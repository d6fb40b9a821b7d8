/**
 * Passkeys: sign in, or prove again who one is (step-up), with a credential of a device instead of a code. A passkey
 * belongs to one person, and so to one role.
 *
 * `signInOptions` gives anybody a challenge that carries its own proof (`challenges.ts`); it looks nothing up. `validate`
 * verifies the answer (`webauthn.ts`), also that of a credential nobody has, and starts the session in one transaction
 * that uses up the challenge. While codes stay the way back in, passkeys make signing in easier, not accounts stronger;
 * only staff can be bound to them.
 */

import type { Static } from 'typebox'
import { AppError, invalidField } from '../../errors.ts'
import { happened } from '../../messages/events/events.ts'
import { tellOf } from '../../messages/mail/outbox.ts'
import { both, type Condition, type Db, isTrue, not, type Statement } from '../../platform/db/db.ts'
import { inboxOf } from '../../platform/lib/address.ts'
import type { Caller } from '../../platform/lib/bucket.ts'
import { type By, bySelf, bySystem } from '../../platform/lib/by.ts'
import { type Clock, hour, minute, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'
import type { Language } from '../../platform/lib/languages.ts'
import { isId, newId, newIdAt } from '../../platform/lib/random.ts'
import { fingerprint, mac, type Secrets } from '../../platform/lib/secret.ts'
import type { OpenMethods, Role } from '../../roles.ts'
import { type Limits, networkPolicies } from '../limits/limits.ts'
import { parseName } from '../people/names.ts'
import { lockPerson, type Person, personById } from '../people/people.ts'
import { type IssuedTokens, isOpen, type LiveSession, renewProof, type Sessions } from '../session/session.ts'
import {
  challengeTtlMs,
  newChallenge,
  type Purpose,
  type ReadChallenge,
  readChallenge,
} from './challenges.ts'
import { providerOf } from './providers.ts'
import type { AssertionCredential, AttestationCredential } from './schemas.ts'
import {
  adminHasPasskey,
  challengeClaimed,
  claimChallenge,
  countsOn,
  credentialExists,
  deletePasskey,
  hasPasskey,
  insertPasskey,
  noteCloned,
  notePasskeyUsed,
  type Passkey,
  passkeyByCredential,
  passkeysOfPerson,
  pruneLostPasskeys,
  pruneUsedChallenges,
  renamePasskey,
  sessionStartedBy,
  worksStill,
} from './store.ts'
import {
  type Asserted,
  algorithms,
  challengeIn,
  type RelyingParty,
  verifyAssertion,
  verifyAttestation,
} from './webauthn.ts'

export { adminHasPasskey, erasePasskeys, movePasskeys } from './store.ts'
export type { RelyingParty } from './webauthn.ts'

const passkeysMax = 10
const repeatableMs = 2 * minute
/** Longer than a challenge lives, so that a clock that is set back revives none. */
const usedKeptMs = hour
const transportsMax = 10

export interface PasskeysDeps {
  readonly db: Db
  readonly clock: Clock
  readonly secrets: Secrets
  readonly limits: Limits
  readonly sessions: Sessions
  readonly log: Pick<FailureLog, 'warn'>
  readonly relyingParty: RelyingParty
  /** How people of each role can sign in. */
  readonly methods: OpenMethods
  /** Whether a code opens nothing to staff but adding their first passkey. */
  readonly staffMustUse: boolean
}

type Assertion = Static<typeof AssertionCredential>
type Attestation = Static<typeof AttestationCredential>

export interface PasskeyAnswer {
  readonly credential: Assertion
  readonly device: string
  readonly idempotencyKey: string | undefined
}

/** A right answer, and what the store must still confirm. */
interface Proof extends Asserted {
  readonly challenge: ReadChallenge
  readonly passkey: Passkey
  readonly owner: Person
}

export class Passkeys {
  readonly #deps: PasskeysDeps

  constructor(deps: PasskeysDeps) {
    this.#deps = deps
  }

  async signInOptions(caller: Caller) {
    const { clock, limits } = this.#deps
    const now = clock.now()
    await limits.admit({ policy: networkPolicies.passkeyOptions }, caller, now)
    return this.#requestOptions({ use: 'sign-in' }, now)
  }

  stepUpOptions({ session_id: sessionId }: LiveSession) {
    return this.#requestOptions({ use: 'step-up', sessionId }, this.#deps.clock.now())
  }

  #requestOptions(purpose: Purpose, now: number) {
    const { secrets, relyingParty } = this.#deps
    return {
      challenge: newChallenge(secrets.current, purpose, now),
      rpId: relyingParty.id,
      timeout: challengeTtlMs,
      userVerification: 'required' as const,
      allowCredentials: [],
    }
  }

  /** Signs in. A request that is sent again with the same Idempotency-Key gets the tokens of the session it started. */
  async validate(answer: PasskeyAnswer, caller: Caller): Promise<IssuedTokens & { readonly role: Role }> {
    const { db, clock, limits, sessions } = this.#deps
    const now = clock.now()
    await limits.admit({ policy: networkPolicies.passkeyValidate }, caller, now)

    const { credential, device } = answer
    const proof = await this.#check(credential, { use: 'sign-in' }, now)
    const { challenge, passkey, owner } = proof
    if (!this.#isOpenTo(owner.role)) throw unusable()
    const mark = this.#mark(answer)
    const sessionId = newIdAt(now)
    const session = {
      id: sessionId,
      role: owner.role,
      personId: owner.id,
      addressKey: owner.email_key,
      device,
      method: 'passkey',
      now,
    } as const
    if (challenge.isFresh) {
      const results = await db.tx([
        ...this.#claim(proof, mark, sessionId, now, (won) => sessions.start(session, bySelf(caller), won)),
        notePasskeyUsed({ ...proof, passkeyId: passkey.passkey_id, now }, isOpen(sessionId)),
      ])
      if (results[startedAt]!.length > 0) {
        await this.#refund(owner, caller, now)
        return { ...(await sessions.firstTokens(sessionId, owner, now)), role: owner.role }
      }
    }
    const started = await sessionStartedBy(db, {
      personId: owner.id,
      digest: challenge.digest,
      mark,
      since: now - repeatableMs,
    })
    const again = started === undefined ? null : await sessions.firstTokensAgain(started)
    if (!again) throw unusable()
    return { ...again, role: owner.role }
  }

  /** Proves again who the caller is, in the same session. Returns when. */
  async stepUp(session: LiveSession, credential: Assertion, by: By): Promise<number> {
    const { db, clock } = this.#deps
    const now = clock.now()
    const { session_id: sessionId, id: personId } = session
    const proof = await this.#check(credential, { use: 'step-up', sessionId }, now)
    const { challenge, passkey } = proof
    if (!challenge.isFresh || passkey.person_id !== personId) throw unusable()
    const eventId = newId()
    const renewed = { id: sessionId, personId, method: 'passkey', now, eventId } as const
    const results = await db.tx([
      ...this.#claim(proof, newId(), sessionId, now, (won) => renewProof(renewed, by, won)),
      notePasskeyUsed({ ...proof, passkeyId: passkey.passkey_id, now }, happened(eventId)),
    ])
    if (results[startedAt]!.length === 0) throw unusable()
    return now
  }

  /** Checks all but whether the challenge was used before, which the transaction decides. */
  async #check(credential: Assertion, purpose: Purpose, now: number): Promise<Proof> {
    const { db, secrets, relyingParty } = this.#deps
    const passkey = await passkeyByCredential(db, credential.id)
    const given = challengeIn(credential)
    const challenge = given === null ? null : readChallenge(secrets.all, purpose, given, now)
    const asserted = await verifyAssertion(credential, given ?? '', passkey?.public_key, relyingParty)
    if (!passkey) throw unusable({ known: false })
    const { userHandle } = credential.response
    const isOwners = !userHandle || userHandle === passkey.user_handle
    if (!challenge || !asserted || !isOwners) throw unusable()
    // Only now, so that a wrong answer costs the same for known and unknown credentials.
    const owner = await personById(db, passkey.person_id)
    if (!owner) throw unusable()
    return { ...asserted, passkey, owner, challenge }
  }

  /**
   * Uses up the challenge and does `work` for the one answer that got it, if the counter of the passkey went on. If it
   * went back, there is a copy, which is recorded.
   */
  #claim(
    { challenge: { digest }, passkey, signCount }: Proof,
    mark: string,
    sessionId: string,
    now: number,
    work: (won: Condition) => Statement[],
  ): Statement[] {
    const claimed = challengeClaimed(digest, mark, sessionId)
    const isNext = countsOn(passkey.passkey_id, signCount)
    return [
      lockPerson(passkey.person_id),
      claimChallenge({ digest, mark, sessionId, now }),
      ...work(both(both(claimed, isNext), worksStill(passkey.passkey_id))),
      noteCloned(
        passkey.passkey_id,
        { eventId: `cloned.${digest}`, now, by: bySystem },
        both(claimed, not(isNext)),
      ),
    ]
  }

  async #refund(owner: Person, caller: Caller, now: number): Promise<void> {
    const { limits, secrets } = this.#deps
    const inbox = fingerprint(secrets.current, 'address', inboxOf(owner.email_key))
    const { fingerprint: network } = caller.network
    await limits.signedIn('passkey', { inbox, askedFrom: network, answeredFrom: network }, now)
  }

  #mark({ idempotencyKey }: PasskeyAnswer): string {
    if (idempotencyKey === undefined) return newId()
    return fingerprint(this.#deps.secrets.current, 'idempotency-key', idempotencyKey)
  }

  async list(personId: string) {
    return passkeysOf(this.#deps.db, personId)
  }

  async addOptions(session: LiveSession) {
    const { db, clock, secrets, relyingParty } = this.#deps
    const { id: personId, session_id: sessionId } = session
    if (!this.#isOpenTo(session.role)) throw new AppError('forbidden', 'Passkeys are not used here.')
    const [owner, own] = await Promise.all([personById(db, personId), passkeysOfPerson(db, personId)])
    if (!owner) throw new AppError('session-ended')
    await this.#refuseSecond(session)
    if (own.length >= passkeysMax) throw tooMany()
    return {
      challenge: newChallenge(secrets.current, { use: 'add', sessionId }, clock.now()),
      rp: { id: relyingParty.id, name: relyingParty.name },
      user: {
        id: this.#userHandle(personId, own),
        name: `${owner.email} (${owner.role})`,
        displayName: `${owner.firstname} ${owner.lastname} (${owner.role})`,
      },
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key' as const, alg })),
      timeout: challengeTtlMs,
      attestation: 'none' as const,
      authenticatorSelection: {
        residentKey: 'required' as const,
        requireResidentKey: true,
        userVerification: 'required' as const,
      },
      excludeCredentials: own
        .filter(({ rp_id }) => rp_id === relyingParty.id)
        .map(({ credential_id, transports }) => ({
          type: 'public-key' as const,
          id: credential_id,
          transports: transports.split(',').filter(Boolean),
        })),
    }
  }

  async add(
    session: LiveSession,
    { credential, name, device }: { credential: Attestation; name: string | undefined; device: string },
    { by, language }: { by: By; language: Language },
  ) {
    const { db, clock, secrets, relyingParty } = this.#deps
    const { id: personId, session_id: sessionId } = session
    const now = clock.now()
    const given = challengeIn(credential)
    const challenge =
      given === null ? null : readChallenge(secrets.all, { use: 'add', sessionId }, given, now)
    const attested = given === null ? null : await verifyAttestation(credential, given, relyingParty)
    if (!challenge?.isFresh || !attested) throw unusable()
    const [owner, own] = await Promise.all([personById(db, personId), passkeysOfPerson(db, personId)])
    if (!owner) throw new AppError('session-ended')
    await this.#refuseSecond(session)
    const { credentialId, publicKey, aaguid, signCount, backedUp } = attested
    const passkey = {
      passkey_id: newId(),
      person_id: personId,
      credential_id: credentialId,
      public_key: publicKey,
      user_handle: this.#userHandle(personId, own),
      rp_id: relyingParty.id,
      aaguid,
      transports: transportsIn(credential),
      name: name === undefined ? (providerOf(aaguid) ?? device) : nameFrom(name),
      sign_count: signCount,
      backed_up: backedUp ? 1 : 0,
      created_at: now,
    } as const
    const mark = newId()
    const eventId = newId()
    const isFirst = not(hasPasskey(personId, relyingParty.id))
    const won = both(challengeClaimed(challenge.digest, mark, sessionId), isOpen(sessionId))
    const told = { kind: 'passkey-added', email: owner.email, role: owner.role, language, now } as const
    const results = await db.tx([
      lockPerson(personId),
      claimChallenge({ digest: challenge.digest, mark, sessionId, now }),
      ...insertPasskey(
        passkey,
        { max: passkeysMax, sessionId, eventId, by },
        this.mustUsePasskey(session) ? both(won, isFirst) : won,
      ),
      ...tellOf(secrets, told, happened(eventId)),
    ])
    if (results[startedAt]!.length > 0) return { passkeyId: passkey.passkey_id, name: passkey.name }
    if (await isTrue(db, credentialExists(credentialId))) throw new AppError('passkey-exists')
    if ((await passkeysOfPerson(db, personId)).length >= passkeysMax) throw tooMany()
    throw unusable()
  }

  async rename(personId: string, passkeyId: string, name: string) {
    const { db } = this.#deps
    const [renamed] = isId(passkeyId) ? await renamePasskey(db, personId, passkeyId, nameFrom(name)) : []
    if (!renamed) throw missing()
    return (await passkeysOf(db, personId)).find((one) => one.passkeyId === passkeyId)!
  }

  /** `sessionId` is that of the owner; null if staff or an operator removes it. */
  async remove(
    personId: string,
    passkeyId: string,
    { by, sessionId, language }: { by: By; sessionId: string | null; language?: Language },
  ): Promise<void> {
    const { db, clock, secrets } = this.#deps
    const owner = await personById(db, personId)
    if (!owner || !isId(passkeyId)) throw missing()
    const now = clock.now()
    const eventId = newId()
    const told = { kind: 'passkey-removed', email: owner.email, role: owner.role, now } as const
    const [, , removed] = await db.tx([
      lockPerson(personId),
      ...deletePasskey({ personId, passkeyId, sessionId }, { eventId, now, by }),
      ...tellOf(secrets, { ...told, ...(language && { language }) }, happened(eventId)),
    ])
    if (removed!.length === 0) throw missing()
  }

  /** Returns how many were removed. */
  async removeAll(personId: string, by: By): Promise<number> {
    const own = await passkeysOfPerson(this.#deps.db, personId)
    for (const { passkey_id } of own) await this.remove(personId, passkey_id, { by, sessionId: null })
    return own.length
  }

  mustUsePasskey({ role, method }: { role: Role; method: string }): boolean {
    return this.#deps.staffMustUse && role === 'staff' && method !== 'passkey'
  }

  async methodsOf({ id, role }: { id: string; role: Role }): Promise<('passkey' | 'code')[]> {
    const { db, staffMustUse, relyingParty } = this.#deps
    const passkey = this.#isOpenTo(role) && (await isTrue(db, hasPasskey(id, relyingParty.id)))
    return [
      ...(passkey ? (['passkey'] as const) : []),
      ...(staffMustUse && role === 'staff' ? [] : (['code'] as const)),
    ]
  }

  /** Whether somebody can still change staff if all of them must use passkeys. */
  adminHasOne(): Promise<boolean> {
    return isTrue(this.#deps.db, adminHasPasskey(this.#deps.relyingParty.id))
  }

  #isOpenTo(role: Role): boolean {
    return this.#deps.methods[role].includes('passkey')
  }

  sweep(now: number): Statement[] {
    return [pruneUsedChallenges(now - usedKeptMs), pruneLostPasskeys()]
  }

  /** Otherwise the mailbox of a member of staff would open all that a passkey opens. */
  async #refuseSecond(session: LiveSession): Promise<void> {
    const { db, relyingParty } = this.#deps
    if (this.mustUsePasskey(session) && (await isTrue(db, hasPasskey(session.id, relyingParty.id))))
      throw new AppError(
        'forbidden',
        'Use the passkey that you have. If it is lost, an operator can reset it.',
      )
  }

  /** Stays the same for all passkeys of a person, also after a change of the secret. */
  #userHandle(personId: string, own: readonly Passkey[]): string {
    return (
      own[0]?.user_handle ?? mac(this.#deps.secrets.current.passkey, 'user', personId).toString('base64url')
    )
  }
}

/** The place of `work` in the statements of `#claim` and of `add`. */
const startedAt = 2

/** As the HTTP interface, the command line and exports show them. */
export async function passkeysOf(db: Db, personId: string) {
  return (await passkeysOfPerson(db, personId)).map((passkey) => ({
    passkeyId: passkey.passkey_id,
    name: passkey.name,
    provider: providerOf(passkey.aaguid),
    createdAt: timestamp(passkey.created_at),
    lastUsedAt: timestampOrNull(passkey.last_used_at),
    backedUp: passkey.backed_up === 1,
  }))
}

function transportsIn({ response }: Attestation): string {
  const known = (response.transports ?? []).filter((one) => /^[a-z-]{1,20}$/.test(one))
  return known.slice(0, transportsMax).join(',')
}

function nameFrom(text: string): string {
  const parsed = parseName(text)
  if (typeof parsed === 'string') throw invalidField({ pointer: '#/name', detail: parsed })
  return parsed.name
}

function unusable(extra: { known?: false } = {}): AppError {
  return new AppError('passkey-unusable', undefined, extra)
}

function missing(): AppError {
  return new AppError('not-found', 'No passkey has this id.')
}

function tooMany(): AppError {
  return new AppError('conflict', `An account can have ${passkeysMax} passkeys; remove one first.`)
}
