/** Reads days, terms and meeting times as people write them in class lists. Pure. */
import { folded } from '../../../platform/lib/folded.ts'
import { bare } from '../../../platform/lib/nearest.ts'
import { isDay, parseMeetings } from '../read/read.ts'
import { type DayOrder, dayOrders } from '../words.ts'
import { shownNumber } from './number-format.ts'

export { type DayOrder, dayOrders } from '../words.ts'

/** `null`: not a day. `unclear`: it depends on the order. */
export function dayFrom(text: string, order: DayOrder | null): string | 'unclear' | null {
  const trimmed = text.trim()
  // The number of a day, as Excel shows it in a cell without a format for dates.
  if (/^[34567]\d{4}$/.test(trimmed)) return shownNumber(Number(trimmed), 'yyyy-mm-dd', false)
  const [, year, month, day] =
    /^(\d{4})([-/.]?)(\d{1,2})\2(\d{1,2})(?:[T ].*)?$/.exec(trimmed)?.filter((_, i) => i !== 2) ?? []
  if (year !== undefined) return real(year, month!, day!)
  const [, first, , second, long] =
    /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[T ].*)?$/.exec(trimmed) ?? []
  if (first === undefined) return dayInWords(trimmed)
  const full = long!.length === 2 ? `20${long}` : long!
  const dayFirst = real(full, second!, first)
  const monthFirst = real(full, first, second!)
  if (order !== null) return order === 'day-first' ? dayFirst : monthFirst
  if (dayFirst !== null && monthFirst !== null && dayFirst !== monthFirst) return 'unclear'
  return dayFirst ?? monthFirst
}

const monthNames = [
  ...['january janvier enero', 'february fevrier febrero', 'march mars marzo', 'april avril abril'],
  ...['may mai mayo', 'june juin junio', 'july juillet julio', 'august aout agosto'],
  ...['september septembre septiembre setiembre', 'october octobre octubre', 'november novembre noviembre'],
  'december decembre diciembre',
]

/** 1er septembre 2026, 7-Sep-26, 1 de septiembre de 2026, September 1, 2026. */
function dayInWords(text: string): string | null {
  const words = folded(text).replaceAll(/\b(de|del|le|el|the|of)\b/g, ' ')
  const [, day, month, year] =
    /^\s*(\d{1,2})(?:er|st|nd|rd|th|º|°)?[\s.-]+([a-z]{3,})\.?[\s,.-]+(\d{4}|\d{2})\s*$/.exec(words) ?? []
  const [, month2, day2, year2] =
    /^\s*([a-z]{3,})\.?\s+(\d{1,2})(?:st|nd|rd|th)?[\s,]+(\d{4})\s*$/.exec(words) ?? []
  const name = month ?? month2
  if (name === undefined) return null
  const fits = monthNames.flatMap((names, i) =>
    names.split(' ').some((each) => each.startsWith(name)) ? [i + 1] : [],
  )
  const full = (year ?? year2)!
  return fits.length === 1
    ? real(full.length === 2 ? `20${full}` : full, String(fits[0]), (day ?? day2)!)
    : null
}

function real(year: string, month: string, day: string): string | null {
  const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  return isDay(iso) ? iso : null
}

/** The only order that fits all these texts; null if both fit, or neither. */
export function orderOf(texts: Iterable<string>): DayOrder | null {
  const allowed = new Set(dayOrders)
  for (const text of texts) {
    if (text === '' || dayFrom(text, null) === null) continue
    for (const order of [...allowed]) if (dayFrom(text, order) === null) allowed.delete(order)
  }
  return allowed.size === 1 ? [...allowed][0]! : null
}

export interface Days {
  readonly start: string
  readonly end: string
}

/** `2026-09-01..2027-01-31`; a dash with spaces around it works too. */
export function daysFrom(text: string, order: DayOrder | null): Days | null {
  const parts = text.split(/\s*\.\.\s*|\s+[-–]\s+|\s+(?:to|au|al|a|à)\s+/)
  if (parts.length !== 2) return null
  const [start, end] = parts.map((part) => dayFrom(part, order))
  if (!start || !end || start === 'unclear' || end === 'unclear' || start > end) return null
  return { start, end }
}

/** The days of terms, given on the command line: `--term "Autumn 2026=2026-08-17..2026-12-18"`. */
export class TermDays {
  readonly #byName = new Map<string, Days>()
  #others: Days | null = null

  /** False if the text is not a term. Without a name, it applies to classes without a named term. */
  add(text: string): boolean {
    const cut = text.lastIndexOf('=')
    const days = daysFrom(text.slice(cut + 1).trim(), null)
    if (days === null) return false
    if (cut < 0) this.#others = days
    else this.#byName.set(bare(text.slice(0, cut)), days)
    return true
  }

  /** The name itself may be a date range. */
  of(name: string, order: DayOrder | null): Days | null {
    return name === '' ? this.#others : (this.#byName.get(bare(name)) ?? daysFrom(name, order))
  }

  isName(name: string, order: DayOrder | null): boolean {
    return name !== '' && daysFrom(name, order) === null
  }
}

const weekdayNames: readonly (readonly [day: string, names: string])[] = [
  ['Mon', 'monday mondays lundi lunes'],
  ['Tue', 'tuesday tuesdays mardi martes'],
  ['Wed', 'wednesday wednesdays mercredi miercoles'],
  ['Thu', 'thursday thursdays jeudi jueves'],
  ['Fri', 'friday fridays vendredi viernes'],
  ['Sat', 'saturday saturdays samedi sabado'],
  ['Sun', 'sunday sundays dimanche domingo'],
]
const fillers = new Set('and et y e de from du le les los el a'.split(' '))
const timeRange =
  /(\d{1,2})(?:\s*[:h.]\s*(\d{2}))?\s*h?\s*([ap]\.?m\.?)?\s*(?:-|\u2013|\u2014|\bto\b|\ba\b)\s*(\d{1,2})(?:\s*[:h.]\s*(\d{2}))?\s*h?\s*([ap]\.?m\.?)?/g

/** In the form of `metadata.meets`: `Mon 09:00-10:30; Wed 14:00-15:00`. null if any part is not understood. */
export function meetingsFrom(text: string): string | null {
  const plain = folded(text)
  const meetings: string[] = []
  let days: string[] = []
  let at = 0
  for (const range of plain.matchAll(timeRange)) {
    const named = daysIn(plain.slice(at, range.index))
    if (named === null) return null
    // "Mon 9-10, 11-12": both are on Monday.
    if (named.length > 0) days = named
    const [, h1, m1, half1, h2, m2, half2] = range
    const end = timeFrom(h2!, m2, half2)
    const likely = timeFrom(h1!, m1, half1 ?? half2)
    // 11-1 pm begins in the morning.
    const start = half1 === undefined && likely >= end ? timeFrom(h1!, m1) : likely
    if (days.length === 0) return null
    for (const day of days) meetings.push(`${day} ${start}-${end}`)
    at = range.index + range[0].length
  }
  const joined = meetings.join('; ')
  const isWhole = daysIn(plain.slice(at))?.length === 0
  return meetings.length > 0 && isWhole && parseMeetings(joined) !== null ? joined : null
}

/** null if any word is not a day. */
function daysIn(text: string): string[] | null {
  const words = text.split(/[^\p{L}]+/u).filter((word) => word !== '' && !fillers.has(word))
  const days = words.map(daysNamed)
  return days.every((each) => each !== null) ? days.flat() : null
}

/** The days of American timetables: MWF, TTh, TR. */
const dayCodes: Readonly<Record<string, string>> = {
  ...{ m: 'Mon', t: 'Tue', tu: 'Tue', w: 'Wed', th: 'Thu', r: 'Thu', f: 'Fri' },
}

/** `mar` is Tuesday in French and Spanish. A single letter is ambiguous. */
function daysNamed(word: string): string[] | null {
  if (word.length < 2) return null
  const fits = weekdayNames.filter(([, names]) => names.split(' ').some((name) => name.startsWith(word)))
  if (fits.length > 0) return fits.length === 1 ? [fits[0]![0]] : null
  return /^(th|tu|[mtwrf])+$/.test(word) ? word.match(/th|tu|[mtwrf]/g)!.map((code) => dayCodes[code]!) : null
}

function timeFrom(hours: string, minutes = '00', half?: string): string {
  const isAfternoon = half?.startsWith('p') && Number(hours) < 12
  const isMidnight = half?.startsWith('a') && Number(hours) === 12
  const hour = Number(hours) + (isAfternoon ? 12 : isMidnight ? -12 : 0)
  return `${String(hour).padStart(2, '0')}:${minutes}`
}
