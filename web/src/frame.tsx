import { type ReactNode, useId, useSyncExternalStore } from 'react'
import { hasMailbox } from './development.ts'
import { useAction } from './parts/action.ts'
import { Button } from './parts/button.tsx'
import { ProblemNotice } from './parts/notice.tsx'
import { focusHeading } from './parts/page.tsx'
import { isStaff, isStudent, type Staff, type User } from './people.ts'
import { useRoute } from './route.ts'
import { brand, school } from './school.ts'
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
        {session.state === 'in' && (
          <>
            {!isStaff(session.user) && <Places user={session.user} />}
            <Button look="quiet" busy={leaving.busy} onPress={leaving.run}>
              {text.nav.signOut}
            </Button>
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

function Places({ user }: { user: Exclude<User, Staff> }) {
  const { text } = useWords()
  const route = useRoute()
  const here = location.pathname === '/' ? (route[0] ?? '') : null
  const places = isStudent(user)
    ? [
        ['', text.nav.classes],
        ['calendar', text.nav.calendar],
        ['sessions', text.nav.sessions],
        ['data', text.nav.data],
      ]
    : [
        ['', text.nav.profile],
        ['sessions', text.nav.sessions],
        ['data', text.nav.data],
      ]
  const within: Record<string, string> = { classes: '', close: 'data' }
  return (
    <nav aria-label={text.nav.label}>
      <ul>
        {places.map(([path, name]) => (
          <li key={path}>
            <a href={`/#/${path}`} aria-current={(within[here ?? '-'] ?? here) === path ? 'page' : undefined}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

export function Offline() {
  const { text } = useWords()
  const online = useSyncExternalStore(
    (listener) => {
      addEventListener('online', listener)
      addEventListener('offline', listener)
      return () => {
        removeEventListener('online', listener)
        removeEventListener('offline', listener)
      }
    },
    () => navigator.onLine,
  )
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
