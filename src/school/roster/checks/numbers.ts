/**
 * Student numbers without their leading zeros: spreadsheets remove them from whatever looks like a number. The current
 * roster shows it, or the sourcedIds, or the other numbers. Only warnings: a school may want shorter numbers. If many
 * numbers change, the import is held.
 */
import { counted } from '../../../platform/lib/counted.ts'
import type { Case, Faults } from './case.ts'

const widthMin = 5
const numbersMin = 10

/** The students of the file that have a number. */
const numbers = `select s.place, u.line, s.id, s.number, w.student_number as was
  from student s join row_user u on u.n = s.place left join was_student w
    on s.state = 'changed' and w.id = coalesce(s.matched_from, s.id)
  where s.number is not null`
const isPlain = (number: string) => `${number} glob '[1-9]*' and ${number} not glob '*[^0-9]*'`
const isShortened = (full: string) =>
  `(${isPlain('number')} and length(${full}) > length(number) and ltrim(${full}, '0') = number)`
/** They are null where there is no number to compare with. */
const inRoster = `coalesce(${isShortened('was')}, 0)`

export function checkNumbers(roster: Case, found: Faults): void {
  const told = [
    tell(roster, found, 'In the current roster, this number is', { full: 'was', where: inRoster }),
    tell(roster, found, 'By the sourcedId, this number is', {
      full: 'id',
      where: `not ${inRoster} and ${isShortened('id')}`,
    }),
  ]
  const width = usualWidth(roster)
  if (width === null || told.includes(true)) return
  tell(roster, found, 'By the length of the others, this number is', {
    full: `substr('${'0'.repeat(width)}', 1, ${width} - length(number)) || number`,
    where: `length(number) < ${width}`,
  })
}

interface Lost {
  readonly line: number
  readonly number: string
  readonly full: string
  readonly count: number
}

/** Tells the first number that lost its zeros, and how many did. Returns whether any did. */
function tell(
  { bench }: Case,
  { log }: Faults,
  source: string,
  { full, where }: { readonly full: string; readonly where: string },
): boolean {
  const first = bench.file.one<Lost>(
    `select line, number, ${full} as full, count(*) over () as count from (${numbers}) where ${where}
     order by place limit 1`,
  )
  if (!first) return false
  const more = first.count === 1 ? '' : ` The same in ${counted(first.count - 1, 'other row', 'other rows')}.`
  const message = `${source} ${first.full}: a spreadsheet has probably removed its leading zeros. Export it again without opening it in a spreadsheet, or format the column as text first.${more}`
  const about = { file: bench.incoming.of.user.file, line: first.line, column: 'identifier', message }
  log.add({ severity: 'warning', code: 'lost-zeros', ...about, value: first.number }, 'row')
  return true
}

/** The width of most numbers, if none is longer and some are shorter; otherwise null. */
function usualWidth({ bench }: Case): number | null {
  const widths = bench.file.all<{ width: number; count: number; arePlain: number }>(
    `select length(number) as width, count(*) as count, min(${isPlain('number')}) as arePlain
     from (${numbers}) group by 1 order by 1 desc`,
  )
  const [longest] = widths
  const total = widths.reduce((sum, { count }) => sum + count, 0)
  if (!longest || widths.length === 1 || longest.count * 2 <= total) return null
  const areNumbers = widths.every(({ arePlain }) => arePlain === 1)
  return areNumbers && longest.width >= widthMin && total >= numbersMin ? longest.width : null
}
