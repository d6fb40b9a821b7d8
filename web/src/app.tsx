import { Suspense, useEffect, useState } from 'react'
import { type Kept, kept } from './code/challenge.ts'
import { Frame } from './frame.tsx'
import type { Problem } from './http.ts'
import { useReadAgain } from './online.ts'
import { Boundary } from './parts/boundary.tsx'
import { Elsewhere } from './parts/elsewhere.tsx'
import { Loading } from './parts/loading.tsx'
import { ProblemNotice } from './parts/notice.tsx'
import { Page } from './parts/page.tsx'
import { PasskeyOffer } from './passkeys/offer.tsx'
import { isStaff, isStudent } from './people.ts'
import { pageForClient, useRoute } from './route.ts'
import { brand, isOpen } from './school.ts'
import { SchoolRefused } from './school-account/refused.tsx'
import {
  Authorize,
  Logout,
  Passkeys,
  PublicProfile,
  preload,
  SchoolLinks,
  StudentScreens,
  VeterinarianScreens,
} from './screens.ts'
import { resume, useSession } from './session.ts'
import { Code } from './sign-in/code.tsx'
import { Entry } from './sign-in/entry.tsx'
import { Register } from './sign-in/register.tsx'
import { SignIn } from './sign-in/sign-in.tsx'
import { type Language, loadWords, rememberLanguage, type Words, WordsContext } from './text/text.ts'

export function App({ words: first }: { words: Words }) {
  const [words, setWords] = useState(first)
  const choose = (language: Language) => {
    loadWords(language).then(
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
    <WordsContext value={words}>
      <Frame onLanguage={choose}>
        <Boundary>
          <Suspense fallback={<Waiting />}>
            <Screen />
          </Suspense>
        </Boundary>
      </Frame>
    </WordsContext>
  )
}

function Screen() {
  const session = useSession()
  const route = useRoute()
  const userId = /^\/v\/([^/]+)\/?$/.exec(location.pathname)?.[1]

  if (userId !== undefined) return <PublicProfile userId={userId} />
  if (route[0] === 'school-refused' && pageForClient === 'authorize') return <SchoolRefused />
  if (pageForClient === 'authorize') return <Authorize />
  if (pageForClient === 'logout') return <Logout />
  if (session.state === 'starting') return <Waiting />
  if (route[0] === 'school-refused') return <SchoolRefused />
  if (session.state === 'unreachable') return <Unreachable problem={session.problem} />
  if (session.state === 'out') {
    const waiting = route[0] === 'code' ? kept() : null
    const registering = route[0] === 'register'
    return (
      <Entry first={!waiting && !registering}>
        {waiting ? (
          <CodeBeforeScreens kept={waiting} />
        ) : registering ? (
          <Register />
        ) : (
          <SignIn farewell={session.reason} />
        )}
      </Entry>
    )
  }
  const { user } = session
  if (isStaff(user)) return <Elsewhere path="/console" />
  const inside = route[0] === 'register' || route[0] === 'code' ? [] : route
  if (inside[0] === 'passkeys' && inside.length === 1)
    return <Passkeys as={isStudent(user) ? 'student' : 'veterinarian'} email={user.email} />
  if (inside[0] === 'school-links' && inside.length === 1 && isStudent(user))
    return <SchoolLinks as="student" email={user.email} />
  return (
    <>
      {isOpen(isStudent(user) ? 'student' : 'veterinarian', 'passkey') && <PasskeyOffer />}
      {isStudent(user) ? (
        <StudentScreens user={user} route={inside} />
      ) : (
        <VeterinarianScreens user={user} route={inside} />
      )}
    </>
  )
}

/** The screens after the sign-in are loaded while the code is being typed. */
function CodeBeforeScreens({ kept }: { kept: Kept }) {
  const { role } = kept.challenge
  useEffect(() => preload(role), [role])
  return <Code kept={kept} />
}

function Unreachable({ problem }: { problem: Problem }) {
  useReadAgain(problem, resume)
  return (
    <Page title={brand} narrow>
      <ProblemNotice problem={problem} onRetry={resume} />
    </Page>
  )
}

function Waiting() {
  return (
    <main id="content" className="page">
      <Loading />
    </main>
  )
}
