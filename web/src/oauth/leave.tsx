import { useState } from 'react'
import { Problem } from '../http.ts'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { useWords } from '../text/text.ts'

/** Web addresses, and schemes of apps, which have a dot. The service has checked the whole address. */
const mayGo = /^(https?|[a-z][a-z0-9-]*(\.[a-z0-9-]+)+):/

/** Sends the browser to an application. `goal` is where it is going. */
export function useLeave(): [goal: string | null, leave: (to: string) => void] {
  const [goal, setGoal] = useState<string | null>(null)
  const leave = (to: string) => {
    if (!mayGo.test(to)) throw new Problem('internal-error')
    setGoal(to)
    location.replace(to)
  }
  return [goal, leave]
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
