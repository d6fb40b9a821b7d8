import { type ReactNode, useId, useRef } from 'react'
import { hasMailbox } from './development.ts'
import { useOnline } from './online.ts'
import { About } from './parts/about.tsx'
import { useAction } from './parts/action.ts'
import { Button } from './parts/button.tsx'
import { Monogram } from './parts/monogram.tsx'
import { ProblemNotice } from './parts/notice.tsx'
import { focusHeading } from './parts/page.tsx'
import { isStaff, isStudent, type Staff, type User } from './people.ts'
import { pageForClient, useRoute } from './route.ts'
import { brand, isOpen, school } from './school.ts'
import { useProviders } from './school-account/providers.ts'
import { signOut, useSession } from './session.ts'
import { type Language, languages, useWords } from './text/text.ts'

/** The frame around every screen: logo, navigation and language. */
export function Frame({
  onLanguage,
  children,
}: {
  onLanguage(language: Language): void
  children: ReactNode
}) {
  const { text } = useWords()
  const session = useSession()
  const leaving = useAction(() => signOut())
  return (
    <>
      <Skip />
      <header className="bar">
        <a className="brand" href="/#/" aria-label={text.nav.home(brand)}>
          <Brand />
        </a>
        {session.state === 'in' && pageForClient === null && (
          <>
            {!isStaff(session.user) && <Places user={session.user} />}
            {!isStaff(session.user) && (
              <Account user={session.user}>
                <Button look="quiet" busy={leaving.busy} onPress={leaving.run}>
                  {text.nav.signOut}
                </Button>
              </Account>
            )}
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
      <Footer onLanguage={onLanguage} />
    </>
  )
}

export function Brand() {
  return (
    <>
      {school.logo ? (
        <img className="logo" src={school.logo} alt="" height="36" />
      ) : (
        <img src="/assets/mark.svg" alt="" width="36" height="36" />
      )}
      {brand}
    </>
  )
}

/** Not a `#` link, because the hash is the route. */
export function Skip() {
  const { text } = useWords()
  return (
    <button type="button" className="skip" onClick={focusHeading}>
      {text.skip}
    </button>
  )
}

type Served = Exclude<User, Staff>
type PageName = readonly [path: string, name: string]

/** Subscreens, and the navigation item that they belong to. */
const within: Record<string, string> = { classes: '', close: 'data', email: '' }

function Links({ to, label, onPress }: { to: readonly PageName[]; label: string; onPress?: () => void }) {
  const route = useRoute()
  const here = location.pathname === '/' ? (route[0] ?? '') : '-'
  return (
    <nav aria-label={label}>
      <ul>
        {to.map(([path, name]) => (
          <li key={path}>
            <a
              href={`/#/${path}`}
              aria-current={(within[here] ?? here) === path ? 'page' : undefined}
              onClick={onPress}
            >
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Places({ user }: { user: Served }) {
  const { text } = useWords()
  const places: PageName[] = isStudent(user)
    ? [
        ['', text.nav.classes],
        ['card', text.nav.card],
        ['calendar', text.nav.calendar],
      ]
    : [['', text.nav.profile]]
  return <Links to={places} label={text.nav.label} />
}

/** Part of the bar on a wide screen; on a phone it opens at the avatar. */
function Account({ user, children }: { user: Served; children: ReactNode }) {
  const { text } = useWords()
  const id = useId()
  const panel = useRef<HTMLDivElement>(null)
  const providers = useProviders(isStudent(user) ? 'student' : null)
  const usesPasskeys = isOpen(isStudent(user) ? 'student' : 'veterinarian', 'passkey')
  const places: PageName[] = [
    ['sessions', text.nav.sessions],
    ...(usesPasskeys ? [['passkeys', text.passkeys.title] as const] : []),
    ...(providers?.length ? [['school-links', text.school.title] as const] : []),
    ['data', text.nav.data],
  ]
  return (
    <>
      <button type="button" className="avatar" popoverTarget={id}>
        <Monogram of={user} />
        <span className="visually-hidden">{text.nav.account}</span>
      </button>
      <div ref={panel} id={id} className="account" popover="auto">
        <About user={user} />
        <Links to={places} label={text.nav.account} onPress={() => panel.current?.hidePopover()} />
        {children}
      </div>
    </>
  )
}

export function Offline() {
  const { text } = useWords()
  const online = useOnline()
  return (
    <div role="status" className="offline">
      {!online && <p>{text.offline}</p>}
    </div>
  )
}

export function Footer({ onLanguage }: { onLanguage(language: Language): void }) {
  const { text, language } = useWords()
  const id = useId()
  return (
    <footer className="foot">
      <p>{text.footer.about(school.name)}</p>
      {(school.support || school.privacy) && (
        <p>
          {school.support && <a href={school.support}>{text.footer.help}</a>}
          {school.privacy && <a href={school.privacy}>{text.footer.privacy}</a>}
        </p>
      )}
      <p>
        <label htmlFor={id}>{text.language}</label>
        <select
          id={id}
          value={language}
          onChange={(event) => onLanguage(event.currentTarget.value as Language)}
        >
          {Object.entries(languages).map(([tag, { own }]) => (
            <option key={tag} value={tag} lang={tag}>
              {own}
            </option>
          ))}
        </select>
      </p>
      {hasMailbox && (
        <p className="developers">
          {text.footer.developers} <a href="/docs">{text.footer.reference}</a>
          <a href="/problems">{text.footer.problems}</a>
          <a href="/mailbox">{text.footer.mailbox}</a>
        </p>
      )}
    </footer>
  )
}
