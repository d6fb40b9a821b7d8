import { useState } from 'react'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import type { Veterinarian } from '../people.ts'
import { ask, signOut } from '../session.ts'
import { askForCode, type Challenge } from '../sign-in/challenge.ts'
import { CodeForm } from '../sign-in/code-form.tsx'
import { useWords } from '../text/text.ts'

/** Asks for the surname as confirmation, and for a fresh code if the service demands one. */
export function Close({ user }: { user: Veterinarian }) {
  const { text } = useWords()
  const [typed, setTyped] = useState('')
  const [mismatch, setMismatch] = useState(false)
  const [challenge, setChallenge] = useState<Challenge | null>(null)
  const closing = useAction(async () => {
    await ask('/veterinarian/me', { method: 'DELETE' })
    await signOut('closed')
  })
  const asking = useAction(async () => setChallenge(await askForCode('veterinarian', user.email)))
  const stale = closing.problem?.code === 'recent-sign-in-required'

  return (
    <Page title={text.close.title} narrow>
      <p>{text.close.what}</p>
      <ul>
        {text.close.effects.map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
      {challenge ? (
        <CodeForm
          challenge={challenge}
          onChallenge={setChallenge}
          onSignedIn={closing.run}
          action={text.close.submit}
        />
      ) : stale ? (
        <>
          <Notice tone="plain">
            <p role="alert">{text.close.fresh}</p>
          </Notice>
          {asking.problem && <ProblemNotice problem={asking.problem} />}
          <div className="actions">
            <Button look="main" busy={asking.busy} onPress={asking.run}>
              {text.close.sendCode}
            </Button>
          </div>
        </>
      ) : (
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            const same = alike(typed) === alike(user.lastname)
            setMismatch(!same)
            if (same) closing.run()
            else event.currentTarget.querySelector('input')?.focus()
          }}
        >
          <Field
            label={text.close.confirmLabel(user.lastname)}
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onText={setTyped}
            error={mismatch ? text.close.mismatch : null}
          />
          <div className="actions">
            <Button look="danger" submits busy={closing.busy}>
              {text.close.submit}
            </Button>
          </div>
        </form>
      )}
      {closing.problem && !stale && <ProblemNotice problem={closing.problem} onRetry={closing.run} />}
      <p>
        <a href="#/data">{text.close.keep}</a>
      </p>
    </Page>
  )
}

const alike = (name: string) => name.trim().normalize('NFC').toLocaleLowerCase()
