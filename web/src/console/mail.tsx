import { useState } from 'react'
import { looksLikeAddress } from '../draft.ts'
import { useAction } from '../parts/action.ts'
import { Address } from '../parts/address.tsx'
import { Button } from '../parts/button.tsx'
import { AddressField } from '../parts/field.tsx'
import { Loading } from '../parts/loading.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import type { Staff } from '../people.ts'
import { useQuery } from '../route.ts'
import { ask } from '../session.ts'
import { DeliveryList } from './deliveries.tsx'
import { Choice } from './filter.tsx'
import { usePages } from './pages.ts'
import { MailTo } from './people.tsx'
import type { Delivery, TestResult } from './replies.ts'
import { useConsole } from './text/console-words.ts'

/** `waiting`: still to be sent, deferred ones included, as the overview counts them. */
const troubles = ['failed', 'bounced', 'waiting', 'deferred', 'not-sent'] as const

export function MailPage({ user }: { user: Staff }) {
  const { text: all } = useConsole()
  const text = all.mail
  const [typed, setTyped] = useState('')
  const [email, setEmail] = useState<string | null>(null)
  const [wrong, setWrong] = useState(false)
  return (
    <Page title={text.title} lead={text.lead}>
      <form
        className="inline"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          const fine = looksLikeAddress(typed)
          setWrong(!fine)
          setEmail(fine ? typed.trim() : null)
          if (!fine) event.currentTarget.querySelector('input')?.focus()
        }}
      >
        <AddressField
          label={text.address}
          value={typed}
          onText={setTyped}
          error={wrong ? text.wrongAddress : null}
        />
        <Button submits>{text.look}</Button>
      </form>
      {email !== null && <MailTo key={email} email={email} />}
      <Troubles />
      <Test user={user} />
    </Page>
  )
}

function Test({ user }: { user: Staff }) {
  const { text: all } = useConsole()
  const text = all.mail
  const [result, setResult] = useState<TestResult | null>(null)
  const sending = useAction(async () => {
    setResult(null)
    setResult(await ask<TestResult>('/staff/mail/test', { method: 'POST', body: {} }))
  })
  return (
    <section aria-labelledby="test">
      <h2 id="test">{text.test}</h2>
      <p className="soft">
        <Address of={user.email}>{text.testLead}</Address>
      </p>
      <p>
        <Button busy={sending.busy} waits={sending.waits} onPress={sending.run}>
          {text.testSend}
        </Button>
      </p>
      <div role="status">
        {result && (
          <Notice tone={result.taken ? 'good' : 'bad'}>
            <p>
              <bdi>{result.taken ? text.testTaken(result.server) : text.testRefused(result.server)}</bdi>
            </p>
            <p>
              {all.delivery.said} <bdi className="reply">{result.reply}</bdi>
            </p>
            {result.advice && <p lang="en">{result.advice}</p>}
          </Notice>
        )}
      </div>
      {sending.problem && <ProblemNotice problem={sending.problem} />}
    </section>
  )
}

function Troubles() {
  const { text: all } = useConsole()
  const text = all.mail
  const [query, change] = useQuery()
  const state = troubles.find((each) => each === query.get('state')) ?? 'failed'
  const { items, problem, busy, hasMore, more, reload } = usePages<Delivery>(
    `/staff/deliveries?state=${state}`,
    'deliveries',
  )
  return (
    <section aria-labelledby="troubles">
      <h2 id="troubles">{text.troubles}</h2>
      <p className="choose">
        <Choice
          label={text.state}
          value={state}
          onChange={(next) => change({ state: next })}
          of={troubles.map((each) => [
            each,
            each === 'waiting' ? all.overview.unsent : all.delivery.states[each],
          ])}
        />
      </p>
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      {items ? <DeliveryList of={items} none={text.noneInTrouble} withPerson /> : !problem && <Loading />}
      {hasMore && (
        <Button busy={busy} onPress={more}>
          {all.more}
        </Button>
      )}
    </section>
  )
}
