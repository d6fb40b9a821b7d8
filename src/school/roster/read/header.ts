/**
 * Finds the columns of a CSV file by name, in any order. Capitals and extra columns are only warned about, but a
 * misspelt column that Chiron reads is an error: its values would be lost silently. Pure.
 */

import { folded } from '../../../platform/lib/folded.ts'
import { bare, nearest } from '../../../platform/lib/nearest.ts'
import { type FindingCode, shown } from '../findings.ts'
import { columnAliases, type FileColumns } from './columns.ts'

/** Position of each column, by its name in the standard. */
export type Columns = ReadonlyMap<string, number>

interface Expected {
  readonly columns: FileColumns
  /** Columns of the other version. */
  readonly foreign: readonly string[]
}

type TellHeader = (
  severity: 'error' | 'warning',
  code: FindingCode,
  message: string,
  at: { readonly column?: string | null; readonly value?: string | null },
) => void

/** Returns null after reporting an error that makes the rows unreadable. */
export function resolveHeader(
  names: readonly string[],
  expected: Expected,
  tell: TellHeader,
): Columns | null {
  const [only] = names.length === 1 ? names : []
  const curly = names.find((name) => /^\s*[“”„«'].*[“”»']\s*$/.test(name))
  const refuse = (code: FindingCode, value: string, message: string) => {
    tell('error', code, message, { value: shown(null, value) })
    return null
  }
  if (only?.includes(',')) return refuse('bad-quotes', only, quotedWhole)
  if (curly !== undefined) return refuse('bad-quotes', curly, wrongQuotes)
  if (only !== undefined && /[;\t|]/.test(only)) return refuse('wrong-separator', only, wrongSeparator)
  return columnsOf(names, expected, tell)
}

const quotedWhole =
  'Each line is in double quotes as a whole, so it counts as one cell. Export the file again, with quotes around single cells only.'
const wrongQuotes = `The cells are in the wrong quotation marks. Use straight double ones ("), or none.`
const wrongSeparator =
  'The cells are not separated by commas. Save the file as CSV with a comma as the separator (in Excel: "CSV UTF-8 (Comma delimited)", with English regional settings).'

function columnsOf(
  names: readonly string[],
  { columns, foreign }: Expected,
  report: TellHeader,
): Columns | null {
  const byBareName = new Map(columns.all.map((name) => [bare(name), name]))
  const found = new Map<string, number>()
  const unknown: string[] = []
  let failed = false
  const tell: TellHeader = (severity, ...rest) => {
    failed ||= severity === 'error'
    report(severity, ...rest)
  }
  for (const [at, written] of names.entries()) {
    const isExtension = /^\s*metadata\./i.test(written)
    const name = isExtension ? written.trim().toLowerCase() : byBareName.get(bare(written))
    const about = { column: name, value: written }
    if (name === undefined) unknown.push(written)
    else if (found.has(name))
      tell('error', 'duplicate-header', `The column ${name} appears twice. Keep only the right one.`, about)
    else {
      found.set(name, at)
      const message = `Read as ${name}, which is how the standard spells it.`
      if (name !== written && !isExtension) tell('warning', 'header-case', message, about)
    }
  }
  const absent = new Set(columns.all.filter((name) => !found.has(name)))
  for (const written of unknown) {
    const meant = foreign.some((name) => bare(name) === bare(written)) ? null : meantBy(written, absent)
    const [severity, message] = judged(meant, columns)
    const value = shown(null, written)
    tell(severity, 'unknown-header', message, { column: value, value })
    // So that it is not reported as missing too.
    if (meant) absent.delete(meant)
  }
  const missing = columns.needed.filter((name) => absent.has(name)).join(', ')
  const are = missing.includes(',') ? ['The columns', 'are'] : ['The column', 'is']
  const message = `${are[0]} ${missing} ${are[1]} missing. Expected columns: ${columns.all.join(',')}`
  if (missing !== '') tell('error', 'missing-column', message, { column: missing })
  return failed ? null : found
}

/** `meant`: null for a column of the other version. */
function judged(meant: string | null | undefined, { needed, read }: FileColumns) {
  if (meant === null)
    return ['warning', 'This column belongs to a different version of OneRoster; it was ignored.'] as const
  if (meant === undefined)
    return ['warning', 'This column is not part of the standard; it was ignored.'] as const
  const severity = needed.includes(meant) || read.includes(meant) ? 'error' : 'warning'
  return [severity, `This column is not part of the standard. Did you mean ${meant}?`] as const
}

function meantBy(written: string, absent: ReadonlySet<string>): string | undefined {
  const key = bare(folded(written))
  const [alias] =
    Object.entries(columnAliases).find(([name, all]) => absent.has(name) && all.includes(key)) ?? []
  return alias ?? nearest(written, absent)
}
