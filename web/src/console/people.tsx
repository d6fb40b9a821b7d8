import { type KeyboardEvent, useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { looksLikeAddress } from '../sign-in/draft.ts'
import { DeliveryList } from './deliveries.tsx'
import { usePages } from './pages.ts'
import { Name, StatusMark } from './person-parts.tsx'
import type { Delivery, PersonSummary } from './replies.ts'
import { StateMark } from './state.tsx'
import { useConsole } from './text/console-words.ts'

const typingMs = 200
const pageSize = 25

/** The last search, for going back from a person. Not in the URL: it may be somebody's address. */
let searched = ''

/** Searches while typing. For an address, also shows the mails sent to it. */
export function PeoplePage() {
  const { text: all, number } = useConsole()
  const text = all.people
  const [typed, setTyped] = useState(searched)
  const list = useRef<HTMLUListElement>(null)
  const query = typed.trim()
  const path = query === '' ? null : `/staff/people?limit=${pageSize}&q=${encodeURIComponent(query)}`
  const { items, problem, hasMore, busy, more, reload } = usePages<PersonSummary>(path, 'people', typingMs)
  const isAddress = looksLikeAddress(query)

  function move(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const links = [...(list.current?.querySelectorAll('a') ?? [])]
    if (step === undefined || links.length === 0) return
    event.preventDefault()
    const here = links.indexOf(document.activeElement as HTMLAnchorElement)
    const next = links[here + step]
    if (next) next.focus()
    else if (step < 0) document.querySelector<HTMLInputElement>('input[type=search]')?.focus()
  }

  const count = items?.length ?? 0
  return (
    <Page title={text.title} lead={text.lead}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys are a second way through links that Tab reaches */}
      <div className="search" onKeyDown={move}>
        <Field
          label={text.search}
          hint={text.hint}
          type="search"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          enterKeyHint="search"
          autoFocus
          value={typed}
          onText={(next) => {
            searched = next
            setTyped(next)
          }}
        />
        <p role="status" className="soft">
          {query === ''
            ? text.start
            : items &&
              (count === 0
                ? isAddress
                  ? text.nobodyWithAddress
                  : text.nobody
                : hasMore
                  ? text.foundMore(number(count))
                  : text.found(count, number(count)))}
        </p>
        {problem && <ProblemNotice problem={problem} onRetry={reload} />}
        {count > 0 && (
          <ul ref={list} className="results" aria-label={text.results}>
            {items?.map((person) => (
              <li key={person.userId}>
                <Result person={person} />
              </li>
            ))}
          </ul>
        )}
        {hasMore && (
          <Button busy={busy} onPress={more}>
            {all.more}
          </Button>
        )}
      </div>
      {isAddress && items && <MailTo email={query} />}
      {query === '' && <ToCheckAgain />}
    </Page>
  )
}

/** Veterinarians to verify again because their name or address changed; empty if there are none. */
function ToCheckAgain() {
  const { text } = useConsole()
  const path = `/staff/people?verified=lost&limit=${pageSize}`
  const { items, problem, hasMore, busy, more, reload } = usePages<PersonSummary>(path, 'people')
  if (problem) return <ProblemNotice problem={problem} onRetry={reload} />
  if (!items || items.length === 0) return null
  return (
    <section aria-labelledby="check-again">
      <h2 id="check-again">{text.people.checkAgain}</h2>
      <p className="soft">{text.people.checkAgainLead}</p>
      <ul className="results">
        {items.map((person) => (
          <li key={person.userId}>
            <Result person={person} />
          </li>
        ))}
      </ul>
      {hasMore && (
        <Button busy={busy} onPress={more}>
          {text.more}
        </Button>
      )}
    </section>
  )
}

function Result({ person }: { person: PersonSummary }) {
  const { text } = useConsole()
  const { email, studentNumber, role } = person
  return (
    <a href={`#/people/${encodeURIComponent(person.userId)}`}>
      <Name of={person} />
      <StatusMark status={person.status} />
      {person.verificationLost && <StateMark state="warning" word={text.person.checkAgain} />}
      <span className="soft">
        {text.roles[role]}
        {studentNumber && (
          <>
            {' · '}
            <bdi>{studentNumber}</bdi>
          </>
        )}
        {email && (
          <>
            {' · '}
            <bdi dir="ltr">{email}</bdi>
          </>
        )}
      </span>
    </a>
  )
}

/** Mails to an address, whether it belongs to an account or not. */
export function MailTo({ email }: { email: string }) {
  const { text } = useConsole()
  const path = `/staff/deliveries?email=${encodeURIComponent(email)}`
  const { items, problem, hasMore, busy, more, reload } = usePages<Delivery>(path, 'deliveries', typingMs)
  return (
    <section aria-labelledby="mail-to">
      <h2 id="mail-to">{text.people.mailTo(email)}</h2>
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      {items && <DeliveryList of={items} none={text.people.noMail} />}
      {hasMore && (
        <Button busy={busy} onPress={more}>
          {text.more}
        </Button>
      )}
    </section>
  )
}
