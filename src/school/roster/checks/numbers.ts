/**
 * Student numbers without their leading zeros: spreadsheets remove them from whatever looks like a number. The current
 * roster shows it, or the sourcedIds, or the other numbers. Only warnings: a school may want shorter numbers. If many
 * numbers change, the import is held.
 */
import { counted } from '../../../platform/lib/counted.ts'
import type { Case, Faults } from './case.ts'

const widthMin = 5
const numbersMin = 10

export function checkNumbers(roster: Case, found: Faults): void {
  const { students } = roster
  const inRoster = new LostZeros('In the current roster, this number is')
  const inId = new LostZeros('By the sourcedId, this number is')
  const widths = new Widths()
  for (const { row, number } of numbersIn(roster)) {
    widths.add(number)
    const before = students.stateOf(row) === 'changed' ? students.at(row).before?.student_number : null
    if (before && isShortened(before, number)) inRoster.add(row, number, before)
    else if (isShortened(students.idAt(row), number)) inId.add(row, number, students.idAt(row))
  }
  inRoster.tell(roster, found)
  inId.tell(roster, found)
  const width = widths.usual()
  if (width === null || inRoster.count + inId.count > 0) return
  const amongOthers = new LostZeros('By the length of the others, this number is')
  for (const { row, number } of numbersIn(roster))
    if (number.length < width) amongOthers.add(row, number, number.padStart(width, '0'))
  amongOthers.tell(roster, found)
}

/** The students of the file that have a number. */
function* numbersIn({ students, next }: Case): Generator<{ row: number; number: string }> {
  for (const row of students.rows()) {
    const number = next.user.isOfFile(row) ? next.user.dataAt(row).number : null
    if (number !== null) yield { row, number }
  }
}

const plainNumber = /^[1-9]\d*$/

function isShortened(full: string, number: string): boolean {
  return full.length > number.length && plainNumber.test(number) && full === number.padStart(full.length, '0')
}

class Widths {
  readonly #counts = new Map<number, number>()
  #total = 0
  #areNumbers = true

  add(number: string): void {
    this.#total++
    this.#areNumbers &&= plainNumber.test(number)
    this.#counts.set(number.length, (this.#counts.get(number.length) ?? 0) + 1)
  }

  /** The width of most numbers, if none is longer and some are shorter; otherwise null. */
  usual(): number | null {
    const width = Math.max(0, ...this.#counts.keys())
    const isUsual = (this.#counts.get(width) ?? 0) * 2 > this.#total && this.#counts.size > 1
    return isUsual && this.#areNumbers && width >= widthMin && this.#total >= numbersMin ? width : null
  }
}

/** The first number that lost its zeros, and how many did. */
class LostZeros {
  count = 0
  readonly #source: string
  #first: { readonly row: number; readonly number: string; readonly full: string } | null = null

  constructor(source: string) {
    this.#source = source
  }

  add(row: number, number: string, full: string): void {
    this.count++
    this.#first ??= { row, number, full }
  }

  tell({ next }: Case, { log }: Faults): void {
    if (this.#first === null) return
    const { row, number, full } = this.#first
    const more = this.count === 1 ? '' : ` The same in ${counted(this.count - 1, 'other row', 'other rows')}.`
    const message = `${this.#source} ${full}: a spreadsheet has probably removed its leading zeros. Export it again without opening it in a spreadsheet, or format the column as text first.${more}`
    const about = { ...next.user.placeOf(row)!, column: 'identifier', value: number, message }
    log.add({ severity: 'warning', code: 'lost-zeros', ...about }, 'row')
  }
}
