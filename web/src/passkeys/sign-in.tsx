import { useEffect, useRef, useState } from 'react'
import { newKey } from '../code/challenge.ts'
import { asProblem, type Problem, send } from '../http.ts'
import { Button } from '../parts/button.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { signInWithPasskey } from '../session.ts'
import { useWords } from '../text/text.ts'
import {
  canAutofill,
  canUsePasskeys,
  forgetPasskey,
  getPasskey,
  NoPasskey,
  type RequestOptions,
} from './webauthn.ts'

/** Before the challenge ends, after five minutes. */
const renewMs = 4 * 60_000

/** A button to sign in with a passkey. Meanwhile the browser offers them in the field of the address, too. */
export function PasskeySignIn() {
  const { text } = useWords()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [failed, setFailed] = useState(false)
  const waiting = useRef<AbortController | null>(null)

  async function signIn(how: Parameters<typeof getPasskey>[1] = {}): Promise<void> {
    const options = await send<RequestOptions>('/passkey/options', { method: 'POST' })
    if (how.signal?.aborted) return
    const credential = await getPasskey(options, how)
    setBusy(true)
    try {
      await signInWithPasskey(credential, newKey())
    } catch (error) {
      if (asProblem(error).known === false) forgetPasskey(options.rpId, credential)
      throw error
    } finally {
      setBusy(false)
    }
  }

  function refused(error: unknown): void {
    if (!(error instanceof NoPasskey)) setProblem(asProblem(error))
    else if (!error.isCancelled) setFailed(true)
  }

  /** Offers passkeys in the field until one is chosen, or the button is pressed. */
  async function offer(): Promise<void> {
    if (!(await canAutofill()) || waiting.current) return
    const controller = new AbortController()
    waiting.current = controller
    const renewal = setTimeout(() => {
      stop()
      offer()
    }, renewMs)
    try {
      await signIn({ mediation: 'conditional', signal: controller.signal })
    } catch (error) {
      // Nobody asked for it, so a service that is out of reach is not worth a message here.
      if (asProblem(error).code === 'passkey-unusable') refused(error)
    } finally {
      clearTimeout(renewal)
      if (waiting.current === controller) waiting.current = null
    }
  }

  function stop(): void {
    waiting.current?.abort()
    waiting.current = null
  }

  useEffect(() => {
    offer()
    return stop
  }, [])

  async function press(): Promise<void> {
    stop()
    setProblem(null)
    setFailed(false)
    try {
      await signIn()
    } catch (error) {
      refused(error)
      offer()
    }
  }

  if (!canUsePasskeys()) return null
  return (
    <>
      {problem && <ProblemNotice problem={problem} />}
      {failed && (
        <Notice tone="bad">
          <p role="alert">{text.passkeys.failed}</p>
        </Notice>
      )}
      <div className="actions">
        <Button look="quiet" busy={busy} onPress={press}>
          {text.passkeys.signIn}
        </Button>
      </div>
    </>
  )
}
