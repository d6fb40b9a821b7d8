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
import type { Statement } from '../../platform/db/db.ts'
import { around, type Decision } from '../../platform/db/decision.ts'
import type { Caller } from '../../platform/lib/bucket.ts'
import { type By, bySystem } from '../../platform/lib/by.ts'
import { hour } from '../../platform/lib/clock.ts'
import { newId, newIdAt } from '../../platform/lib/random.ts'
import { fingerprint } from '../../platform/lib/secret.ts'
import type { Role } from '../../roles.ts'
import { type Limits, networkPolicies } from '../limits/limits.ts'
import { type Person, personById } from '../people/people.ts'
import type { IssuedTokens, LiveSession, Sessions } from '../session/session.ts'
import {
  challengeTtlMs,
  newChallenge,
  type Purpose,
  type ReadChallenge,
  readChallenge,
} from './challenges.ts'
import { OwnPasskeys, type OwnPasskeysDeps, unusable } from './own-passkeys.ts'
import { mustUsePasskey, verdictOn } from './rules.ts'
import type { AssertionCredential } from './schemas.ts'
import * as store from './store.ts'
import { type Asserted, challengeIn, verifyAssertion } from './webauthn.ts'

export { passkeysOf } from './own-passkeys.ts'
export { adminHasPasskey, erasePasskeys, movePasskeys } from './store.ts'

/** Longer than a challenge lives, so that a clock that is set back revives none. */
const usedKeptMs = hour

interface Deps extends OwnPasskeysDeps {
  readonly limits: Limits
  readonly sessions: Sessions
}

type Assertion = Static<typeof AssertionCredential>

interface Answer {
  readonly credential: Assertion
  readonly device: string
  readonly idempotencyKey: string | undefined
}

/** An answer that is verified. Whether the challenge was used before is not decided yet. */
interface Proof extends Asserted {
  readonly challenge: ReadChallenge
  readonly passkey: store.Passkey
  readonly owner: Person
}

/** What an answer has done. */
type Answered<T> =
  | { readonly is: 'right'; readonly result: T }
  | { readonly is: 'repeated'; readonly sessionId: string }
  | { readonly is: 'unusable' }

export class Passkeys {
  readonly #deps: Deps
  readonly own: OwnPasskeys

  constructor(deps: Deps) {
    this.#deps = deps
    this.own = new OwnPasskeys(deps)
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
  async validate(answer: Answer, caller: Caller): Promise<IssuedTokens & { readonly role: Role }> {
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
    const passkey = await store.passkeyByCredential(db, credential.id)
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
    { challenge: { digest, isFresh }, passkey, sign_count, backed_up }: Proof,
    { sessionId, repeatedBy, now }: { sessionId: string; repeatedBy: string | null; now: number },
    effect: Decision<T | null>,
  ): Decision<Answered<T>> {
    const { passkey_id: passkeyId, person_id: personId } = passkey
    const answer = { personId, signCount: sign_count, isFresh, repeatedBy }
    const use = store.useChallenge(digest, {
      used_at: now,
      used_by: repeatedBy ?? newId(),
      session_id: sessionId,
    })
    const cloned = { eventId: `cloned.${digest}`, sessionId: null, now, by: bySystem }
    const asks = { used: store.readUsedChallenge(digest), current: store.readPasskey(passkeyId) }
    return around<typeof asks, T | null, Answered<T>>(asks, effect, ({ used, current }, effect) => {
      const { result, writes = [] } = effect()
      const verdict = verdictOn({ used, passkey: current, canBeUsed: result !== null }, answer, now)
      if (verdict.is === 'repeated' || verdict.is === 'unusable') return { result: verdict }
      if (verdict.is === 'right') {
        const noted = store.notePasskeyUsed(passkey, { sign_count, backed_up, last_used_at: now })
        return { writes: [use, ...writes, noted], result: { is: 'right', result: result! } }
      }
      const found = verdict.is === 'cloned' ? [store.noteCloned(passkey, cloned)] : []
      return { writes: [use, ...found], result: { is: 'unusable' } }
    })
  }

  #mark({ idempotencyKey }: Answer): string | null {
    if (idempotencyKey === undefined) return null
    return fingerprint(this.#deps.secrets.current, 'idempotency-key', idempotencyKey)
  }

  mustUsePasskey(session: { role: Role; method: string }): boolean {
    return mustUsePasskey(session, this.#deps.staffMustUse)
  }

  async methodsOf({ id, role }: { id: string; role: Role }): Promise<('passkey' | 'code')[]> {
    const { db, staffMustUse, relyingParty } = this.#deps
    const passkey = this.#isOpenTo(role) && (await store.hasPasskey(db, id, relyingParty.id))
    return [
      ...(passkey ? (['passkey'] as const) : []),
      ...(staffMustUse && role === 'staff' ? [] : (['code'] as const)),
    ]
  }

  /** Whether somebody can still change staff if all of them must use passkeys. */
  adminHasOne(): Promise<boolean> {
    return store.adminHasPasskey(this.#deps.db, this.#deps.relyingParty.id)
  }

  #isOpenTo(role: Role): boolean {
    return this.#deps.methods[role].includes('passkey')
  }

  sweep(now: number): Statement[] {
    return [store.pruneUsedChallenges(now - usedKeptMs), store.pruneLostPasskeys()]
  }
}
