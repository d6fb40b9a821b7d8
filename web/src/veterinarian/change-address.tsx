import { useState } from 'react'
import { type Challenge, type CodeUse, challengeOf, type Sent, sentAgain } from '../code/challenge.ts'
import { CodeForm } from '../code/code-form.tsx'
import { looksLikeAddress } from '../draft.ts'
import { useAction } from '../parts/action.ts'
import { Address } from '../parts/address.tsx'
import { Button } from '../parts/button.tsx'
import { AddressField } from '../parts/field.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { StepUp } from '../passkeys/step-up.tsx'
import type { Veterinarian } from '../people.ts'
import { ask, rename } from '../session.ts'
import { useWords } from '../text/text.ts'

const path = '/veterinarian/me/email'
const post = (body: { email: string; sessionId?: string }) => ask<Sent>(path, { method: 'POST', body })
const start = async (email: string) => challengeOf('veterinarian', email, await post({ email }))

const forAddress: CodeUse = {
  answer: async ({ sessionId }, code) =>
    rename(
      await ask<Veterinarian>(`${path}/confirm`, { method: 'POST', body: { otp_code: code, sessionId } }),
    ),
  sendAgain: async (challenge) => {
    const { email, sessionId } = challenge
    return sentAgain(challenge, await post({ email, sessionId }))
  },
  renew: ({ email }) => start(email),
}

/** The code goes to the new address, to prove that the owner can read it. */
export function ChangeAddress({ user }: { user: Veterinarian }) {
  const { text } = useWords()
  const [email, setEmail] = useState('')
  const [wrong, setWrong] = useState<'unlike' | 'same' | null>(null)
  const [challenge, setChallenge] = useState<Challenge | null>(null)
  const [done, setDone] = useState(false)
  const sending = useAction(async () => setChallenge(await start(email.trim())))
  const refused = wrong ?? (sending.problem?.fields.includes('email') ? 'unlike' : null)
  const errors = { unlike: text.fields.wrongEmail, same: text.email.same }
  const stale = sending.problem?.code === 'recent-sign-in-required' ? sending.problem : null

  return (
    <Page title={text.email.title} narrow>
      {done ? (
        <Notice tone="good">
          <p role="status">
            <Address of={user.email}>{text.email.done}</Address>
          </p>
        </Notice>
      ) : challenge ? (
        <>
          <p className="lead">
            <Address of={challenge.email}>{text.email.sent}</Address>
          </p>
          <CodeForm
            challenge={challenge}
            onChallenge={setChallenge}
            onDone={() => setDone(true)}
            action={text.email.confirm}
            use={forAddress}
          />
        </>
      ) : stale ? (
        <StepUp
          as="veterinarian"
          email={user.email}
          problem={stale}
          why={text.email.fresh}
          action={text.email.goOn}
          onDone={sending.run}
        />
      ) : (
        <>
          <p className="lead">
            <Address of={user.email}>{text.email.now}</Address>
          </p>
          {user.verified && <p className="soft">{text.email.lost}</p>}
          <form
            noValidate
            onSubmit={(event) => {
              event.preventDefault()
              const isSame = email.trim().toLowerCase() === user.email.toLowerCase()
              const found = isSame ? 'same' : looksLikeAddress(email) ? null : 'unlike'
              setWrong(found)
              if (!found) sending.run()
              else event.currentTarget.querySelector('input')?.focus()
            }}
          >
            <AddressField
              label={text.email.field}
              hint={text.email.hint}
              error={refused && errors[refused]}
              name="email"
              autoComplete="email"
              value={email}
              onText={(typed) => {
                setEmail(typed)
                setWrong(null)
              }}
            />
            {sending.problem && !refused && <ProblemNotice problem={sending.problem} onRetry={sending.run} />}
            <div className="actions">
              <Button look="main" submits busy={sending.busy} waits={sending.waits}>
                {text.signIn.send}
              </Button>
            </div>
          </form>
        </>
      )}
      <p>
        <a href="#/">{text.email.back}</a>
      </p>
    </Page>
  )
}
