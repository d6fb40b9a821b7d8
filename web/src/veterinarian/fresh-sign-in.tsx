import { useState } from 'react'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import type { Veterinarian } from '../people.ts'
import { askForCode, type Challenge } from '../sign-in/challenge.ts'
import { CodeForm } from '../sign-in/code-form.tsx'
import { useWords } from '../text/text.ts'

/** Asks for a new code before actions that need a recent sign-in. */
export function FreshSignIn({
  user,
  why,
  action,
  onDone,
}: {
  user: Veterinarian
  why: string
  action: string
  onDone(): void
}) {
  const { text } = useWords()
  const [challenge, setChallenge] = useState<Challenge | null>(null)
  const asking = useAction(async () => setChallenge(await askForCode('veterinarian', user.email)))
  if (challenge)
    return <CodeForm challenge={challenge} onChallenge={setChallenge} onDone={onDone} action={action} />
  return (
    <>
      <Notice tone="plain">
        <p role="alert">{why}</p>
      </Notice>
      {asking.problem && <ProblemNotice problem={asking.problem} />}
      <div className="actions">
        <Button look="main" busy={asking.busy} waits={asking.waits} onPress={asking.run}>
          {text.signIn.send}
        </Button>
      </div>
    </>
  )
}
