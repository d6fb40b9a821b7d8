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
  readonly foreign: readonly string[]
}

type TellHeader = (
  severity: 'error' | 'warning',
  code: FindingCode,
  column: string | null,
  value: string | null,
  message: string,
) => void

/** Returns null after reporting an error that makes the rows unreadable. */
export function resolveHeader(
  names: readonly string[],
  expected: Expected,
  tell: TellHeader,
): Columns | null {
  if (names.length === 1 && names[0]!.includes(',')) {
    const message =
      'Each line is in double quotes as a whole, so it counts as one cell. Export the file again, with quotes around single cells only.'
    tell('error', 'bad-quotes', null, shown(null, names[0]!), message)
    return null
  }
  const curly = names.find((name) => /^\s*[“”„«'].*[“”»']\s*$/.test(name))
  if (curly !== undefined) {
    const message = `The cells are in the wrong quotation marks. Use straight double ones ("), or none.`
    tell('error', 'bad-quotes', null, shown(null, curly), message)
    return null
  }
  if (names.length === 1 && /[;\t|]/.test(names[0]!)) {
    const message =
      'The cells are not separated by commas. Save the file as CSV with a comma as the separator (in Excel: "CSV UTF-8 (Comma delimited)", with English regional settings).'
    tell('error', 'wrong-separator', null, shown(null, names[0]!), message)
    return null
  }
  return new Header(expected, tell).resolve(names)
}

class Header {
  readonly #expected: Expected
  readonly #byBareName: ReadonlyMap<string, string>
  readonly #found = new Map<string, number>()
  #failed = false
  readonly #tell: TellHeader

  constructor(expected: Expected, tell: TellHeader) {
    this.#expected = expected
    this.#byBareName = new Map(expected.columns.all.map((name) => [bare(name), name]))
    this.#tell = (severity, ...rest) => {
      if (severity === 'error') this.#failed = true
      tell(severity, ...rest)
    }
  }

  resolve(names: readonly string[]): Columns | null {
    const unknown = names.filter((name, i) => !this.#place(name, i))
    const absent = new Set(this.#expected.columns.all.filter((name) => !this.#found.has(name)))
    for (const name of unknown) this.#tellUnknown(name, absent)
    const missing = this.#expected.columns.needed.filter((name) => absent.has(name))
    if (missing.length > 0) {
      const these = missing.length === 1 ? 'The column' : 'The columns'
      const are = missing.length === 1 ? 'is' : 'are'
      const names = missing.join(', ')
      const message = `${these} ${names} ${are} missing. Expected columns: ${this.#expected.columns.all.join(',')}`
      this.#tell('error', 'missing-column', names, null, message)
    }
    return this.#failed ? null : this.#found
  }

  #place(written: string, at: number): boolean {
    const name = /^\s*metadata\./i.test(written)
      ? written.trim().toLowerCase()
      : this.#byBareName.get(bare(written))
    if (name === undefined) return false
    if (this.#found.has(name)) {
      const message = `The column ${name} appears twice. Keep only the right one.`
      this.#tell('error', 'duplicate-header', name, written, message)
      return true
    }
    this.#found.set(name, at)
    if (name !== written && !name.startsWith('metadata.')) {
      const message = `Read as ${name}, which is how the standard spells it.`
      this.#tell('warning', 'header-case', name, written, message)
    }
    return true
  }

  /** Removes the column that was probably meant from `absent`, so that it is not reported as missing too. */
  #tellUnknown(written: string, absent: Set<string>): void {
    const meant = meantBy(written, absent)
    if (this.#expected.foreign.some((name) => bare(name) === bare(written))) {
      const message = 'This column belongs to a different version of OneRoster; it was ignored.'
      this.#tell('warning', 'unknown-header', shown(null, written), shown(null, written), message)
    } else if (meant === undefined) {
      const message = 'This column is not part of the standard; it was ignored.'
      this.#tell('warning', 'unknown-header', shown(null, written), shown(null, written), message)
    } else {
      absent.delete(meant)
      const { needed, read } = this.#expected.columns
      const isRead = needed.includes(meant) || read.includes(meant)
      const message = `This column is not part of the standard. Did you mean ${meant}?`
      this.#tell(
        isRead ? 'error' : 'warning',
        'unknown-header',
        shown(null, written),
        shown(null, written),
        message,
      )
    }
  }
}

function meantBy(written: string, absent: ReadonlySet<string>): string | undefined {
  const key = bare(folded(written))
  const aliases = Object.hasOwn(columnAliases, key) ? columnAliases[key]! : []
  const alias = aliases.find((name) => absent.has(name))
  return alias ?? nearest(written, absent)
}
