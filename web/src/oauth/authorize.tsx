/**
 * Signs the reader in at an application. The service says what is still needed, and in the end where to go; the page
 * asks again whenever the reader signs in or out.
 */
import { type ReactNode, useEffect, useId, useState } from 'react'
import { personScopes } from '../../../src/identity/clients/kinds.ts'
import { draft, looksLikeAddress } from '../draft.ts'
import { Problem, send } from '../http.ts'
import { About } from '../parts/about.tsx'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { StepUp } from '../passkeys/step-up.tsx'
import { isStaff, isStudent, type Role, type User } from '../people.ts'
import { resume, signOut, useSession } from '../session.ts'
import { Entry } from '../sign-in/entry.tsx'
import { useWords } from '../text/text.ts'
import { Leaving, useLeave, Waiting } from './leave.tsx'
import type { Need, Reply } from './replies.ts'
import { ClientSignIn } from './sign-in.tsx'

type Decision = { readonly confirmed?: true; readonly declined?: true }

const query = location.search.slice(1)
const parameters = new URLSearchParams(query)

// The application knows whom it expects; the reader can change it. This file is loaded for no other page.
const hint = parameters.get('login_hint') ?? ''
if (draft.email === '' && looksLikeAddress(hint)) draft.email = hint.trim()

export function Authorize() {
  const session = useSession()
  const { text } = useWords()
  const [goal, leave] = useLeave()
  const user = session.state === 'in' ? session.user : null
  const who = user?.userId ?? null
  const [answer, setAnswer] = useState<{ readonly who: string | null; readonly need: Need } | null>(null)
  const asking = useAction(async (decision: Decision = {}) => {
    const reply = await send<Reply>('/portal/authorize', { method: 'POST', body: { query, ...decision } })
    if ('location' in reply) return leave(reply.location, reply.form)
    // Somebody is signed in, but this device does not remember it.
    if (reply.need !== 'sign-in' && who === null) await resume({ anyway: true })
    setAnswer({ who, need: reply })
  })
  const retry = () => asking.run()
  const decline = () => asking.run({ declined: true })

  // Not for every reason why nobody is signed in, or a failure would ask for ever.
  const occasion = session.state === 'in' ? session : session.state === 'starting' ? null : 'out'
  useEffect(() => {
    if (occasion !== null) asking.run()
  }, [occasion])

  const { problem } = asking
  if (goal !== null) return <Leaving goal={goal} />
  if (session.state === 'unreachable')
    return <Failed problem={session.problem} onRetry={() => resume({ anyway: true })} />
  if (problem?.code === 'invalid-request')
    return (
      <Page title={text.applications.refused} lead={text.applications.refusedLead} narrow>
        <p>
          <a href="/">{text.notFound.home}</a>
        </p>
      </Page>
    )
  const need = answer !== null && answer.who === who ? answer.need : null
  if (!need) return problem ? <Failed problem={problem} onRetry={retry} /> : <Waiting />
  const failure = problem && <ProblemNotice problem={problem} />
  if (need.need === 'sign-in' || !user)
    return (
      <ClientSignIn
        client={need.client}
        farewell={session.state === 'out' ? session.reason : null}
        onCancel={decline}
      >
        {failure}
      </ClientSignIn>
    )
  return (
    <Entry first={false}>
      {need.need === 'other-account' ? (
        <OtherAccount user={user} need={need} onCancel={decline}>
          {failure}
        </OtherAccount>
      ) : need.need === 'step-up' ? (
        <ProveAgain user={user} need={need} onDone={retry} onCancel={decline}>
          {failure}
        </ProveAgain>
      ) : need.need === 'refused' ? (
        <Refused user={user} need={need} busy={asking.busy} onBack={decline}>
          {failure}
        </Refused>
      ) : (
        <Confirm
          user={user}
          need={need}
          busy={asking.busy}
          onAllow={() => asking.run({ confirmed: true })}
          onDecline={decline}
        >
          {failure}
        </Confirm>
      )}
    </Entry>
  )
}

function Failed({ problem, onRetry }: { problem: Problem; onRetry(): void }) {
  const { text } = useWords()
  return (
    <Page title={text.signIn.title} narrow>
      <ProblemNotice problem={problem} onRetry={onRetry} />
    </Page>
  )
}

interface Asked {
  readonly user: User
  readonly need: Need
  readonly children: ReactNode
}

function Refused({
  user,
  need: { client, reason },
  busy,
  onBack,
  children,
}: Asked & { busy: boolean; onBack(): void }) {
  const { text } = useWords()
  const { notAdmitted, notVerified, otherRole, back } = text.applications
  return (
    <Page
      title={notAdmitted(client.name)}
      lead={reason === 'unverified' ? notVerified : otherRole(client.name)}
      narrow
    >
      <Account of={user} />
      {children}
      <div className="actions">
        <Button busy={busy} onPress={onBack}>
          {back(client.name)}
        </Button>
      </div>
    </Page>
  )
}

/** The application expects somebody else, and nobody who is signed in can change that. */
function OtherAccount({ user, need, onCancel, children }: Asked & { onCancel(): void }) {
  const { text } = useWords()
  const { name } = need.client
  return (
    <Page title={text.applications.expects(name)} lead={text.applications.expectsLead(name)} narrow>
      <Account of={user} />
      {children}
      <div className="actions">
        <Button onPress={onCancel}>{text.cancel}</Button>
      </div>
    </Page>
  )
}

function ProveAgain({
  user,
  need,
  onDone,
  onCancel,
  children,
}: Asked & { onDone(): void; onCancel(): void }) {
  const { text } = useWords()
  const methods = need.methods ?? []
  return (
    <Page title={text.applications.stepUp} narrow>
      <Account of={user} />
      {children}
      {methods.length === 0 ? (
        <p>
          {text.applications.passkeyFirst} <a href="/console">{text.applications.console}</a>
        </p>
      ) : (
        <StepUp
          as={roleOf(user)}
          email={user.email}
          problem={new Problem('recent-sign-in-required', { methods })}
          why={text.applications.stepUpWhy(need.client.name)}
          action={text.passkeys.goOn}
          onDone={onDone}
          onCancel={onCancel}
        />
      )}
    </Page>
  )
}

const roleOf = (user: User): Role => (isStaff(user) ? 'staff' : isStudent(user) ? 'student' : 'veterinarian')

/** All that is asked for, in a fixed order. A copy of this page from before an upgrade may not know one of them yet. */
function inOrder(asked: readonly string[]): readonly string[] {
  const known: readonly string[] = personScopes
  return [
    ...known.filter((scope) => asked.includes(scope)),
    ...asked.filter((scope) => !known.includes(scope)),
  ]
}

function Confirm({
  user,
  need: { client, scopes: asked },
  busy,
  onAllow,
  onDecline,
  children,
}: Asked & { busy: boolean; onAllow(): void; onDecline(): void }) {
  const { text } = useWords()
  const words: Readonly<Record<string, string>> = text.applications.scopes
  // Names can be chosen; where the reader is sent cannot.
  const to = URL.parse(parameters.get('redirect_uri') ?? '')
  return (
    <Page title={text.applications.confirm(client.name)} narrow>
      <p>{text.applications.may}</p>
      <ul>
        {inOrder(asked).map((scope) => (
          <li key={scope}>{words[scope] ?? scope}</li>
        ))}
      </ul>
      <Account of={user} />
      {client.kind === 'native' && <p>{text.applications.appOnly(client.name)}</p>}
      {to?.protocol === 'https:' && <p className="small soft">{text.applications.goesTo(to.host)}</p>}
      {children}
      <div className="actions">
        <Button look="main" busy={busy} onPress={onAllow}>
          {text.applications.allow}
        </Button>
        <Button waits={busy} onPress={onDecline}>
          {text.applications.decline}
        </Button>
      </div>
    </Page>
  )
}

/** Who is signed in. To use another account is to sign out first. */
function Account({ of }: { of: User }) {
  const { text } = useWords()
  const id = useId()
  const changing = useAction(() => signOut())
  return (
    <section className="card account-card" aria-labelledby={id}>
      <p id={id} className="small soft">
        {text.applications.signedInAs}
      </p>
      <About user={of} />
      <Button look="quiet" busy={changing.busy} onPress={changing.run}>
        {text.applications.otherAccount}
      </Button>
      {changing.problem && <ProblemNotice problem={changing.problem} />}
    </section>
  )
}
