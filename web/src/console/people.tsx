import { type KeyboardEvent, useRef, useState } from 'react'
import { looksLikeAddress } from '../draft.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Loading } from '../parts/loading.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import type { Staff } from '../people.ts'
import { useQuery } from '../route.ts'
import { BulkSignOut } from './bulk-sign-out.tsx'
import { DeliveryList } from './deliveries.tsx'
import { Choice } from './filter.tsx'
import { linksOn } from './navigation.ts'
import { usePages } from './pages.ts'
import { PeopleTable } from './people-table.tsx'
import { listLeft, Result } from './person-parts.tsx'
import type { Delivery, PersonSummary, Sort } from './replies.ts'
import { personStatuses, sorts } from './replies.ts'
import { useConsole } from './text/console-words.ts'

const typingMs = 200
const pageSize = 25
const yearsShown = 8

/** The last search, for going back from a person. Not in the URL: it may be somebody's address. */
let searched = ''

/** Searches while typing. Filters and order are in the URL. For an address, also shows the mails sent to it. */
export function PeoplePage({ user }: { user: Staff }) {
  const { text: all, number } = useConsole()
  const text = all.people
  const [query, change] = useQuery()
  const [typed, setTyped] = useState(searched)
  const [chosen, setChosen] = useState<ReadonlyMap<string, PersonSummary>>(new Map())
  const [signsOut, setSignsOut] = useState(false)
  const [said, setSaid] = useState<{ tone: 'good' | 'bad'; text: string } | null>(null)
  const list = useRef<HTMLDivElement>(null)
  const words = typed.trim()
  const path = pathOf(words, query)
  const pages = usePages<PersonSummary>(path, 'people', typingMs)
  const { items, problem, hasMore, busy, more, reload } = pages
  const isAddress = looksLikeAddress(words)
  const isFiltered = filters.some((name) => query.has(name))
  listLeft.hash = location.hash

  function move(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const links = [...(list.current?.querySelectorAll('a') ?? [])]
    if (step === undefined || links.length === 0 || event.target instanceof HTMLSelectElement) return
    event.preventDefault()
    const here = links.indexOf(document.activeElement as HTMLAnchorElement)
    const next = links[here + step]
    if (next) next.focus()
    else if (step < 0) document.querySelector<HTMLInputElement>('input[type=search]')?.focus()
  }
  const choose = (next: ReadonlyMap<string, PersonSummary>) => {
    setSaid(null)
    setChosen(next)
  }

  const count = items?.length ?? 0
  function foundText() {
    if (count === 0) return isAddress ? text.nobodyWithAddress : text.nobody
    if (pages.isSimilar) return text.similar
    return hasMore ? text.foundMore(number(count)) : text.found(count, number(count))
  }
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
        <Filters query={query} onChange={change} />
        {words === '' && !isFiltered && <ToCheckAgain />}
        <p role="status" className="soft">
          {items && foundText()}
        </p>
        {problem && <ProblemNotice problem={problem} onRetry={reload} />}
        <div role="status">
          {said && (
            <Notice tone={said.tone}>
              <p>{said.text}</p>
            </Notice>
          )}
        </div>
        {chosen.size > 0 && (
          <div className="choose chosen">
            <strong>{text.chosen(chosen.size, number(chosen.size))}</strong>
            <Button onPress={() => setSignsOut(true)}>{text.signOut.open}</Button>
            <Button look="quiet" onPress={() => choose(new Map())}>
              {text.chooseNone}
            </Button>
          </div>
        )}
        <div ref={list}>
          {items && count > 0 && (
            <PeopleTable
              of={items}
              sort={sortIn(query)}
              onSort={(sort) => change({ sort })}
              chosen={chosen}
              onChoose={choose}
            />
          )}
          {!items && !problem && <Loading />}
        </div>
        {hasMore && (
          <Button busy={busy} onPress={more}>
            {all.more}
          </Button>
        )}
      </div>
      {isAddress && items && <MailTo email={words} />}
      {linksOn('people').map((place) => (
        <p key={place}>
          <a href={`#/${place}`}>{all.nav[place]}</a>
        </p>
      ))}
      {signsOut && (
        <BulkSignOut
          of={[...chosen.values()]}
          user={user}
          onCancel={() => setSignsOut(false)}
          onDone={(left, result) => {
            setSignsOut(false)
            setChosen(new Map(left.map((person) => [person.userId, person])))
            setSaid(result)
          }}
        />
      )}
    </Page>
  )
}

const filters = ['role', 'status', 'year', 'verified'] as const

const sortIn = (query: URLSearchParams): Sort => sorts.find((sort) => sort === query.get('sort')) ?? 'name'

/** If no order was chosen, the service puts whoever matches exactly first. */
function pathOf(words: string, query: URLSearchParams): string {
  const asked = new URLSearchParams({ limit: String(pageSize) })
  for (const name of filters) {
    const value = query.get(name)
    if (value) asked.set(name, value)
  }
  if (query.has('sort')) asked.set('sort', sortIn(query))
  if (words !== '') asked.set('q', words)
  return `/staff/people?${asked}`
}

function Filters({
  query,
  onChange,
}: {
  query: URLSearchParams
  onChange(changes: Readonly<Record<string, string>>): void
}) {
  const { text: all } = useConsole()
  const text = all.people
  const asked = (name: (typeof filters)[number]) => query.get(name) ?? ''
  const statuses = personStatuses.filter((status) => status !== 'closed' || asked('status') === status)
  const years = [...Array(yearsShown).keys()].map((i) => String(i + 1))
  const year = asked('year')
  return (
    <search className="choose" aria-label={text.filters}>
      <Choice
        label={text.role}
        value={asked('role')}
        onChange={(role) => onChange({ role, ...(role === 'student' ? { verified: '' } : { year: '' }) })}
        of={[['', text.any], ...Object.entries(all.rolesMany)]}
      />
      <Choice
        label={text.status}
        value={asked('status')}
        onChange={(status) => onChange({ status })}
        of={[['', text.any], ...statuses.map((status) => [status, all.statuses[status]] as const)]}
      />
      {asked('role') !== 'veterinarian' && (
        <Choice
          label={text.year}
          value={year}
          onChange={(next) => onChange({ year: next, ...(next !== '' && { verified: '' }) })}
          of={[
            ['', text.any],
            ...(year === '' || years.includes(year) ? years : [...years, year]).map(
              (each) => [each, each] as const,
            ),
          ]}
        />
      )}
      {asked('role') !== 'student' && (
        <Choice
          label={text.verified}
          value={asked('verified')}
          onChange={(verified) => onChange({ verified, ...(verified !== '' && { year: '' }) })}
          of={[['', text.any], ...Object.entries(text.verifiedStates)]}
        />
      )}
      <Choice
        label={text.sort}
        value={sortIn(query)}
        onChange={(sort) => onChange({ sort })}
        of={sorts.map((sort) => [sort, text.sorts[sort]] as const)}
      />
      {filters.some((name) => query.has(name)) && (
        <Button look="quiet" onPress={() => onChange({ role: '', status: '', year: '', verified: '' })}>
          {text.noFilters}
        </Button>
      )}
    </search>
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
