import { type ReactNode, useId, useState } from 'react'
import { Brand, Footer, Offline, Skip } from '../frame.tsx'
import { About } from '../parts/about.tsx'
import { useAction } from '../parts/action.ts'
import { Boundary } from '../parts/boundary.tsx'
import { Button } from '../parts/button.tsx'
import { Loading, Reading } from '../parts/loading.tsx'
import { Monogram } from '../parts/monogram.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Passkeys } from '../passkeys/page.tsx'
import { isStaff, type Staff } from '../people.ts'
import { useResource } from '../resource.ts'
import { useRoute } from '../route.ts'
import { brand, isOpen, school } from '../school.ts'
import { SchoolLinks } from '../school-account/page.tsx'
import { useProviders } from '../school-account/providers.ts'
import { SchoolRefused } from '../school-account/refused.tsx'
import { ask, resume, signOut, useSession } from '../session.ts'
import { type Language, rememberLanguage, useWords, WordsContext } from '../text/text.ts'
import { ApplicationPage } from './applications/application.tsx'
import { ApplicationsPage } from './applications/list.tsx'
import { Events } from './events.tsx'
import { FirstPasskey } from './first-passkey.tsx'
import { MailPage } from './mail.tsx'
import { canOpen, inBar, isInBar, isPage, type PageName, places } from './navigation.ts'
import { NotFound } from './not-found.tsx'
import { OverviewPage } from './overview.tsx'
import { PeoplePage } from './people.tsx'
import { PersonPage } from './person.tsx'
import { ProvidersPage } from './providers.tsx'
import { RefusalsPage } from './refusals.tsx'
import { ImportPage } from './roster/import.tsx'
import { PlanPage } from './roster/plan.tsx'
import { RosterPage } from './roster/roster.tsx'
import { UndoPage } from './roster/undo.tsx'
import { OtherRole, SignIn } from './sign-in.tsx'
import { StaffPage } from './staff.tsx'
import { ConsoleContext, type ConsoleWords, loadConsoleWords, useConsole } from './text/console-words.ts'
import { WebhooksPage } from './webhooks.tsx'

export function Console({ words: first }: { words: ConsoleWords }) {
  const [words, setWords] = useState(first)
  const choose = (language: Language) => {
    loadConsoleWords(language).then(
      (next) => {
        rememberLanguage(language)
        setWords(next)
      },
      () => {
        // The words could not be loaded; the page keeps its language.
      },
    )
  }
  return (
    <WordsContext value={words.shared}>
      <ConsoleContext value={words}>
        <ConsoleFrame>
          <Boundary>
            <Screen />
          </Boundary>
        </ConsoleFrame>
        <Footer onLanguage={choose} />
      </ConsoleContext>
    </WordsContext>
  )
}

function ConsoleFrame({ children }: { children: ReactNode }) {
  const { text: shared } = useWords()
  const { text } = useConsole()
  const session = useSession()
  const providers = useProviders('staff')
  const leaving = useAction(() => signOut())
  return (
    <>
      <Skip />
      <header className="bar">
        <a className="brand" href="/console#/" aria-label={text.nav.home(brand)}>
          <Brand /> <span className="soft">{text.name}</span>
        </a>
        {session.state === 'in' && isStaff(session.user) && (
          <>
            <Places user={session.user} />
            <Account user={session.user}>
              {providers?.length ? <a href="#/school-links">{shared.school.title}</a> : null}
              {isOpen('staff', 'passkey') && <a href="#/passkeys">{shared.passkeys.title}</a>}
              <Button look="quiet" busy={leaving.busy} onPress={leaving.run}>
                {shared.nav.signOut}
              </Button>
            </Account>
          </>
        )}
      </header>
      <Offline />
      {leaving.problem && session.state === 'in' && (
        <div className="page">
          <ProblemNotice problem={leaving.problem} onRetry={leaving.run} />
        </div>
      )}
      {children}
    </>
  )
}

/** Who is signed in: part of the bar on a wide screen; on a phone it opens at the avatar. */
function Account({ user, children }: { user: Staff; children: ReactNode }) {
  const { text } = useWords()
  const id = useId()
  return (
    <>
      <button type="button" className="avatar" popoverTarget={id}>
        <Monogram of={user} />
        <span className="visually-hidden">{text.nav.account}</span>
      </button>
      <div id={id} className="account" popover="auto">
        <About user={user} />
        {children}
      </div>
    </>
  )
}

function Places({ user }: { user: Staff }) {
  const { text: shared } = useWords()
  const { text } = useConsole()
  const [place = ''] = useRoute()
  const here = inBar(place)
  const open = (Object.keys(places) as PageName[]).filter((one) => isInBar(one) && canOpen(user, one))
  return (
    <nav aria-label={shared.nav.label}>
      <ul>
        {open.map((one) => (
          <li key={one}>
            <a href={`#/${one}`} aria-current={here === one ? 'page' : undefined}>
              {text.nav[one]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Screen() {
  const session = useSession()
  const route = useRoute()
  if (session.state === 'starting')
    return (
      <main id="content" className="page">
        <Loading />
      </main>
    )
  if (route[0] === 'school-refused') return <SchoolRefused />
  if (session.state === 'unreachable')
    return (
      <Page title={brand} narrow>
        <ProblemNotice problem={session.problem} onRetry={resume} />
      </Page>
    )
  if (session.state === 'out') return <SignIn farewell={session.reason} />
  if (!isStaff(session.user)) return <OtherRole user={session.user} />
  const screen = <StaffScreen user={session.user} route={route[0] === 'code' ? [] : route} />
  return school.passkeys === 'required' ? <WithPasskey user={session.user}>{screen}</WithPasskey> : screen
}

/**
 * Where staff must use passkeys, a session that a code began cannot even read who it is of. Also after a reload, so the
 * service is asked.
 */
function WithPasskey({ user, children }: { user: Staff; children: ReactNode }) {
  const { text } = useWords()
  const me = useResource('/staff/me', readMe)
  if (me.problem?.code === 'forbidden') return <FirstPasskey user={user} onDone={me.reload} />
  if (me.data) return children
  return (
    <Page title={text.passkeys.title} narrow>
      <Reading of={me} />
    </Page>
  )
}

const readMe = (path: string) => ask<Staff>(path)

function StaffScreen({ user, route }: { user: Staff; route: readonly string[] }) {
  const { text } = useConsole()
  const [place = '', id, ...rest] = route
  if (place === 'passkeys' && id === undefined) return <Passkeys as="staff" email={user.email} />
  if (place === 'school-links' && id === undefined) return <SchoolLinks as="staff" email={user.email} />
  if (!isPage(place) || rest.length > 1) return <NotFound />
  if (!canOpen(user, place))
    return (
      <Page title={text.nav[place]} narrow>
        <p>{text.nothingAllowed}</p>
      </Page>
    )
  if (place === 'people' && id !== undefined && rest.length === 0)
    return <PersonPage key={id} userId={id} user={user} />
  if (place === 'applications' && id !== undefined && rest.length === 0)
    return <ApplicationPage key={id} clientId={id} user={user} />
  if (place === 'roster' && id === 'plans' && rest.length === 1)
    return <PlanPage key={rest[0]} planId={rest[0]!} user={user} />
  if (place === 'roster' && id === 'imports' && rest.length === 1)
    return <ImportPage key={rest[0]} number={rest[0]!} user={user} />
  if (place === 'roster' && id === 'undo' && rest.length === 1)
    return <UndoPage key={rest[0]} to={rest[0]!} user={user} />
  if (id !== undefined) return <NotFound />
  const pages: Record<PageName, ReactNode> = {
    '': <OverviewPage user={user} />,
    people: <PeoplePage user={user} />,
    mail: <MailPage user={user} />,
    roster: <RosterPage user={user} />,
    events: <Events user={user} />,
    refusals: <RefusalsPage />,
    providers: <ProvidersPage user={user} />,
    webhooks: <WebhooksPage user={user} />,
    applications: <ApplicationsPage user={user} />,
    staff: <StaffPage user={user} />,
  }
  return pages[place]
}
