import { useState } from 'react'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { go, useRoute } from '../route.ts'
import type { Farewell } from '../session.ts'
import { askForCode, type Kept, keep, kept, showCode } from '../sign-in/challenge.ts'
import { CodeForm } from '../sign-in/code-form.tsx'
import { looksLikeAddress } from '../sign-in/draft.ts'
import { useWords } from '../text/text.ts'
import { useConsole } from './text/console-words.ts'

/** Staff give their address, then the code. Afterwards they are where they wanted to go. */
export function SignIn({ farewell }: { farewell: Farewell | null }) {
  const [place] = useRoute()
  const waiting = place === 'code' ? kept() : null
  return waiting ? <Code kept={waiting} /> : <AddressForm farewell={farewell} />
}

function AddressForm({ farewell }: { farewell: Farewell | null }) {
  const { text: shared } = useWords()
  const { text } = useConsole()
  const [email, setEmail] = useState('')
  const [wrong, setWrong] = useState(false)
  const sending = useAction(async () => {
    const next = /^#\/(code)?$/.test(location.hash) ? '#/' : location.hash || '#/'
    showCode({ challenge: await askForCode('staff', email.trim()), next, registered: false })
  })
  const refused = wrong || sending.problem?.fields.includes('email')
  return (
    <Page title={text.signIn.title} lead={text.signIn.lead} narrow>
      {farewell && (
        <Notice tone={farewell === 'ended' ? 'plain' : 'good'}>
          <p role="status">{shared.signIn.farewell[farewell]}</p>
        </Notice>
      )}
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          const fine = looksLikeAddress(email)
          setWrong(!fine)
          if (fine) sending.run()
          else event.currentTarget.querySelector('input')?.focus()
        }}
      >
        <Field
          label={shared.fields.email}
          error={refused ? shared.fields.wrongEmail : null}
          type="email"
          name="email"
          autoComplete="email"
          inputMode="email"
          autoCapitalize="off"
          spellCheck={false}
          dir="ltr"
          required
          value={email}
          onText={(typed) => {
            setEmail(typed)
            setWrong(false)
          }}
        />
        {sending.problem && !refused && <ProblemNotice problem={sending.problem} onRetry={sending.run} />}
        <div className="actions">
          <Button look="main" submits busy={sending.busy} waits={sending.waits}>
            {shared.signIn.send}
          </Button>
        </div>
      </form>
      <p className="aside">
        <a href="/">{text.signIn.portal}</a>
      </p>
    </Page>
  )
}

function Code({ kept: first }: { kept: Kept }) {
  const { text } = useWords()
  const [challenge, setChallenge] = useState(first.challenge)
  return (
    <Page title={text.code.title} lead={text.code.sentTo(challenge.email)} narrow>
      <CodeForm
        challenge={challenge}
        onChallenge={(next) => {
          keep({ ...first, challenge: next })
          setChallenge(next)
        }}
        onDone={() => go(first.next, { replace: true })}
        action={text.code.check}
      />
      <p>
        <a href="#/">{text.code.other}</a>
      </p>
    </Page>
  )
}
