import { useEffect, useRef, useState } from 'react'
import { minutesAndSeconds, useSecondsUntil } from '../clock.ts'
import { hasMailbox } from '../development.ts'
import { asProblem, type Problem } from '../http.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { useWords } from '../text/text.ts'
import { type Challenge, type CodeUse, forSignIn } from './challenge.ts'
import { providerOf } from './mail-providers.ts'

/**
 * The form for the code. The field keeps the focus after a wrong answer, messages go to one live region, and when the
 * code is no longer valid only a button for a new one remains. If the service no longer takes a code that should be
 * good (under attack it requires longer ones), a new one is requested at once.
 */
export function CodeForm({
  challenge,
  onChallenge,
  onDone,
  action,
  use = forSignIn,
}: {
  challenge: Challenge
  onChallenge(next: Challenge): void
  onDone(): void
  action: string
  use?: CodeUse
}) {
  const { text } = useWords()
  const [code, setCode] = useState('')
  const [busy, setBusy] = useState(false)
  const [checking, setChecking] = useState(false)
  const [failure, setFailure] = useState<{ problem: Problem; retry: () => void } | null>(null)
  const [said, setSaid] = useState<{ tone: 'good' | 'bad' | 'plain'; text: string } | null>(null)
  const field = useRef<HTMLInputElement>(null)
  const renewal = useRef<HTMLButtonElement>(null)
  const secondsLeft = useSecondsUntil(challenge.expiresAt)
  const resendIn = useSecondsUntil(challenge.resendAt)
  const { digits, attemptsLeft } = challenge
  const over = secondsLeft === 0 || attemptsLeft === 0
  const provider = providerOf(challenge.email)
  const lastMinute = secondsLeft > 0 && secondsLeft <= 60

  useEffect(() => {
    field.current?.focus()
  }, [])
  useEffect(() => {
    if (over) renewal.current?.focus()
  }, [over])

  async function answer(digitsTyped: string) {
    if (busy || over) return
    if (digitsTyped.length !== digits) {
      setSaid({ tone: 'bad', text: text.code.tooFew(digits) })
      return field.current?.focus()
    }
    // An earlier message stays until there is another, so that nothing moves meanwhile.
    setBusy(true)
    setChecking(true)
    setFailure(null)
    try {
      await use.answer(challenge, Number(digitsTyped))
      onDone()
    } catch (error) {
      await refused(asProblem(error), () => answer(digitsTyped))
    } finally {
      setBusy(false)
      setChecking(false)
    }
  }

  async function refused(problem: Problem, retry: () => void) {
    const { code } = problem
    // The service refuses a code with a leading 0 as malformed, without counting an attempt. To the reader it is just
    // wrong.
    if (code === 'invalid-request') setSaid({ tone: 'bad', text: text.problems['otp-incorrect'] })
    else if (code === 'otp-incorrect') {
      const left = problem.attemptsLeft ?? 0
      onChallenge({ ...challenge, attemptsLeft: left })
      setSaid({ tone: 'bad', text: left > 0 ? text.code.wrong(left) : text.code.exhausted })
    } else if (code === 'otp-unusable') {
      if (!challenge.replaced) return replace()
      onChallenge({ ...challenge, attemptsLeft: 0 })
      setSaid({ tone: 'bad', text: text.problems[code] })
    } else {
      setSaid(null)
      return setFailure({ problem, retry })
    }
    requestAnimationFrame(() => field.current?.select())
  }

  async function ask(work: () => Promise<Challenge>, done: string) {
    setBusy(true)
    setFailure(null)
    setSaid(null)
    try {
      onChallenge(await work())
      setSaid({ tone: 'good', text: done })
      field.current?.focus()
    } catch (error) {
      await refused(asProblem(error), () => ask(work, done))
    } finally {
      setBusy(false)
    }
  }

  const renew = () =>
    ask(async () => {
      const next = await use.renew(challenge)
      setCode('')
      requestAnimationFrame(() => field.current?.focus())
      return { ...next, replaced: challenge.replaced }
    }, text.code.renewed)

  /** The field stays, so that the focus does. */
  async function replace() {
    // First, so that a reload meanwhile does not lead to another mail.
    const old = { ...challenge, replaced: true }
    onChallenge(old)
    try {
      const next = await use.renew(challenge)
      setCode('')
      onChallenge({ ...next, replaced: true })
      const isLonger = next.digits > digits
      setSaid({ tone: 'plain', text: isLonger ? text.code.longer(next.digits) : text.code.replaced })
      field.current?.focus()
    } catch (error) {
      onChallenge({ ...old, attemptsLeft: 0 })
      setSaid({ tone: 'bad', text: text.problems['otp-unusable'] })
      setFailure({ problem: asProblem(error), retry: renew })
    }
  }

  const expiredNow = secondsLeft === 0 && attemptsLeft !== 0
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        answer(code)
      }}
    >
      <div role="alert" className="said">
        {expiredNow && <p className="notice bad">{text.code.expired}</p>}
        {!expiredNow && said && said.tone !== 'good' && <p className={`notice ${said.tone}`}>{said.text}</p>}
      </div>
      {!over && (
        <Field
          ref={field}
          className="code"
          label={text.code.field}
          hint={text.code.fieldHint(digits)}
          value={code}
          onText={(typed) => {
            const next = onlyDigits(typed).slice(0, digits)
            setCode(next)
            if (next.length === digits && next !== code) answer(next)
          }}
          onPaste={(event) => {
            // Because of its length limit, the field would cut off "Code: 483 920" before the digits could be found.
            const pasted = onlyDigits(event.clipboardData.getData('text'))
            if (pasted.length !== digits) return
            event.preventDefault()
            setCode(pasted)
            answer(pasted)
          }}
          readOnly={busy}
          inputMode="numeric"
          autoComplete="one-time-code"
          autoCorrect="off"
          spellCheck={false}
          enterKeyHint="done"
          size={digits}
          dir="ltr"
          aria-invalid={said?.tone === 'bad' || undefined}
        />
      )}
      {!over && (
        <p role="status" className="progress">
          {checking && text.code.checking}
        </p>
      )}
      <dl className="facts">
        <div>
          <dt>{text.code.reference}</dt>
          <dd className="reference">{challenge.reference}</dd>
        </div>
        {!over && (
          <div>
            <dt>{text.code.timeLeft}</dt>
            <dd className={lastMinute ? 'short' : undefined}>
              <span role="timer">{minutesAndSeconds(secondsLeft)}</span>
            </dd>
          </div>
        )}
        {!over && attemptsLeft !== null && said?.tone !== 'bad' && (
          <div>
            <dt>{text.code.attempts}</dt>
            <dd>{attemptsLeft}</dd>
          </div>
        )}
      </dl>
      {!over && <p className="small soft">{text.code.referenceHint}</p>}
      {failure && <ProblemNotice problem={failure.problem} onRetry={failure.retry} />}
      <div className="actions">
        {over ? (
          <Button ref={renewal} look="main" busy={busy} onPress={renew}>
            {text.code.renew}
          </Button>
        ) : (
          <>
            <Button look="main" submits busy={checking} waits={busy}>
              {action}
            </Button>
            {challenge.resendAt === null ? (
              <p className="small soft">{text.code.noMore}</p>
            ) : (
              <Button
                look="quiet"
                waits={resendIn > 0 || checking}
                busy={busy && !checking}
                onPress={() => ask(() => use.sendAgain(challenge), text.code.resent)}
              >
                {resendIn > 0 ? text.code.resendIn(minutesAndSeconds(resendIn)) : text.code.resend}
              </Button>
            )}
          </>
        )}
      </div>
      <div role="status" className="said">
        {lastMinute && <span className="visually-hidden">{text.code.lastMinute}</span>}
        {said?.tone === 'good' && <p className="notice good">{said.text}</p>}
      </div>
      {!over && (
        <div className="help">
          <p className="small soft">{text.code.spam}</p>
          {provider && (
            <a className="button plain" href={provider.url} target="_blank" rel="noopener noreferrer">
              {text.code.openMail(provider.name)}
            </a>
          )}
        </div>
      )}
      {hasMailbox && (
        <p className="small">
          <a href="/mailbox" target="_blank" rel="noopener">
            {text.code.mailbox}
          </a>
        </p>
      )}
    </form>
  )
}

const onlyDigits = (text: string) => text.replace(/\D/g, '')
