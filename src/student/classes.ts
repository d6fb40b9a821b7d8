/** Which classes are current, upcoming or past on a day. Whole days, first and last included. Pure. */

export type When = 'current' | 'upcoming' | 'past' | 'all'

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

/** The student's own dates, or else those of the class's terms; null is open. */
export function spanOf(entry: Dated): Span {
  const starts = entry.terms.map((term) => term.startDate).sort()
  const ends = entry.terms.map((term) => term.endDate).sort()
  return {
    start: entry.enrolment.startDate ?? starts[0] ?? null,
    end: entry.enrolment.endDate ?? ends.at(-1) ?? null,
  }
}

export function isWhen({ start, end }: Span, when: When, today: string): boolean {
  if (when === 'all') return true
  if (end !== null && end < today) return when === 'past'
  if (start !== null && start > today) return when === 'upcoming'
  return when === 'current'
}

/** By start date, then title; what has no start comes first. */
export function byStart(a: Dated, b: Dated): number {
  const [left, right] = [spanOf(a).start ?? '', spanOf(b).start ?? '']
  if (left !== right) return left < right ? -1 : 1
  return a.title.localeCompare(b.title)
}

/** The date on the wall of a school in this time zone. */
export function dayIn(timeZone: string): (now: number) => string {
  // Swedish writes dates as ISO does.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
  return (now) => format.format(now)
}
