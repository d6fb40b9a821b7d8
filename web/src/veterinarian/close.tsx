import { useState } from 'react'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { StepUp } from '../passkeys/step-up.tsx'
import type { Veterinarian } from '../people.ts'
import { ask, signOut } from '../session.ts'
import { useWords } from '../text/text.ts'

/** Asks for the surname as confirmation, and for a new code if the service requires one. */
export function Close({ user }: { user: Veterinarian }) {
  const { text } = useWords()
  const [typed, setTyped] = useState('')
  const [mismatch, setMismatch] = useState(false)
  const closing = useAction(async () => {
    await ask('/veterinarian/me', { method: 'DELETE' })
    await signOut('closed')
  })
  const stale = closing.problem?.code === 'recent-sign-in-required' ? closing.problem : null

  return (
    <Page title={text.close.title} narrow>
      <p>{text.close.what}</p>
      <ul>
        {text.close.effects.map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
      {stale ? (
        <StepUp
          as="veterinarian"
          email={user.email}
          problem={stale}
          why={text.close.fresh}
          action={text.close.submit}
          onDone={closing.run}
        />
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
