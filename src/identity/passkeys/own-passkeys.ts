/** Somebody's own passkeys: a list, to which they add and from which they remove. */
import type { Static } from 'typebox'
import { AppError } from '../../errors.ts'
import { tellOf } from '../../messages/mail/outbox.ts'
import type { Context } from '../../platform/context.ts'
import { type Db, inTurn, type Statement } from '../../platform/db/db.ts'
import { type Decision, decision } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import type { Language } from '../../platform/lib/languages.ts'
import { isId, newId } from '../../platform/lib/random.ts'
import { mac } from '../../platform/lib/secret.ts'
import type { OpenMethods } from '../../roles.ts'
import { nameFrom } from '../people/names.ts'
import { type Person, personById, personLock, readAccount } from '../people/people.ts'
import { isAlive, type LiveSession, lockSession } from '../session/session.ts'
import { challengeTtlMs, newChallenge, readChallenge } from './challenges.ts'
import { providerOf } from './providers.ts'
import { additionTo, mustUsePasskey, passkeysMax, working } from './rules.ts'
import type { AttestationCredential } from './schemas.ts'
import * as store from './store.ts'
import { algorithms, challengeIn, type RelyingParty, verifyAttestation } from './webauthn.ts'

const transportsMax = 10

export interface OwnPasskeysDeps extends Pick<Context, 'db' | 'clock' | 'secrets'> {
  readonly relyingParty: RelyingParty
  /** How people of each role can sign in. */
  readonly methods: OpenMethods
  /** Whether a code opens nothing to staff but adding their first passkey. */
  readonly staffMustUse: boolean
}

type Attestation = Static<typeof AttestationCredential>

interface Removal {
  readonly by: By
  /** That of the owner; null if staff or an operator removes it. */
  readonly sessionId: string | null
  readonly language?: Language
}

export class OwnPasskeys {
  readonly #deps: OwnPasskeysDeps

  constructor(deps: OwnPasskeysDeps) {
    this.#deps = deps
  }

  async list(personId: string) {
    return passkeysOf(this.#deps.db, personId)
  }

  async addOptions(session: LiveSession) {
    const { db, clock, secrets, relyingParty, methods } = this.#deps
    const { id: personId, session_id: sessionId } = session
    if (!methods[session.role].includes('passkey'))
      throw new AppError('forbidden', 'Passkeys are not used here.')
    const [owner, own] = await Promise.all([personById(db, personId), store.passkeysOfPerson(db, personId)])
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
    const passkey = {
      ...attested,
      passkey_id: newId(),
      person_id: personId,
      rp_id: relyingParty.id,
      transports: transportsIn(credential),
      name: name === undefined ? (providerOf(attested.aaguid) ?? device) : nameFrom(name),
      created_at: now,
    }
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
    passkey: Omit<store.NewPasskey, 'user_handle' | 'email_key'>,
    digest: string,
    { by, told }: { by: By; told: readonly Statement[] },
  ): Decision<ReturnType<typeof additionTo>> {
    const { id: personId, role, session_id: sessionId } = session
    const { created_at: now } = passkey
    const use = store.useChallenge(digest, { used_at: now, used_by: newId(), session_id: sessionId })
    const event = { eventId: newId(), sessionId, now, by }
    const asks = {
      person: personLock(personId),
      account: readAccount(role, personId),
      current: lockSession(sessionId),
      own: store.readPasskeys(personId),
      taken: store.readCredential(passkey.credential_id),
      used: store.readUsedChallenge(digest),
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
        writes: [...writes, ...store.insertPasskey({ ...passkey, email_key, user_handle }, event), ...told],
        result,
      }
    })
  }

  async rename(personId: string, passkeyId: string, name: string) {
    const { db } = this.#deps
    const [renamed] = isId(passkeyId)
      ? await store.renamePasskey(db, personId, passkeyId, nameFrom(name))
      : []
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
    const own = await store.passkeysOfPerson(db, personId)
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
    return decision({ person: personLock(id), passkey: store.readPasskey(passkeyId) }, ({ passkey }) =>
      passkey?.person_id === id
        ? { writes: [...store.deletePasskey(passkey, event), ...told], result: true }
        : { result: false },
    )
  }

  /** Otherwise the mailbox of a member of staff would open all that a passkey opens. */
  #onlyFirstAt(session: LiveSession): string | null {
    const { staffMustUse, relyingParty } = this.#deps
    return mustUsePasskey(session, staffMustUse) ? relyingParty.id : null
  }

  /** Stays the same for all passkeys of a person, also after a change of the secret. */
  #userHandle(personId: string, own: readonly store.Passkey[]): string {
    return (
      own[0]?.user_handle ?? mac(this.#deps.secrets.current.passkey, 'user', personId).toString('base64url')
    )
  }
}

/** As the HTTP interface, the command line and exports show them. */
export async function passkeysOf(db: Db, personId: string) {
  return (await store.passkeysOfPerson(db, personId)).map((passkey) => ({
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

export const unusable = (extra: { known?: false } = {}) => new AppError('passkey-unusable', undefined, extra)
const missing = () => new AppError('not-found', 'No passkey has this id.')
const second = () =>
  new AppError('forbidden', 'Use the passkey that you have. If it is lost, an operator can reset it.')
const tooMany = () =>
  new AppError('conflict', `An account can have ${passkeysMax} passkeys; remove one first.`)
