/**
 * The figures of the console's first page. They must be cheap, however many people there are, so a past hour is
 * counted once, and people are counted rarely and in chunks.
 */

import type { ServiceState } from '../../identity/limits/limits.ts'
import { eventCounts } from '../../messages/events/events.ts'
import type { Webhooks } from '../../messages/webhooks/webhooks.ts'
import type { Context } from '../../platform/context.ts'
import { day, hour, minute, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { isOverdue } from '../../school/roster/overdue.ts'
import { type Counts, countServed, countUnverified, hasStudents } from './store.ts'

const mailSlowMs = minute
const mailStuckMs = 5 * minute
/** A timer need not be punctual. */
const fetchLateMs = hour
const fetchedWell = ['imported', 'unchanged']

const hoursShown = day / hour
/** A change is written a moment after its timestamp. */
const writtenWithinMs = 5 * minute
const peopleCountedEveryMs = 10 * minute
const chunkSize = 5_000

interface Hour {
  readonly signIns: number
  readonly failedMails: number
}

type Total = Omit<Counts, 'last'>

interface People {
  readonly countedAt: number
  readonly counts: Total[]
}

/** Readings shared with the metrics. */
export interface SharedFigures {
  readonly unsent: number
  readonly oldest_unsent_at: number | null
  readonly roster_generation: number
  /** When an import, undo or correction made it current. */
  readonly roster_published_at: number | null
  /** When a roster was last imported. */
  readonly roster_at: number | null
  /** When one was last imported or fetched, even without changes. */
  readonly roster_checked_at: number | null
  /** When one was last fetched, and how that went. */
  readonly roster_fetch_at: number | null
  readonly roster_fetch_outcome: string | null
  /** When the newest fetched file was written, or first seen. */
  readonly roster_file_at: number | null
  readonly schema_version: number
  /** About the whole service. */
  readonly guessing: ServiceState
}

interface Deps extends Pick<Context, 'db' | 'clock'> {
  readonly webhooks: Pick<Webhooks, 'list'>
  readonly version: string
  /** Whether a roster source is configured. */
  readonly fetchesRosters: boolean
  readonly rosterMaxAgeDays: number
  /** Whether a mail server is configured. */
  readonly sendsMail: boolean
  readFigures(now: number): Promise<SharedFigures>
}

/** `reason`: why it is not well, or why to look although it is. */
const well = <Reason extends string = never>(reason: Reason | null = null) => ({
  state: 'well' as const,
  reason,
})
const wrong = <Reason extends string>(reason: Reason) => ({ state: 'wrong' as const, reason })
const notSetUp = <Reason extends string>(reason: Reason) => ({ state: 'not-set-up' as const, reason })

export class Overview {
  readonly #deps: Deps
  /** Past hours, by their start. */
  readonly #hours = new Map<number, Hour>()
  #people: { readonly asked: number; readonly counting: Promise<People> } | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async read() {
    const { db, clock, webhooks, version, readFigures } = this.#deps
    const now = clock.now()
    const hours = await this.#lastHours(now)
    const [lastHour, figures, hooks, people, toCheckAgain, studentsExist] = await Promise.all([
      this.#count(now - hour, now + 1),
      readFigures(now),
      webhooks.list(),
      this.#countPeople(now),
      countUnverified(db),
      hasStudents(db),
    ])
    const sum = (of: (each: Hour) => number) => hours.reduce((total, [, each]) => total + of(each), 0)
    const signInsLastDay = sum(({ signIns }) => signIns)
    const failedLastDay = sum(({ failedMails }) => failedMails)
    return {
      at: timestamp(now),
      version,
      store: { engine: db.engine, schema: figures.schema_version },
      signIns: {
        ...well(signInsLastDay > 0 ? null : 'none'),
        lastHour: lastHour.signIns,
        lastDay: signInsLastDay,
        hours: hours.map(([from, { signIns }]) => ({ from: timestamp(from), count: signIns })),
      },
      mail: {
        ...this.#mailVerdict(figures, now, failedLastDay, signInsLastDay),
        unsent: figures.unsent,
        oldestAt: timestampOrNull(figures.oldest_unsent_at),
        failedLastDay,
      },
      attack: attackOf(figures.guessing),
      roster: {
        ...this.#rosterVerdict(figures, now, studentsExist),
        generation: figures.roster_at === null ? null : figures.roster_generation,
        publishedAt: timestampOrNull(figures.roster_published_at),
        checkedAt: timestampOrNull(figures.roster_checked_at),
        fileAt: timestampOrNull(figures.roster_file_at),
        ...fetchesOf(figures, this.#deps.fetchesRosters),
      },
      webhooks: webhooksOf(hooks),
      people: {
        ...(people.counts.length === 0 ? notSetUp('nobody') : well(toCheckAgain > 0 ? 'check-again' : null)),
        countedAt: timestamp(people.countedAt),
        counts: people.counts,
        toCheckAgain,
      },
    }
  }

  /** Some addresses are always mistyped, so failed mails are wrong only beside few sign-ins. */
  #mailVerdict(
    { oldest_unsent_at }: SharedFigures,
    now: number,
    failedLastDay: number,
    signInsLastDay: number,
  ) {
    if (!this.#deps.sendsMail) return notSetUp('caught')
    const waitsMs = oldest_unsent_at === null ? 0 : now - oldest_unsent_at
    if (waitsMs >= mailStuckMs) return wrong('stuck')
    if (failedLastDay > 0 && failedLastDay * 10 >= signInsLastDay) return wrong('failing')
    if (waitsMs >= mailSlowMs) return well('slow')
    return well(failedLastDay > 0 ? 'some-failed' : null)
  }

  #rosterVerdict(figures: SharedFigures, now: number, studentsExist: boolean) {
    const { rosterMaxAgeDays, fetchesRosters } = this.#deps
    const { roster_at, roster_fetch_at, roster_fetch_outcome, roster_file_at } = figures
    if (roster_at === null) return wrong('never-imported')
    if (!studentsExist) return wrong('no-students')
    if (!fetchesRosters || roster_fetch_at === null) return well()
    if (isOverdue(roster_file_at, now, rosterMaxAgeDays)) return wrong('overdue')
    if (!fetchedWell.includes(roster_fetch_outcome!)) return wrong('fetch-stopped')
    return now > roster_fetch_at + day + fetchLateMs ? wrong('fetch-late') : well()
  }

  /** The last clock hours including the current one, oldest first. */
  async #lastHours(now: number): Promise<[from: number, Hour][]> {
    const present = Math.floor(now / hour) * hour
    const hours: [number, Hour][] = []
    for (let from = present - (hoursShown - 1) * hour; from <= present; from += hour) {
      const counted = this.#hours.get(from) ?? (await this.#count(from, from + hour))
      if (from + hour + writtenWithinMs <= now) this.#hours.set(from, counted)
      hours.push([from, counted])
    }
    for (const from of this.#hours.keys()) if (from < hours[0]![0]) this.#hours.delete(from)
    return hours
  }

  async #count(from: number, to: number): Promise<Hour> {
    const counts = await eventCounts(this.#deps.db, ['session.started', 'mail.failed'], from, to)
    const of = (name: string) => counts.find(({ type }) => type === name)?.count ?? 0
    return { signIns: of('session.started'), failedMails: of('mail.failed') }
  }

  #countPeople(now: number): Promise<People> {
    const asked = this.#deps.clock.elapsed()
    if (!this.#people || asked - this.#people.asked >= peopleCountedEveryMs) {
      const counting = this.#countAll(now)
      this.#people = { asked, counting }
      counting.catch(() => {
        this.#people = undefined
      })
    }
    return this.#people.counting
  }

  /** In chunks, so that others get their turn at the store. */
  async #countAll(now: number): Promise<People> {
    const totals = new Map<string, Total>()
    for (let last = ''; ; ) {
      const chunk = await countServed(this.#deps.db, last, chunkSize)
      for (const { role, status, count } of chunk) {
        const total = totals.get(`${role} ${status}`) ?? { role, status, count: 0 }
        totals.set(`${role} ${status}`, { ...total, count: total.count + count })
      }
      if (chunk.reduce((sum, { count }) => sum + count, 0) < chunkSize)
        return { countedAt: now, counts: [...totals.values()] }
      last = chunk[0]!.last
    }
  }
}

function attackOf({ underAttack, ...guessing }: ServiceState) {
  return {
    ...(underAttack ? wrong('guessing') : well()),
    underAttack,
    wrongCodesLastHour: guessing.wrongLastHour,
    threshold: guessing.hourThreshold,
    wrongCodesLastDay: guessing.wrongLastDay,
    dayThreshold: guessing.dayThreshold,
  }
}

function webhooksOf(all: Awaited<ReturnType<Webhooks['list']>>) {
  const failing = all.filter(
    ({ enabled, readable, failures }) => enabled && (!readable || failures > 0),
  ).length
  const switchedOff = all.filter(
    ({ enabled, disabledBecause }) => !enabled && disabledBecause !== 'operator',
  ).length
  const isWrong = failing + switchedOff > 0
  return {
    ...(all.length === 0 ? notSetUp('none') : isWrong ? wrong('failing') : well()),
    failing,
    switchedOff,
  }
}

/** A timer outside the service fetches every day, so the next fetch is a day after the last. */
function fetchesOf(
  { roster_fetch_at: at, roster_fetch_outcome: outcome }: SharedFigures,
  fetchesRosters: boolean,
) {
  if (at === null || outcome === null) return { lastFetch: null, nextFetchAt: null }
  return {
    lastFetch: { at: timestamp(at), outcome },
    nextFetchAt: fetchesRosters ? timestamp(at + day) : null,
  }
}
