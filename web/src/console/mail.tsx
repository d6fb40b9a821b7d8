import { useId, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Loading } from '../parts/loading.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { looksLikeAddress } from '../sign-in/draft.ts'
import { DeliveryList } from './deliveries.tsx'
import { usePages } from './pages.ts'
import { MailTo } from './people.tsx'
import type { Delivery, DeliveryState } from './replies.ts'
import { useConsole } from './text/console-words.ts'

const troubles: readonly DeliveryState[] = ['failed', 'bounced', 'deferred', 'queued', 'not-sent']

export function MailPage() {
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
        <Field
          label={text.address}
          type="email"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          dir="ltr"
          value={typed}
          onText={setTyped}
          error={wrong ? text.wrongAddress : null}
        />
        <Button submits>{text.look}</Button>
      </form>
      {email !== null && <MailTo key={email} email={email} />}
      <Troubles />
    </Page>
  )
}

function Troubles() {
  const { text: all } = useConsole()
  const text = all.mail
  const id = useId()
  const [state, setState] = useState<DeliveryState>('failed')
  const { items, problem, busy, hasMore, more, reload } = usePages<Delivery>(
    `/staff/deliveries?state=${state}`,
    'deliveries',
  )
  return (
    <section aria-labelledby="troubles">
      <h2 id="troubles">{text.troubles}</h2>
      <p className="choose">
        <label htmlFor={id}>{text.state}</label>
        <select
          id={id}
          value={state}
          onChange={(event) => setState(event.currentTarget.value as DeliveryState)}
        >
          {troubles.map((each) => (
            <option key={each} value={each}>
              {all.delivery.states[each]}
            </option>
          ))}
        </select>
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
