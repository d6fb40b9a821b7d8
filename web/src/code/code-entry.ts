import { type RefObject, useState } from 'react'
import { asProblem, type Problem } from '../http.ts'
import { useWords } from '../text/text.ts'
import type { Challenge, CodeUse } from './challenge.ts'

interface Message {
  readonly tone: 'good' | 'bad' | 'plain'
  readonly text: string
}

interface Failure {
  readonly problem: Problem
  retry(): void
}

interface Entry {
  readonly challenge: Challenge
  onChallenge(next: Challenge): void
  onDone(): void
  readonly use: CodeUse
  readonly field: RefObject<HTMLInputElement | null>
  readonly over: boolean
}

/**
 * What a form for a code does, and what it says. If the service no longer takes a code that should be good (under attack
 * it requires longer ones), a new one is requested at once.
 */
export function useCodeEntry({ challenge, onChallenge, onDone, use, field, over }: Entry) {
  const { text } = useWords()
  const [code, setCode] = useState('')
  const [busy, setBusy] = useState(false)
  const [checking, setChecking] = useState(false)
  const [failure, setFailure] = useState<Failure | null>(null)
  const [said, setSaid] = useState<Message | null>(null)
  const { digits } = challenge

  async function answer(typed: string) {
    if (busy || over) return
    if (typed.length !== digits) {
      setSaid({ tone: 'bad', text: text.code.tooFew(digits) })
      return field.current?.focus()
    }
    // An earlier message stays until there is another, so that nothing moves meanwhile.
    setBusy(true)
    setChecking(true)
    setFailure(null)
    try {
      await use.answer(challenge, Number(typed))
      onDone()
    } catch (error) {
      await refused(asProblem(error), () => answer(typed))
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

  const resend = () => ask(() => use.sendAgain(challenge), text.code.resent)

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

  return { code, setCode, busy, checking, failure, said, answer, resend, renew }
}
