import { useState } from 'react'
import { Problem } from '../http.ts'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { useWords } from '../text/text.ts'

/** Web addresses, and schemes of apps, which have a dot. The service has checked the whole address. */
const mayGo = /^(https?|[a-z][a-z0-9-]*(\.[a-z0-9-]+)+):/

type Form = Readonly<Record<string, string>>

/** Sends the browser to an application, with a form if there is one. `goal` is where it is going. */
export function useLeave(): [goal: string | null, leave: (to: string, form?: Form) => void] {
  const [goal, setGoal] = useState<string | null>(null)
  const leave = (to: string, form?: Form) => {
    if (!mayGo.test(to)) throw new Problem('internal-error')
    setGoal(to)
    if (form) post(to, form)
    else location.replace(to)
  }
  return [goal, leave]
}

function post(to: string, values: Form): void {
  const form = document.createElement('form')
  form.method = 'post'
  form.action = to
  form.hidden = true
  for (const [name, value] of Object.entries(values)) {
    const input = document.createElement('input')
    Object.assign(input, { type: 'hidden', name, value })
    form.append(input)
  }
  document.body.append(form)
  form.submit()
}

/** The browser leaves for a web address. An app opens beside this page, or after a press if the browser insists. */
export function Leaving({ goal }: { goal: string }) {
  const { text } = useWords()
  if (/^https?:/.test(goal)) return <Waiting />
  return (
    <Page title={text.applications.toApp} lead={text.applications.toAppLead} narrow>
      <div className="actions">
        <a className="button main" href={goal}>
          {text.applications.openApp}
        </a>
      </div>
    </Page>
  )
}

export function Waiting() {
  return (
    <main id="content" className="page narrow">
      <Loading />
    </main>
  )
}
