/**
 * Gauges that are read from the store once per scrape, however many processes there are, and constants known at the
 * start.
 */
import { Counter, Gauge, Registry } from 'prom-client'
import type { Clock } from '../../platform/lib/clock.ts'
import { isOverdue } from '../../school/roster/overdue.ts'
import { packageVersion } from '../../version.ts'
import { type Figures, type FiguresDb, readFigures } from './readings.ts'

interface Figure {
  readonly name: string
  readonly help: string
  /** Nothing is shown while it is null. */
  of(figures: Figures, now: number, rosterMaxAgeDays: number): number | null
}

const ageSeconds = (at: number | null, now: number) => (at === null ? null : Math.max(0, now - at) / 1000)

const fromStore: readonly Figure[] = [
  {
    name: 'chiron_mails_unsent',
    help: 'Mails waiting to be sent, without those in chiron_first_codes_waiting',
    of: ({ unsent }) => unsent,
  },
  {
    name: 'chiron_mail_oldest_unsent_age_seconds',
    help: 'Age of the oldest waiting mail; 0 if none is waiting',
    of: ({ oldest_unsent_at }, now) => ageSeconds(oldest_unsent_at, now) ?? 0,
  },
  {
    name: 'chiron_first_codes_waiting',
    help: 'Codes to unconfirmed addresses that wait for the budget of their domain or of the service',
    of: ({ first_codes_waiting }) => first_codes_waiting,
  },
  {
    name: 'chiron_roster_age_seconds',
    help: 'Time since an import changed the roster; absent before the first',
    of: ({ roster_at }, now) => ageSeconds(roster_at, now),
  },
  {
    name: 'chiron_roster_checked_age_seconds',
    help: 'Time since a roster was imported or fetched, even without changes; absent before the first',
    of: ({ roster_checked_at }, now) => ageSeconds(roster_checked_at, now),
  },
  {
    name: 'chiron_roster_file_age_seconds',
    help: 'Age of the newest fetched roster file; absent before the first fetch',
    of: ({ roster_file_at }, now) => ageSeconds(roster_file_at, now),
  },
  {
    name: 'chiron_roster_overdue',
    help: '1 if no newer roster file has come for CHIRON_ROSTER_MAX_AGE_DAYS; absent before the first fetch',
    of: ({ roster_file_at }, now, maxAgeDays) =>
      roster_file_at === null ? null : Number(isOverdue(roster_file_at, now, maxAgeDays)),
  },
  {
    name: 'chiron_roster_generation',
    help: 'Number of the current roster',
    of: ({ roster_generation }) => roster_generation,
  },
  {
    name: 'chiron_schema_version',
    help: 'Newest migration of the store',
    of: ({ schema_version }) => schema_version,
  },
  {
    name: 'chiron_webhooks_waiting',
    help: 'Events waiting to be delivered to a webhook',
    of: ({ webhooks_waiting }) => webhooks_waiting,
  },
  {
    name: 'chiron_backup_age_seconds',
    help: 'Time since the last backup by chiron backup; absent before the first',
    of: ({ backup_at }, now) => ageSeconds(backup_at, now),
  },
  {
    name: 'chiron_wrong_codes_last_hour',
    help: 'Wrong codes of the whole service in the last hour',
    of: ({ guessing }) => guessing.wrongLastHour,
  },
  {
    name: 'chiron_wrong_codes_last_day',
    help: 'Wrong codes of the whole service in the last day',
    of: ({ guessing }) => guessing.wrongLastDay,
  },
  {
    name: 'chiron_under_attack',
    help: '1 while codes are being guessed across the whole service: all new codes have eight digits, and open six-digit codes are refused',
    of: ({ guessing }) => (guessing.underAttack ? 1 : 0),
  },
]

export class StoreFigures {
  readonly registry = new Registry()
  readonly #db: FiguresDb
  readonly #clock: Clock
  readonly #rosterMaxAgeDays: number
  readonly #up: Gauge
  readonly #gauges: ReadonlyMap<Figure, Gauge>
  readonly #restarts: Counter

  constructor(db: FiguresDb, clock: Clock, rosterMaxAgeDays: number) {
    this.#db = db
    this.#clock = clock
    this.#rosterMaxAgeDays = rosterMaxAgeDays
    const registers = [this.registry]
    this.#up = new Gauge({ name: 'chiron_store_up', help: 'Whether the store answers', registers })
    this.#gauges = new Map(
      fromStore.map((one) => [one, new Gauge({ name: one.name, help: one.help, registers })]),
    )
    this.#restarts = new Counter({
      name: 'chiron_worker_restarts_total',
      help: 'Workers that ended and were replaced',
      registers,
    })
    new Gauge({
      name: 'chiron_build_info',
      help: 'Versions, as labels',
      labelNames: ['version', 'node'],
      registers,
    }).set({ version: packageVersion(), node: process.version }, 1)
    new Gauge({ name: 'process_start_time_seconds', help: 'When the service started', registers }).set(
      (Date.now() - performance.now()) / 1000,
    )
  }

  workerRestarted(): void {
    this.#restarts.inc()
  }

  /** If the store does not answer, its figures are left out. */
  async text(): Promise<string> {
    const now = this.#clock.now()
    const figures = await readFigures(this.#db, now).catch(() => null)
    this.#up.set(figures ? 1 : 0)
    for (const [one, gauge] of this.#gauges) {
      const value = figures && one.of(figures, now, this.#rosterMaxAgeDays)
      if (value === null) gauge.remove()
      else gauge.set(value)
    }
    return this.registry.metrics()
  }
}
