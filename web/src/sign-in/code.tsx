import { useEffect, useState } from 'react'
import { Page } from '../parts/page.tsx'
import { go } from '../route.ts'
import { preload } from '../screens.ts'
import { useWords } from '../text/text.ts'
import type { Challenge } from './challenge.ts'
import { CodeForm } from './code-form.tsx'
import { SignIn } from './sign-in.tsx'

/** What stays with this entry of the history, so that a reload, or a phone that drops the page, loses nothing. */
interface Kept {
  readonly challenge: Challenge
  /** Where one wanted to go. */
  readonly next: string
}

export function showCode(challenge: Challenge, next: string): void {
  go('#/code', { state: { challenge, next } satisfies Kept })
}

export function Code() {
  const [kept, setKept] = useState<Kept | null>(() => history.state)
  const { text } = useWords()
  const role = kept?.challenge?.role
  useEffect(() => {
    if (role) preload(role)
  }, [role])
  if (!kept?.challenge) return <SignIn farewell={null} />

  const { challenge, next } = kept
  const keep = (challenge: Challenge) => {
    history.replaceState({ challenge, next } satisfies Kept, '')
    setKept({ challenge, next })
  }
  return (
    <Page title={text.code.title} lead={text.code.sentTo(challenge.email)} narrow>
      <CodeForm
        challenge={challenge}
        onChallenge={keep}
        onSignedIn={() => go(next, { replace: true })}
        action={text.code.check}
      />
      <p>
        <a href="#/">{text.code.other}</a>
      </p>
    </Page>
  )
}
