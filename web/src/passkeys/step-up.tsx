import { useState } from 'react'
import { type Challenge, type CodeUse, challengeOf, type Sent, sentAgain } from '../code/challenge.ts'
import { CodeForm } from '../code/code-form.tsx'
import type { Problem } from '../http.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import type { Role } from '../people.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { canUsePasskeys, getPasskey, NoPasskey, type RequestOptions } from './webauthn.ts'

const path = '/session/step-up'

async function start(role: Role, email: string): Promise<Challenge> {
  return challengeOf(role, email, await ask<Sent>(`${path}/send-otp`, { method: 'POST', body: {} }))
}

const forStepUp: CodeUse = {
  answer: ({ sessionId }, code) =>
    ask(`${path}/validate-otp`, { method: 'POST', body: { otp_code: code, sessionId } }),
  async sendAgain(challenge) {
    const { sessionId } = challenge
    return sentAgain(challenge, await ask<Sent>(`${path}/send-otp`, { method: 'POST', body: { sessionId } }))
  },
  renew: ({ role, email }) => start(role, email),
}

/**
 * The reader proves again who they are, in place and in the same session: with a passkey first, with a code second. The
 * action that asked for it then goes on.
 */
export function StepUp({
  as: role,
  email,
  problem,
  why,
  action,
  onDone,
  onCancel,
}: {
  as: Role
  email: string
  /** The refusal that asks for it. */
  problem: Problem
  why: string
  action: string
  onDone(): void
  onCancel?: () => void
}) {
  const { text } = useWords()
  const [challenge, setChallenge] = useState<Challenge | null>(null)
  const [failed, setFailed] = useState(false)
  const asking = useAction(async () => setChallenge(await start(role, email)))
  const proving = useAction(async () => {
    setFailed(false)
    const options = await ask<RequestOptions>(`${path}/options`, { method: 'POST' })
    try {
      const credential = await getPasskey(options)
      await ask(path, { method: 'POST', body: { credential } })
      onDone()
    } catch (error) {
      if (!(error instanceof NoPasskey)) throw error
      setFailed(!error.isCancelled)
    }
  })
  const byPasskey = problem.methods.includes('passkey') && canUsePasskeys()
  const byCode = problem.methods.includes('code')
  const cancel = onCancel && <Button onPress={onCancel}>{text.cancel}</Button>

  if (challenge)
    return (
      <>
        <CodeForm
          challenge={challenge}
          onChallenge={setChallenge}
          onDone={onDone}
          action={action}
          use={forStepUp}
        />
        {cancel && <div className="actions">{cancel}</div>}
      </>
    )
  const refused = proving.problem ?? asking.problem
  return (
    <>
      <Notice tone="plain">
        <p role="alert">{why}</p>
      </Notice>
      {refused && <ProblemNotice problem={refused} />}
      {failed && (
        <Notice tone="bad">
          <p role="alert">{text.passkeys.failed}</p>
        </Notice>
      )}
      <div className="actions">
        {cancel}
        {byPasskey && (
          <Button look="main" busy={proving.busy} onPress={proving.run}>
            {text.passkeys.confirm}
          </Button>
        )}
        {byCode && (
          <Button
            look={byPasskey ? 'quiet' : 'main'}
            busy={asking.busy}
            waits={asking.waits}
            onPress={asking.run}
          >
            {text.signIn.send}
          </Button>
        )}
      </div>
    </>
  )
}
