import { useState } from 'react'
import { type Kept, keep } from '../code/challenge.ts'
import { CodeForm } from '../code/code-form.tsx'
import { forgetWaiting, masked } from '../code/waiting.ts'
import { Address } from '../parts/address.tsx'
import { Button } from '../parts/button.tsx'
import { AddressField } from '../parts/field.tsx'
import { Page } from '../parts/page.tsx'
import { type ServedRole, servedRoles } from '../people.ts'
import { go } from '../route.ts'
import { useWords } from '../text/text.ts'

const start = '#/'

export function Code({ kept }: { kept: Kept }) {
  const { text } = useWords()
  const [challenge, setChallenge] = useState(kept.challenge)
  const { role, email } = challenge
  const served = servedRoles.find((each) => each === role)
  const change = (next: typeof challenge) => {
    keep({ ...kept, challenge: next })
    setChallenge(next)
  }
  const isKnown = email !== ''
  return (
    <Page
      title={text.code.title}
      lead={
        isKnown ? (
          <Address of={email}>{kept.registered ? text.code.sent : text.code.sentTo}</Address>
        ) : (
          text.code.waitingLead(kept.address ?? '')
        )
      }
      narrow
    >
      {isKnown ? (
        <CodeForm
          challenge={challenge}
          onChallenge={change}
          onDone={() => go(kept.next, { replace: true })}
          action={text.code.check}
        />
      ) : (
        <WhichAddress of={kept.address ?? ''} onKnown={(known) => change({ ...challenge, email: known })} />
      )}
      <p className="aside">
        {served && <Role of={served} />}{' '}
        <a href={start} onClick={forgetWaiting}>
          {text.code.other}
        </a>
      </p>
    </Page>
  )
}

/** Somebody who chose the wrong role waits in vain for a code. */
function Role({ of }: { of: ServedRole }) {
  const { text } = useWords()
  return <span>{text.code.as[of]}</span>
}

function WhichAddress({ of, onKnown }: { of: string; onKnown(email: string): void }) {
  const { text } = useWords()
  const [email, setEmail] = useState('')
  const [wrong, setWrong] = useState(false)
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        const fits = /^[^\s@]+@[^\s@]+$/.test(email.trim()) && masked(email) === of
        setWrong(!fits)
        if (fits) onKnown(email.trim())
        else event.currentTarget.querySelector('input')?.focus()
      }}
    >
      <AddressField
        label={text.fields.email}
        hint={text.code.waitingHint}
        error={wrong ? text.code.waitingWrong(of) : null}
        name="email"
        autoComplete="email"
        required
        autoFocus
        value={email}
        onText={(typed) => {
          setEmail(typed)
          setWrong(false)
        }}
      />
      <div className="actions">
        <Button look="main" submits>
          {text.code.goOn}
        </Button>
      </div>
    </form>
  )
}
