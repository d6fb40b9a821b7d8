/** The dates of terms, given on the command line: `--term "Autumn 2026=2026-08-17..2026-12-18"`. Pure. */
import { bare } from '../../../platform/lib/nearest.ts'
import { type DayOrder, type Days, daysFrom } from './day-text.ts'

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
