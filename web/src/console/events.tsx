import { useCallback, useEffect, useId, useState } from 'react'
import { asProblem, type Problem } from '../http.ts'
import { Button } from '../parts/button.tsx'
import { Loading } from '../parts/loading.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import type { Staff } from '../people.ts'
import { ask } from '../session.ts'
import { EventList } from './event-list.tsx'
import { isInUse } from './in-use.ts'
import type { FeedEvent } from './replies.ts'
import { useConsole } from './text/console-words.ts'

const pageSize = 50
const followMs = 5_000
const newest = Number.MAX_SAFE_INTEGER
/** Following for hours must not fill the page without end. */
const shownMax = 2_000

export function Events({ user }: { user: Staff }) {
  const { text: all, number } = useConsole()
  const text = all.events
  const [group, setGroup] = useState('')
  const [follows, setFollows] = useState(false)
  const types = Object.keys(text.types).filter((type) => type.startsWith(`${group}.`))
  const feed = useFeed(group === '' ? '' : `&types=${types.join(',')}`, follows)
  const id = useId()
  return (
    <Page title={text.title} lead={text.lead}>
      <div className="choose">
        <label htmlFor={id}>{text.filter}</label>
        <select id={id} value={group} onChange={(event) => setGroup(event.currentTarget.value)}>
          <option value="">{text.all}</option>
          {Object.entries(text.groups).map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
        <label className="check">
          <input
            type="checkbox"
            checked={follows}
            onChange={(event) => setFollows(event.currentTarget.checked)}
          />
          {text.follow}
        </label>
      </div>
      <p role="status" className="visually-hidden">
        {feed.fresh > 0 && text.fresh(feed.fresh, number(feed.fresh))}
      </p>
      {feed.problem && <ProblemNotice problem={feed.problem} onRetry={feed.retry} />}
      {feed.events ? (
        feed.events.length > 0 ? (
          <EventList of={feed.events} user={user} withPerson />
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

/** Reads back from the newest, and forward from there while it follows. */
function useFeed(filter: string, follows: boolean) {
  const [events, setEvents] = useState<readonly FeedEvent[]>()
  const [problem, setProblem] = useState<Problem | null>(null)
  const [hasOlder, setHasOlder] = useState(false)
  const [fresh, setFresh] = useState(0)
  const [busy, setBusy] = useState(false)
  const [round, setRound] = useState(0)

  const read = useCallback(
    async (where: string) =>
      (await ask<{ events: FeedEvent[] }>(`/staff/events?limit=${pageSize}${where}${filter}`)).events,
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

  return { events, problem, hasOlder, fresh, busy, older, retry: () => setRound((before) => before + 1) }
}
