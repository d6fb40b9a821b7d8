/**
 * Signs somebody in at a client: says what is still needed of them, or issues the code that the client exchanges for
 * tokens. The portal's page asks with the portal's cookie, until there is an address to go to:
 *
 *     sign-in → step-up → confirm → the client's redirect URI with a code
 *             ↘ refused, for somebody who may not sign in there
 *             ↘ other-account, for somebody whom the client does not expect
 *
 * A client that wants a new proof (`prompt=login`, `max_age`, a passkey) gets one that is newer than the first time that
 * this very request was seen (`authorization_ask`).
 */
import { AppError } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import { readNow, type Statement } from '../../platform/db/db.ts'
import { decision } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { hour, second } from '../../platform/lib/clock.ts'
import { newToken } from '../../platform/lib/random.ts'
import { type Client, clientById, digestOf, readEnabled, subjectOf } from '../clients/clients.ts'
import type { Passkeys } from '../passkeys/passkeys.ts'
import { personLock, type Roles, readAccount } from '../people/people.ts'
import { isAlive, lockSession, refusalOf, type SessionAndPerson, type Sessions } from '../session/session.ts'
import {
  type AnswerCode,
  type AuthorizeRequest,
  answering,
  clientIdIn,
  type Goal,
  type Reading,
  readRequest,
  refusing,
} from './authorize.ts'
import * as store from './authorize-store.ts'
import { consentWith, covers, grantedTo, isTooOld } from './rules.ts'

const codeTtlMs = 60 * second
const askTtlMs = hour
/** So that a code that is used twice is still recognised. */
const codeKeptMs = hour

interface Deps extends Pick<Context, 'db' | 'clock'> {
  readonly issuer: string
  readonly sessions: Pick<Sessions, 'withRefreshToken' | 'ofIdToken'>
  readonly roles: Roles
  readonly passkeys: Pick<Passkeys, 'mustUsePasskey' | 'methodsOf'>
  readonly limits: {
    /** Throws if this session asks too often. */
    countSession(sessionId: string): void
    /** Whether a request of somebody who is not signed in may be remembered. */
    admitStranger(): boolean
  }
}

/** What the page sends: the query of its address, and what the reader decided. */
interface Answer {
  readonly query: string
  readonly confirmed: boolean
  readonly declined: boolean
  /** Of the page. */
  readonly language: string
}

interface Need {
  readonly need: 'sign-in' | 'other-account' | 'refused' | 'step-up' | 'confirm'
  readonly client: Client
  readonly scopes: readonly string[]
  /** For a step-up: how the reader can prove again who they are. */
  readonly methods?: readonly string[]
  /** For somebody who is refused: why. */
  readonly reason?: 'role' | 'unverified'
}

type Outcome = Goal | Need

export class Authorization {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async read(query: string): Promise<Reading> {
    const { db, issuer, sessions } = this.#deps
    const reading = readRequest(query, await clientById(db, clientIdIn(query)), issuer)
    if (!('request' in reading) || reading.request.idTokenHint === null) return reading
    const { request } = reading
    const hinted = await sessions.ofIdToken(reading.request.idTokenHint)
    if (hinted?.clientId === request.client.id) return { request: { ...request, subject: hinted.subject } }
    return this.#refuse(request, 'invalid_request', 'id_token_hint is not an ID token of this client.')
  }

  /** `token` is that of the portal's cookie, if there is one. */
  async answer(answer: Answer, token: string | undefined, by: By): Promise<Outcome> {
    const reading = await this.read(answer.query)
    if ('refusal' in reading) throw new AppError('invalid-request', reading.refusal)
    if ('location' in reading) return reading
    const { request } = reading
    if (answer.declined) return this.#refuse(request, 'access_denied', 'The person declined.')
    const session = await this.#sessionOf(token)
    if (session === null) return this.#signIn(request, answer.query)
    this.#deps.limits.countSession(session.session_id)
    const scopes = grantedTo(session.role, request.scopes)
    const need = await this.#need({ ...request, scopes }, answer, session)
    if (need) return need
    const goal = await this.#issue({ ...request, scopes }, answer, session, by)
    // The session has ended or the client was disabled in between, and the next reading says so.
    return goal ?? this.answer(answer, token, by)
  }

  /** A student must still be on the roster. */
  async #sessionOf(token: string | undefined): Promise<SessionAndPerson | null> {
    const { sessions, roles } = this.#deps
    const session = token === undefined ? null : await sessions.withRefreshToken(token, null)
    return session && (await roles[session.role].isPresent(session)) ? session : null
  }

  async #signIn(request: AuthorizeRequest, query: string): Promise<Outcome> {
    if (request.prompt.has('none')) return this.#refuse(request, 'login_required', 'Nobody is signed in.')
    // The sign-in that follows is the new proof, and the choice of an account. If the request is not remembered, the
    // person is asked twice.
    const { prompt, maxAge } = request
    const asksAgain = prompt.has('login') || prompt.has('select_account') || maxAge !== null
    if (asksAgain && this.#deps.limits.admitStranger()) await this.#askedAt(query)
    return asking(request, 'sign-in')
  }

  /** Null if nothing is missing. */
  async #need(
    request: AuthorizeRequest,
    { query, confirmed }: Answer,
    session: SessionAndPerson,
  ): Promise<Outcome | null> {
    const { clock, passkeys } = this.#deps
    const isSilent = request.prompt.has('none')
    const wrong = this.#wrongPerson(request, session)
    if (wrong) return wrong
    const mustUsePasskey = passkeys.mustUsePasskey(session)
    const isOld = isTooOld(request, session, clock.now())
    if (isSilent && (mustUsePasskey || isOld))
      return this.#refuse(request, 'login_required', 'The person has to prove again who they are.')
    const isAsked = !isSilent && (isOld || (await this.#couldUsePasskey(request, session)))
    if (mustUsePasskey || (isAsked && (session.auth_at ?? 0) < (await this.#askedAt(query))))
      return { ...asking(request, 'step-up'), methods: await passkeys.methodsOf(session) }
    if (confirmed || !(await this.#mustConfirm(request, session, query))) return null
    return isSilent
      ? this.#refuse(request, 'consent_required', 'The person has to confirm.')
      : asking(request, 'confirm')
  }

  /** Null if this is the person whom the client expects, and they may sign in there. */
  #wrongPerson(request: AuthorizeRequest, session: SessionAndPerson): Outcome | null {
    const { client, subject, prompt } = request
    const isSilent = prompt.has('none')
    if (subject !== null && subject !== subjectOf(client.subjectSalt, session.id))
      return isSilent
        ? this.#refuse(request, 'login_required', 'Somebody else is signed in than id_token_hint names.')
        : asking(request, 'other-account')
    const reason = refusalOf(client, session)
    if (reason === null) return null
    return isSilent
      ? this.#refuse(request, 'access_denied', 'This person may not sign in at this client.')
      : { ...asking(request, 'refused'), reason }
  }

  async #couldUsePasskey({ wantsPasskey }: AuthorizeRequest, session: SessionAndPerson): Promise<boolean> {
    if (!wantsPasskey || session.method === 'passkey') return false
    return (await this.#deps.passkeys.methodsOf(session)).includes('passkey')
  }

  #askedAt(query: string): Promise<number> {
    const { db, clock } = this.#deps
    return store.askedAt(db, digestOf(query), clock.now(), askTtlMs)
  }

  async #mustConfirm({ client, prompt, scopes }: AuthorizeRequest, session: SessionAndPerson, query: string) {
    // Any program on the device can pose as an app there.
    if (client.kind === 'native' || prompt.has('consent')) return true
    // The page that confirms also offers another account. Who has just signed in has chosen one.
    if (prompt.has('select_account') && (session.auth_at ?? 0) < (await this.#askedAt(query))) return true
    if (client.consent === 'never') return false
    const consent = await readNow(this.#deps.db, store.readConsent(session.id, client.id))
    return !covers(consent?.scope, scopes)
  }

  /** Null if session or client have ended. */
  async #issue(
    request: AuthorizeRequest,
    { query, confirmed, language }: Answer,
    session: SessionAndPerson,
    by: By,
  ): Promise<Goal | null> {
    const { db, clock, issuer } = this.#deps
    const { client, redirectUri, codeChallenge, nonce, scopes } = request
    const { session_id: sessionId, id: personId } = session
    const now = clock.now()
    const code = newToken()
    const of = { clientId: client.id, personId }
    const issued = {
      digest: digestOf(code),
      client_id: client.id,
      redirect_uri: redirectUri,
      code_challenge: codeChallenge,
      scope: scopes.join(' '),
      nonce,
      language,
      person_id: personId,
      parent_id: sessionId,
      expires_at: now + codeTtlMs,
    }
    const asks = {
      person: personLock(personId),
      session: lockSession(sessionId),
      account: readAccount(session.role, personId),
      enabled: readEnabled(client.id),
      consent: store.readConsent(personId, client.id),
    }
    const isIssued = await db.decide(
      decision(asks, ({ session, account, enabled, consent }) => {
        const isOver = !isAlive(session, now) || account?.status !== 'active'
        if (isOver || !enabled) return { result: false }
        const allowed = confirmed ? consentWith(consent?.scope, scopes) : null
        const writes = [
          store.insertCode(issued),
          store.forgetAsk(digestOf(query)),
          ...(allowed === null ? [] : store.giveConsent({ ...of, scope: allowed, now }, consent, by)),
        ]
        return { writes, result: true }
      }),
    )
    return isIssued ? answering(request, issuer, { code }) : null
  }

  sweep(now: number): Statement[] {
    return [store.pruneCodes(now - codeKeptMs), store.pruneAsks(now - askTtlMs)]
  }

  #refuse(request: AuthorizeRequest, error: AnswerCode, description: string): Goal {
    return refusing(request, this.#deps.issuer, error, description)
  }
}

const asking = ({ client, scopes }: AuthorizeRequest, need: Need['need']): Need => ({ need, client, scopes })
