/**
 * Passkeys: sign in, or prove again who one is (step-up), with a credential of a device instead of a code. A passkey
 * belongs to one person, and so to one role.
 *
 * `signInOptions` gives anybody a challenge that carries its own proof (`challenges.ts`); it looks nothing up. `validate`
 * verifies the answer (`webauthn.ts`), also that of a credential nobody has, and starts the session in the decision that
 * uses up the challenge (rules.ts). While codes stay the way back in, passkeys make signing in easier, not accounts stronger;
 * only staff can be bound to them.
 */

import type { Static } from 'typebox'
import { AppError, invalidField } from '../../errors.ts'
import { tellOf } from '../../messages/mail/outbox.ts'
import { type Db, inTurn, type Statement } from '../../platform/db/db.ts'
import { around, type Decision, decision } from '../../platform/db/decision.ts'
import type { Caller } from '../../platform/lib/bucket.ts'
import { type By, bySystem } from '../../platform/lib/by.ts'
import { type Clock, hour, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'
import type { Language } from '../../platform/lib/languages.ts'
import { isId, newId, newIdAt } from '../../platform/lib/random.ts'
import { fingerprint, mac, type Secrets } from '../../platform/lib/secret.ts'
import type { OpenMethods, Role } from '../../roles.ts'
import { type Limits, networkPolicies } from '../limits/limits.ts'
import { parseName } from '../people/names.ts'
import { type Person, personById, personLock, readAccount } from '../people/people.ts'
import {
  type IssuedTokens,
  isAlive,
  type LiveSession,
  lockSession,
  type Sessions,
} from '../session/session.ts'
import {
  challengeTtlMs,
  newChallenge,
  type Purpose,
  type ReadChallenge,
  readChallenge,
} from './challenges.ts'
import { providerOf } from './providers.ts'
import { additionTo, passkeysMax, verdictOn, working } from './rules.ts'
import type { AssertionCredential, AttestationCredential } from './schemas.ts'
import {
  adminHasPasskey,
  deletePasskey,
  hasPasskey,
  insertPasskey,
  type NewPasskey,
  noteCloned,
  notePasskeyUsed,
  type Passkey,
  passkeyByCredential,
  passkeysOfPerson,
  pruneLostPasskeys,
  pruneUsedChallenges,
  readCredential,
  readPasskey,
  readPasskeys,
  readUsedChallenge,
  renamePasskey,
  useChallenge,
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

/** An answer that is verified. Whether the challenge was used before is not decided yet. */
interface Proof extends Asserted {
  readonly challenge: ReadChallenge
  readonly passkey: Passkey
  readonly owner: Person
}

/** What an answer has done. */
type Answered<T> =
  | { readonly is: 'right'; readonly result: T }
  | { readonly is: 'repeated'; readonly sessionId: string }
  | { readonly is: 'unusable' }

interface Removal {
  readonly by: By
  /** That of the owner; null if staff or an operator removes it. */
  readonly sessionId: string | null
  readonly language?: Language
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
    const { id: personId, role } = proof.owner
    if (!this.#isOpenTo(role)) throw unusable()
    const id = newIdAt(now)
    const about = { id, role, personId, addressKey: proof.passkey.email_key, device } as const
    const use = { sessionId: id, repeatedBy: this.#mark(answer), now }
    const tokens = await sessions.signIn({ ...about, method: 'passkey', now }, caller, async (starting) => {
      const answered = await db.decide(this.#using(proof, use, starting))
      if (answered.is === 'unusable') throw unusable()
      return answered.is === 'repeated'
        ? { startedBefore: answered.sessionId }
        : { owner: answered.result, askedFrom: caller.network.fingerprint }
    })
    if (!tokens) throw unusable()
    return { ...tokens, role }
  }

  /** Proves again who the caller is, in the same session. Returns when. */
  async stepUp(session: LiveSession, credential: Assertion, by: By): Promise<number> {
    const { db, clock, sessions } = this.#deps
    const now = clock.now()
    const { session_id: sessionId, id: personId, role } = session
    const proof = await this.#check(credential, { use: 'step-up', sessionId }, now)
    const { person_id: ownerId, email_key: addressKey } = proof.passkey
    if (ownerId !== personId) throw unusable()
    const again = { sessionId, role, personId, addressKey, method: 'passkey', now } as const
    const proving = sessions.provingAgain(again, by)
    const answered = await db.decide(this.#using(proof, { sessionId, repeatedBy: null, now }, proving))
    if (answered.is !== 'right') throw unusable()
    return answered.result
  }

  /** Checks all but whether the challenge was used before. */
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
   * Uses up the challenge, and has its effect if the counter of the passkey went on. If it went back, there is a copy, which
   * is recorded. `effect` locks the person.
   */
  #using<T>(
    { challenge: { digest, isFresh }, passkey, signCount, backedUp }: Proof,
    { sessionId, repeatedBy, now }: { sessionId: string; repeatedBy: string | null; now: number },
    effect: Decision<T | null>,
  ): Decision<Answered<T>> {
    const { passkey_id: passkeyId, person_id: personId } = passkey
    const answer = { personId, signCount, isFresh, repeatedBy }
    const use = useChallenge({ digest, by: repeatedBy ?? newId(), sessionId, now })
    const cloned = { eventId: `cloned.${digest}`, sessionId: null, now, by: bySystem }
    const asks = { used: readUsedChallenge(digest), current: readPasskey(passkeyId) }
    return around<typeof asks, T | null, Answered<T>>(asks, effect, ({ used, current }, effect) => {
      const { result, writes = [] } = effect()
      const verdict = verdictOn({ used, passkey: current, canBeUsed: result !== null }, answer, now)
      if (verdict.is === 'repeated' || verdict.is === 'unusable') return { result: verdict }
      if (verdict.is === 'right') {
        const noted = notePasskeyUsed({ passkeyId, signCount, backedUp, now })
        return { writes: [use, ...writes, noted], result: { is: 'right', result: result! } }
      }
      const found = verdict.is === 'cloned' ? [noteCloned(passkey, cloned)] : []
      return { writes: [use, ...found], result: { is: 'unusable' } }
    })
  }

  #mark({ idempotencyKey }: PasskeyAnswer): string | null {
    if (idempotencyKey === undefined) return null
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
    if (own.some(({ rp_id }) => rp_id === this.#onlyFirstAt(session))) throw second()
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
    const owner = await personById(db, personId)
    if (!owner) throw new AppError('session-ended')
    const { credentialId, publicKey, aaguid, signCount, backedUp } = attested
    const passkey = {
      passkey_id: newId(),
      person_id: personId,
      credential_id: credentialId,
      public_key: publicKey,
      rp_id: relyingParty.id,
      aaguid,
      transports: transportsIn(credential),
      name: name === undefined ? (providerOf(aaguid) ?? device) : nameFrom(name),
      sign_count: signCount,
      backed_up: backedUp ? 1 : 0,
      created_at: now,
    } as const
    const { email, role } = owner
    const told = tellOf(secrets, { kind: 'passkey-added', email, role, language, now })
    const added = await db.decide(this.#adding(session, passkey, challenge.digest, { by, told }))
    if (added === 'second') throw second()
    if (added === 'exists') throw new AppError('passkey-exists')
    if (added === 'too-many') throw tooMany()
    if (added === 'unusable') throw unusable()
    return { passkeyId: passkey.passkey_id, name: passkey.name }
  }

  #adding(
    session: LiveSession,
    passkey: Omit<NewPasskey, 'user_handle' | 'email_key'>,
    digest: string,
    { by, told }: { by: By; told: readonly Statement[] },
  ): Decision<ReturnType<typeof additionTo>> {
    const { id: personId, role, session_id: sessionId } = session
    const { created_at: now } = passkey
    const use = useChallenge({ digest, by: newId(), sessionId, now })
    const event = { eventId: newId(), sessionId, now, by }
    const asks = {
      person: personLock(personId),
      account: readAccount(role, personId),
      current: lockSession(sessionId),
      own: readPasskeys(personId),
      taken: readCredential(passkey.credential_id),
      used: readUsedChallenge(digest),
    }
    return decision(asks, ({ account, current, own, taken, used }) => {
      const state = {
        account,
        isSessionOpen: isAlive(current, now),
        isChallengeUsed: used !== undefined,
        own,
        exists: taken !== undefined,
      }
      const result = additionTo(state, this.#onlyFirstAt(session))
      const writes = used ? [] : [use]
      if (result !== 'added') return { writes, result }
      const { email_key } = account!
      const user_handle = this.#userHandle(personId, working(own, account!))
      return {
        writes: [...writes, ...insertPasskey({ ...passkey, email_key, user_handle }, event), ...told],
        result,
      }
    })
  }

  async rename(personId: string, passkeyId: string, name: string) {
    const { db } = this.#deps
    const [renamed] = isId(passkeyId) ? await renamePasskey(db, personId, passkeyId, nameFrom(name)) : []
    if (!renamed) throw missing()
    return (await passkeysOf(db, personId)).find((one) => one.passkeyId === passkeyId)!
  }

  async remove(personId: string, passkeyId: string, removal: Removal): Promise<void> {
    const { db } = this.#deps
    const owner = await personById(db, personId)
    if (!owner || !isId(passkeyId) || !(await db.decide(this.#removing(owner, passkeyId, removal))))
      throw missing()
  }

  /** Returns how many were removed. */
  async removeAll(personId: string, by: By): Promise<number> {
    const { db } = this.#deps
    const owner = await personById(db, personId)
    if (!owner) return 0
    const own = await passkeysOfPerson(db, personId)
    const removal = { by, sessionId: null }
    await inTurn(
      db,
      own.map(({ passkey_id }) => this.#removing(owner, passkey_id, removal)),
    )
    return own.length
  }

  /** The result is whether it was there. */
  #removing(owner: Person, passkeyId: string, { by, sessionId, language }: Removal): Decision<boolean> {
    const { clock, secrets } = this.#deps
    const { id, email, role } = owner
    const event = { eventId: newId(), sessionId, now: clock.now(), by }
    const about = { kind: 'passkey-removed', email, role, now: event.now } as const
    const told = tellOf(secrets, { ...about, ...(language && { language }) })
    return decision({ person: personLock(id), passkey: readPasskey(passkeyId) }, ({ passkey }) =>
      passkey?.person_id === id
        ? { writes: [...deletePasskey(passkey, event), ...told], result: true }
        : { result: false },
    )
  }

  mustUsePasskey({ role, method }: { role: Role; method: string }): boolean {
    return this.#deps.staffMustUse && role === 'staff' && method !== 'passkey'
  }

  async methodsOf({ id, role }: { id: string; role: Role }): Promise<('passkey' | 'code')[]> {
    const { db, staffMustUse, relyingParty } = this.#deps
    const passkey = this.#isOpenTo(role) && (await hasPasskey(db, id, relyingParty.id))
    return [
      ...(passkey ? (['passkey'] as const) : []),
      ...(staffMustUse && role === 'staff' ? [] : (['code'] as const)),
    ]
  }

  /** Whether somebody can still change staff if all of them must use passkeys. */
  adminHasOne(): Promise<boolean> {
    return adminHasPasskey(this.#deps.db, this.#deps.relyingParty.id)
  }

  #isOpenTo(role: Role): boolean {
    return this.#deps.methods[role].includes('passkey')
  }

  sweep(now: number): Statement[] {
    return [pruneUsedChallenges(now - usedKeptMs), pruneLostPasskeys()]
  }

  /** Otherwise the mailbox of a member of staff would open all that a passkey opens. */
  #onlyFirstAt(session: LiveSession): string | null {
    return this.mustUsePasskey(session) ? this.#deps.relyingParty.id : null
  }

  /** Stays the same for all passkeys of a person, also after a change of the secret. */
  #userHandle(personId: string, own: readonly Passkey[]): string {
    return (
      own[0]?.user_handle ?? mac(this.#deps.secrets.current.passkey, 'user', personId).toString('base64url')
    )
  }
}

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

function second(): AppError {
  return new AppError('forbidden', 'Use the passkey that you have. If it is lost, an operator can reset it.')
}

function tooMany(): AppError {
  return new AppError('conflict', `An account can have ${passkeysMax} passkeys; remove one first.`)
}
