/** An application asks to sign the reader out here. The page asks first, unless the service knows that it may. */
import { useEffect, useState } from 'react'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { type LogoutReply, signOutFor, useSession } from '../session.ts'
import { useWords } from '../text/text.ts'
import { Leaving, useLeave, Waiting } from './leave.tsx'

const query = location.search.slice(1)

export function Logout() {
  const { state } = useSession()
  const { text } = useWords()
  const [goal, leave] = useLeave()
  const [reply, setReply] = useState<LogoutReply | null>(null)
  const leaving = useAction(async (confirmed?: true) => {
    const next = await signOutFor({ query, ...(confirmed && { confirmed }) })
    if ('location' in next && next.location !== null) leave(next.location)
    setReply(next)
  })
  const isKnown = state !== 'starting'

  useEffect(() => {
    if (isKnown) leaving.run()
  }, [isKnown])

  if (goal !== null) return <Leaving goal={goal} />
  const failure = leaving.problem && <ProblemNotice problem={leaving.problem} onRetry={() => leaving.run()} />
  if (!reply)
    return failure ? (
      <Page title={text.nav.signOut} narrow>
        {failure}
      </Page>
    ) : (
      <Waiting />
    )
  if ('need' in reply)
    return (
      <Page
        title={text.applications.logout}
        lead={text.applications.logoutLead(reply.client?.name ?? null)}
        narrow
      >
        {leaving.problem && <ProblemNotice problem={leaving.problem} />}
        <div className="actions">
          <Button look="main" busy={leaving.busy} onPress={() => leaving.run(true)}>
            {text.nav.signOut}
          </Button>
          <a className="button plain" href="/">
            {text.applications.stay}
          </a>
        </div>
      </Page>
    )
  return (
    <Page title={text.applications.loggedOut} lead={text.applications.loggedOutLead} narrow>
      <p>
        <a href="/">{text.notFound.home}</a>
      </p>
    </Page>
  )
}
