import { useState } from 'react'
import { type Kept, keep, kept } from '../code/challenge.ts'
import { CodeForm } from '../code/code-form.tsx'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import type { User } from '../people.ts'
import { go, useRoute } from '../route.ts'
import { type Farewell, signOut } from '../session.ts'
import { AddressForm } from '../sign-in/address-form.tsx'
import { useWords } from '../text/text.ts'
import { fullName } from './person-parts.tsx'
import { useConsole } from './text/console-words.ts'

/** Staff enter their address, then the code, and continue to the page they wanted. */
export function SignIn({ farewell }: { farewell: Farewell | null }) {
  const { text } = useConsole()
  const [place] = useRoute()
  const waiting = place === 'code' ? kept() : null
  if (waiting) return <Code kept={waiting} />
  return (
    <Page title={text.signIn.title} lead={text.signIn.lead} narrow>
      <AddressForm farewell={farewell} as="staff" />
      <p className="aside">
        <a href="/">{text.signIn.portal}</a>
      </p>
    </Page>
  )
}

/** One cookie serves portal and console, so somebody who is both must choose. */
export function OtherRole({ user }: { user: User }) {
  const { text } = useConsole()
  const leaving = useAction(() => signOut())
  return (
    <Page title={text.signIn.otherRole} lead={<bdi>{text.signIn.otherRoleLead(fullName(user))}</bdi>} narrow>
      {leaving.problem && <ProblemNotice problem={leaving.problem} />}
      <div className="actions">
        <Button look="main" busy={leaving.busy} onPress={leaving.run}>
          {text.signIn.change}
        </Button>
      </div>
      <p className="aside">
        <a href="/">{text.signIn.toPortal}</a>
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
