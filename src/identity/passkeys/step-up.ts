/** Proves again who somebody is, in the same session, with a code to the address on record. */
import { AppError } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import type { Caller } from '../../platform/lib/bucket.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Language } from '../../platform/lib/languages.ts'
import type { Role } from '../../roles.ts'
import { personById } from '../people/people.ts'
import type { LiveSession, Sessions } from '../session/session.ts'
import type { SendReply, SignIn } from '../sign-in/sign-in.ts'
import type { Passkeys } from './passkeys.ts'

interface Deps extends Pick<Context, 'db' | 'clock'> {
  readonly signIn: Readonly<Record<Role, Pick<SignIn, 'send' | 'resend' | 'confirm'>>>
  readonly sessions: Pick<Sessions, 'provingAgain'>
  readonly passkeys: Pick<Passkeys, 'methodsOf'>
}

interface StepUpAsk {
  readonly language: Language
  readonly deviceToken: string | undefined
  /** To resend the code of an earlier reply. */
  readonly sessionId: string | undefined
}

export class StepUpByCode {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Codes to this address are limited as those for a sign-in. */
  async send(session: LiveSession, ask: StepUpAsk, caller: Caller): Promise<SendReply> {
    const { db, signIn, passkeys } = this.#deps
    if (!(await passkeys.methodsOf(session)).includes('code'))
      throw new AppError('forbidden', 'Staff must use a passkey here.')
    const person = await personById(db, session.id)
    if (!person) throw new AppError('session-ended')
    const { language, deviceToken, sessionId } = ask
    const asker = { personId: session.id, sessionId: session.session_id }
    const address = { email: person.email, key: person.email_key }
    const request = { address, language, deviceToken, asker }
    const own = signIn[session.role]
    return sessionId === undefined ? own.send(request, caller) : own.resend(request, caller, sessionId)
  }

  /** Returns when it was proved. */
  async validate(
    session: LiveSession,
    { code, sessionId }: { code: number; sessionId: string },
    caller: Caller,
    by: By,
  ): Promise<number> {
    const { clock, signIn, sessions } = this.#deps
    const { id: personId, session_id, role } = session
    const asker = { personId, sessionId: session_id }
    const proof = { sessionId: session_id, role, personId, method: 'code', now: clock.now() } as const
    return signIn[role].confirm({ asker, code, sessionId }, caller, ({ key: addressKey }) =>
      sessions.provingAgain({ ...proof, addressKey }, by),
    )
  }
}
