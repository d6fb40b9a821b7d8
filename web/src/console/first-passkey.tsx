import { useState } from 'react'
import { Problem } from '../http.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Reading } from '../parts/loading.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { addPasskey } from '../passkeys/add.ts'
import { readPasskeys } from '../passkeys/page.tsx'
import { StepUp } from '../passkeys/step-up.tsx'
import { canUsePasskeys, NoPasskey } from '../passkeys/webauthn.ts'
import type { Staff } from '../people.ts'
import { useResource } from '../resource.ts'
import { signOut } from '../session.ts'
import { useWords } from '../text/text.ts'

/** Where staff must use passkeys, a code opens nothing but adding the first one, which then proves who they are. */
export function FirstPasskey({ user, onDone }: { user: Staff; onDone(): void }) {
  const { text } = useWords()
  const list = useResource('/passkey', readPasskeys)
  const problem = new Problem('recent-sign-in-required', { methods: ['passkey'] })
  return (
    <Page title={text.passkeys.title} lead={text.passkeys.required} narrow>
      <Reading of={list} />
      {!canUsePasskeys() && <p>{text.passkeys.unsupported}</p>}
      {list.data?.length === 0 && canUsePasskeys() && <Adding onDone={list.reload} />}
      {list.data && list.data.length > 0 && (
        <StepUp
          as="staff"
          email={user.email}
          problem={problem}
          why={text.passkeys.requiredConfirm}
          action={text.passkeys.goOn}
          onDone={onDone}
        />
      )}
    </Page>
  )
}

function Adding({ onDone }: { onDone(): void }) {
  const { text } = useWords()
  const [said, setSaid] = useState('')
  const leaving = useAction(() => signOut())
  const adding = useAction(async () => {
    setSaid('')
    try {
      await addPasskey()
      onDone()
    } catch (error) {
      if (!(error instanceof NoPasskey)) throw error
      setSaid(text.passkeys.notAdded)
    }
  })
  // A code does not count here, so the way on is a new sign-in.
  if (adding.problem?.code === 'recent-sign-in-required')
    return (
      <Notice tone="plain">
        <p role="alert">{text.passkeys.tooLate}</p>
        {leaving.problem && <ProblemNotice problem={leaving.problem} />}
        <Button look="main" busy={leaving.busy} onPress={leaving.run}>
          {text.passkeys.signInAgain}
        </Button>
      </Notice>
    )
  return (
    <>
      <p>{text.passkeys.none}</p>
      {adding.problem && <ProblemNotice problem={adding.problem} />}
      <p role="status" className="soft">
        {said}
      </p>
      <div className="actions">
        <Button look="main" busy={adding.busy} waits={adding.waits} onPress={adding.run}>
          {text.passkeys.add}
        </Button>
      </div>
    </>
  )
}
