/**
 * Which classes are current, upcoming or past on a day (whole days, including the first and the last), and when they
 * meet in a week.
 */

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof weekdays)[number]

/** Every week, in the school's time zone; times are HH:MM. */
export interface Meeting {
  readonly day: Weekday
  readonly start: string
  readonly end: string
}

export type Stage = 'current' | 'upcoming' | 'past'
export type When = Stage | 'all'

export interface Term {
  readonly startDate: string
  readonly endDate: string
}

export interface Dated {
  readonly title: string
  readonly terms: readonly Term[]
  readonly enrolment: { readonly startDate: string | null; readonly endDate: string | null }
}

export interface Span {
  readonly start: string | null
  readonly end: string | null
}

/** The dates of the enrolment, or else of the terms; null means open. */
export function spanOf(entry: Dated): Span {
  const starts = entry.terms.map((term) => term.startDate).sort()
  const ends = entry.terms.map((term) => term.endDate).sort()
  return {
    start: entry.enrolment.startDate ?? starts[0] ?? null,
    end: entry.enrolment.endDate ?? ends.at(-1) ?? null,
  }
}

export function isWhen(span: Span, when: When, today: string): boolean {
  return when === 'all' || stageOf(span, today) === when
}

export function stageOf({ start, end }: Span, today: string): Stage {
  if (end !== null && end < today) return 'past'
  return start !== null && start > today ? 'upcoming' : 'current'
}

/** `stageOf` as an expression of SQL, for questions about many. */
export const stageSql = (start: string, end: string, today: string) =>
  `case when ${end} < ${today} then 'past' when ${start} > ${today} then 'upcoming' else 'current' end`

/** Classes without a start come first. */
export function byStart(a: Dated, b: Dated): number {
  const [left, right] = [spanOf(a).start ?? '', spanOf(b).start ?? '']
  if (left !== right) return left < right ? -1 : 1
  return a.title.localeCompare(b.title)
}

/** Today’s date in the time zone of the school. */
export function dayIn(timeZone: string): (now: number) => string {
  return (now) =>
    Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone).toPlainDate().toString()
}
