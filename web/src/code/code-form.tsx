import { type Ref, useEffect, useRef } from 'react'
import { minutesAndSeconds, useSecondsUntil } from '../clock.ts'
import { hasMailbox } from '../development.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { useWords } from '../text/text.ts'
import { type Challenge, type CodeUse, forSignIn } from './challenge.ts'
import { useCodeEntry } from './code-entry.ts'
import { providerOf } from './mail-providers.ts'

/**
 * The form for the code. The field keeps the focus after a wrong answer, messages go to one live region, and when the
 * code is no longer valid only a button for a new one remains.
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
  const field = useRef<HTMLInputElement>(null)
  const renewal = useRef<HTMLButtonElement>(null)
  const secondsLeft = useSecondsUntil(challenge.expiresAt)
  const resendIn = useSecondsUntil(challenge.resendAt)
  const { attemptsLeft } = challenge
  const over = secondsLeft === 0 || attemptsLeft === 0
  const lastMinute = secondsLeft > 0 && secondsLeft <= 60
  const entry = useCodeEntry({ challenge, onChallenge, onDone, use, field, over })
  const { busy, checking, failure, said } = entry

  useEffect(() => {
    field.current?.focus()
  }, [])
  useEffect(() => {
    if (over) renewal.current?.focus()
  }, [over])

  const expiredNow = secondsLeft === 0 && attemptsLeft !== 0
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        entry.answer(entry.code)
      }}
    >
      <div role="alert" className="said">
        {expiredNow && <p className="notice bad">{text.code.expired}</p>}
        {!expiredNow && said && said.tone !== 'good' && <p className={`notice ${said.tone}`}>{said.text}</p>}
      </div>
      {!over && <CodeField ref={field} entry={entry} digits={challenge.digits} />}
      {!over && (
        <p role="status" className="progress">
          {checking && text.code.checking}
        </p>
      )}
      <Facts challenge={challenge} secondsLeft={secondsLeft} over={over} isWrong={said?.tone === 'bad'} />
      {!over && <p className="small soft">{text.code.referenceHint}</p>}
      {failure && <ProblemNotice problem={failure.problem} onRetry={failure.retry} />}
      <div className="actions">
        {over ? (
          <Button ref={renewal} look="main" busy={busy} onPress={entry.renew}>
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
                onPress={entry.resend}
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
      {!over && <MailHelp email={challenge.email} />}
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

function CodeField({
  entry: { code, setCode, answer, busy, said },
  digits,
  ref,
}: {
  entry: ReturnType<typeof useCodeEntry>
  digits: number
  ref: Ref<HTMLInputElement>
}) {
  const { text } = useWords()
  return (
    <Field
      ref={ref}
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
  )
}

function Facts({
  challenge,
  secondsLeft,
  over,
  isWrong,
}: {
  challenge: Challenge
  secondsLeft: number
  over: boolean
  isWrong: boolean
}) {
  const { text } = useWords()
  const { reference, attemptsLeft } = challenge
  return (
    <dl className="facts">
      <div>
        <dt>{text.code.reference}</dt>
        <dd className="reference">{reference}</dd>
      </div>
      {!over && (
        <div>
          <dt>{text.code.timeLeft}</dt>
          <dd className={secondsLeft <= 60 ? 'short' : undefined}>
            <span role="timer">{minutesAndSeconds(secondsLeft)}</span>
          </dd>
        </div>
      )}
      {!over && attemptsLeft !== null && !isWrong && (
        <div>
          <dt>{text.code.attempts}</dt>
          <dd>{attemptsLeft}</dd>
        </div>
      )}
    </dl>
  )
}

function MailHelp({ email }: { email: string }) {
  const { text } = useWords()
  const provider = providerOf(email)
  return (
    <div className="help">
      <p className="small soft">{text.code.spam}</p>
      {provider && (
        <a className="button plain" href={provider.url} target="_blank" rel="noopener noreferrer">
          {text.code.openMail(provider.name)}
        </a>
      )}
    </div>
  )
}

const onlyDigits = (text: string) => text.replace(/\D/g, '')
