/**
 * Signs the reader in at an application. The service says what is still needed, and in the end where to go; the page
 * asks again whenever the reader signs in or out.
 */
import { useEffect, useId, useState } from 'react'
import type { Static } from 'typebox'
import type { AuthorizeReply } from '../../../src/identity/oauth/authorize-schemas.ts'
import { Problem, send } from '../http.ts'
import { About } from '../parts/about.tsx'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { StepUp } from '../passkeys/step-up.tsx'
import { isStaff, isStudent, type Role, type User } from '../people.ts'
import { resume, signOut, useSession } from '../session.ts'
import { draft, looksLikeAddress } from '../sign-in/draft.ts'
import { Entry } from '../sign-in/entry.tsx'
import { useWords } from '../text/text.ts'
import { Leaving, useLeave, Waiting } from './leave.tsx'
import { ClientSignIn } from './sign-in.tsx'

type Reply = Static<typeof AuthorizeReply>
export type Need = Exclude<Reply, { location: string }>
type Decision = { readonly confirmed?: true; readonly declined?: true }

const query = location.search.slice(1)

// The application knows whom it expects; the reader can change it. This file is loaded for no other page.
const hint = new URLSearchParams(query).get('login_hint') ?? ''
if (draft.email === '' && looksLikeAddress(hint)) draft.email = hint.trim()

export function Authorize() {
  const session = useSession()
  const { text } = useWords()
  const [goal, leave] = useLeave()
  const user = session.state === 'in' ? session.user : null
  const who = session.state === 'starting' ? undefined : (user?.userId ?? null)
  const [answer, setAnswer] = useState<{ readonly who: string | null; readonly need: Need } | null>(null)
  const asking = useAction(async (decision: Decision = {}) => {
    const body = { query, ...decision }
    const reply = await send<Reply>('/portal/authorize', { method: 'POST', body })
    if ('location' in reply) return leave(reply.location)
    // Somebody is signed in, but this device does not remember it.
    if (reply.need !== 'sign-in' && who === null) return resume({ anyway: true })
    setAnswer({ who: who ?? null, need: reply })
  })
  const changing = useAction(() => signOut())
  const id = useId()

  // Again whenever somebody else is signed in.
  useEffect(() => {
    if (who !== undefined) asking.run()
  }, [who])

  if (goal !== null) return <Leaving goal={goal} />
  const { problem } = asking
  if (problem?.code === 'invalid-request')
    return (
      <Page title={text.applications.refused} lead={text.applications.refusedLead} narrow>
        <p>
          <a href="/">{text.notFound.home}</a>
        </p>
      </Page>
    )
  const need = answer !== null && answer.who === who ? answer.need : null
  if (!need)
    return problem ? (
      <Page title={text.signIn.title} narrow>
        <ProblemNotice problem={problem} onRetry={asking.run} />
      </Page>
    ) : (
      <Waiting />
    )
  const failure = problem && <ProblemNotice problem={problem} />
  const decline = () => asking.run({ declined: true })
  if (need.need === 'sign-in' || !user) {
    const farewell = session.state === 'out' ? session.reason : null
    return (
      <ClientSignIn client={need.client} farewell={farewell} onCancel={decline}>
        {failure}
      </ClientSignIn>
    )
  }
  const other = changing.problem ? <ProblemNotice problem={changing.problem} /> : null
  const account = (
    <section className="card account-card" aria-labelledby={id}>
      <p id={id} className="small soft">
        {text.applications.signedInAs}
      </p>
      <About user={user} />
      <Button look="quiet" busy={changing.busy} onPress={changing.run}>
        {text.applications.otherAccount}
      </Button>
    </section>
  )
  return (
    <Entry first={false}>
      {need.need === 'step-up' ? (
        <Page title={text.applications.stepUp} narrow>
          {account}
          {other}
          {failure}
          {need.methods?.length === 0 ? (
            <p>
              {text.applications.passkeyFirst} <a href="/console">{text.applications.console}</a>
            </p>
          ) : (
            <StepUp
              as={roleOf(user)}
              email={user.email}
              problem={new Problem('recent-sign-in-required', { methods: need.methods ?? [] })}
              why={text.applications.stepUpWhy(need.client.name)}
              action={text.passkeys.goOn}
              onDone={asking.run}
              onCancel={decline}
            />
          )}
        </Page>
      ) : (
        <Page title={text.applications.confirm(need.client.name)} narrow>
          <p>{text.applications.may}</p>
          <ul>
            {known
              .filter((scope) => need.scopes.includes(scope))
              .map((scope) => (
                <li key={scope}>{text.applications.scopes[scope]}</li>
              ))}
          </ul>
          {account}
          {need.client.kind === 'native' && <p>{text.applications.appOnly(need.client.name)}</p>}
          <Destination />
          {other}
          {failure}
          <div className="actions">
            <Button look="main" busy={asking.busy} onPress={() => asking.run({ confirmed: true })}>
              {text.applications.allow}
            </Button>
            <Button waits={asking.busy} onPress={decline}>
              {text.applications.decline}
            </Button>
          </div>
        </Page>
      )}
    </Entry>
  )
}

const known = ['openid', 'profile', 'email', 'classes', 'account', 'offline_access'] as const

const roleOf = (user: User): Role => (isStaff(user) ? 'staff' : isStudent(user) ? 'student' : 'veterinarian')

/** Names can be chosen; where the reader is sent cannot. */
function Destination() {
  const { text } = useWords()
  const to = URL.parse(new URLSearchParams(query).get('redirect_uri') ?? '')
  if (to?.protocol !== 'https:') return null
  return <p className="small soft">{text.applications.goesTo(to.host)}</p>
}
