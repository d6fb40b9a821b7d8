import { useCallback, useEffect, useId, useState } from 'react'
import { byteOrderMark, spreadsheetLine } from '../../../src/platform/lib/spreadsheet.ts'
import { asProblem, type Problem } from '../http.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Loading } from '../parts/loading.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { save } from '../parts/save.ts'
import type { Staff } from '../people.ts'
import { useQuery } from '../route.ts'
import { ask } from '../session.ts'
import { EventList, type Names, useActors, useStaffNames } from './event-list.tsx'
import { Choice } from './filter.tsx'
import { isInUse } from './in-use.ts'
import type { EventPage, FeedEvent } from './replies.ts'
import { useConsole } from './text/console-words.ts'

const pageSize = 50
const followMs = 5_000
const newest = Number.MAX_SAFE_INTEGER
/** Following for hours must not fill the page without end. */
const shownMax = 2_000

const csvPageSize = 1_000
const csvEventsMax = 10_000

export function Events({ user }: { user: Staff }) {
  const { text: all, number } = useConsole()
  const text = all.events
  const [query, change] = useQuery()
  const [follows, setFollows] = useState(false)
  const asked = (name: string) => query.get(name) ?? ''
  const filter = filterOf(query, Object.keys(text.types))
  const feed = useFeed(filter, follows)
  const staff = useStaffNames(user)
  const nameOf = useActors(user, { ...staff, ...feed.names })
  const person = asked('person')
  const [isCut, setIsCut] = useState(false)
  const saving = useAction(async () => setIsCut(await saveCsv(filter, nameOf)))
  const actors = [...new Set([...Object.keys(text.actors), ...Object.keys(staff), asked('actor')])]
  return (
    <Page title={text.title} lead={text.lead}>
      <div className="choose">
        <Choice
          label={text.filter}
          value={asked('kind')}
          onChange={(kind) => change({ kind })}
          of={[['', text.all], ...Object.entries(text.groups)]}
        />
        <Choice
          label={text.actor}
          value={asked('actor')}
          onChange={(actor) => change({ actor })}
          of={[['', text.anybody], ...actors.filter(Boolean).map((id): [string, string] => [id, nameOf(id)])]}
        />
        <DayField label={text.from} value={asked('from')} onChange={(from) => change({ from })} />
        <DayField label={text.to} value={asked('to')} onChange={(to) => change({ to })} />
        <label className="check">
          <input
            type="checkbox"
            checked={follows}
            onChange={(event) => setFollows(event.currentTarget.checked)}
          />
          {text.follow}
        </label>
        <Button busy={saving.busy} onPress={saving.run}>
          {text.csv}
        </Button>
      </div>
      {person !== '' && (
        <p>
          {text.onlyPerson} <bdi>{feed.names[person] ?? person.slice(0, 6)}</bdi>{' '}
          <Button look="quiet" onPress={() => change({ person: '' })}>
            {text.everybody}
          </Button>
        </p>
      )}
      <p role="status" className="visually-hidden">
        {feed.fresh > 0 && text.fresh(feed.fresh, number(feed.fresh))}
      </p>
      <div role="status">{isCut && <p className="notice">{text.csvCut(number(csvEventsMax))}</p>}</div>
      {saving.problem && <ProblemNotice problem={saving.problem} onRetry={saving.run} />}
      {feed.problem && <ProblemNotice problem={feed.problem} onRetry={feed.retry} />}
      {feed.events ? (
        feed.events.length > 0 ? (
          <EventList of={feed.events} user={user} names={feed.names} staff={staff} />
        ) : (
          <p className="soft">{all.none}</p>
        )
      ) : (
        !feed.problem && <Loading />
      )}
      {feed.hasOlder && (
        <Button busy={feed.busy} onPress={feed.older}>
          {text.older}
        </Button>
      )}
    </Page>
  )
}

function DayField(props: { label: string; value: string; onChange(value: string): void }) {
  const id = useId()
  return (
    <span className="filter">
      <label htmlFor={id}>{props.label}</label>
      <input
        id={id}
        type="date"
        value={props.value}
        onChange={(event) => props.onChange(event.currentTarget.value)}
      />
    </span>
  )
}

/** The query for the service. Days are the reader's own; the last one is included. */
function filterOf(query: URLSearchParams, types: readonly string[]): string {
  const kind = query.get('kind')
  const since = dayStart(query.get('from'), 0)
  const until = dayStart(query.get('to'), 1)
  const filter = new URLSearchParams({
    ...(kind && { types: types.filter((type) => type.startsWith(`${kind}.`)).join(',') }),
    ...(query.get('person') && { person: query.get('person')! }),
    ...(query.get('actor') && { actor: query.get('actor')! }),
    ...(since && { since }),
    ...(until && { until }),
  })
  return filter.size === 0 ? '' : `&${filter}`
}

function dayStart(day: string | null, later: number): string | null {
  const [year, month, date] = (day ?? '').split('-').map(Number)
  if (!year || !month || !date) return null
  return new Date(year, month - 1, date + later).toISOString()
}

/** The newest, as many as fit into a spreadsheet that people can use. Returns whether some were left out. */
async function saveCsv(filter: string, nameOf: (actor: string) => string): Promise<boolean> {
  const rows: string[][] = []
  for (let before = newest; rows.length <= csvEventsMax; ) {
    const page = await ask<EventPage>(`/staff/events?limit=${csvPageSize}&before=${before}${filter}`)
    for (const { number, at, type, userId, actor, data } of page.events) {
      const by = page.names[actor] ?? nameOf(actor)
      const person = userId === null ? '' : (page.names[userId] ?? '')
      rows.push([String(number), at, type, person, userId ?? '', by, actor, JSON.stringify(data)])
    }
    if (page.events.length < csvPageSize) break
    before = page.next
  }
  const head = ['number', 'time', 'event', 'person', 'userId', 'by', 'actor', 'data']
  const lines = [head, ...rows.slice(0, csvEventsMax).reverse()].map(spreadsheetLine)
  save('events.csv', 'text/csv', [byteOrderMark, ...lines].join(''))
  return rows.length > csvEventsMax
}

/** Reads back from the newest, and forward from there while it follows. */
function useFeed(filter: string, follows: boolean) {
  const [events, setEvents] = useState<readonly FeedEvent[]>()
  const [names, setNames] = useState<Names>({})
  const [problem, setProblem] = useState<Problem | null>(null)
  const [hasOlder, setHasOlder] = useState(false)
  const [fresh, setFresh] = useState(0)
  const [busy, setBusy] = useState(false)
  const [round, setRound] = useState(0)

  const read = useCallback(
    async (where: string) => {
      const page = await ask<EventPage>(`/staff/events?limit=${pageSize}${where}${filter}`)
      setNames((before) => ({ ...before, ...page.names }))
      return page.events
    },
    [filter],
  )

  useEffect(() => {
    let wanted = true
    setEvents(undefined)
    setProblem(null)
    setFresh(0)
    setHasOlder(false)
    read(`&before=${newest}`).then(
      (page) => {
        if (!wanted) return
        setEvents(page)
        setHasOlder(page.length === pageSize)
      },
      (error) => wanted && setProblem(asProblem(error)),
    )
    return () => {
      wanted = false
    }
  }, [read, round])

  const last = events && (events[0]?.number ?? 0)
  useEffect(() => {
    if (!follows || last === undefined) return
    let wanted = true
    const timer = setInterval(() => {
      if (!isInUse()) return
      read(`&after=${last}`).then(
        (page) => {
          if (!wanted) return
          setProblem(null)
          if (page.length === 0) return
          setFresh(page.length)
          setEvents((before = []) => [...page.toReversed(), ...before].slice(0, shownMax))
        },
        (error) => wanted && setProblem(asProblem(error)),
      )
    }, followMs)
    return () => {
      wanted = false
      clearInterval(timer)
    }
  }, [follows, last, read])

  async function older() {
    const first = events?.at(-1)
    if (!first) return
    setBusy(true)
    try {
      const page = await read(`&before=${first.number}`)
      setEvents((before = []) => [...before, ...page])
      setHasOlder(page.length === pageSize)
    } catch (error) {
      setProblem(asProblem(error))
    } finally {
      setBusy(false)
    }
  }

  return {
    events,
    names,
    problem,
    hasOlder,
    fresh,
    busy,
    older,
    retry: () => setRound((before) => before + 1),
  }
}
