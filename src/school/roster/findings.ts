/**
 * All finding codes with their meanings, and the log that keeps findings. The log is bounded: of each kind (a code in a
 * column of a file) the first are kept and the rest counted, and after ten thousand findings so is everything else. A file
 * with more than ten thousand errors is not checked any further.
 */
import type { Finding } from './records.ts'

export const findingKinds = {
  'too-many-files': 'The zip or folder holds more than 64 files.',
  'unpacks-too-large': 'The files come to more than 200 MiB.',
  'too-many-rows': 'The files have more than 20 million rows.',
  'too-many-errors': 'There are more than 10,000 errors; the rest was not checked.',
  'too-much-memory': 'Reading or comparing the files takes more than 1 GiB of memory.',
  'packed-too-tightly': 'A file of the zip unpacks to more than 100 times its packed size.',
  'encrypted-file': 'The zip, or a file in it, is protected by a password.',
  'damaged-file': 'A file of the zip cannot be unpacked.',
  'duplicate-file': 'One file is there twice, perhaps in another spelling.',
  'unsafe-name': 'A file of the zip has a name that leads out of its folder; it was ignored.',
  'wrapped-in-folder': 'The files lie in a folder inside the zip instead of at its top.',
  'not-a-roster': 'This is something else than a OneRoster set, such as an Excel workbook.',
  'no-files': 'There is no CSV file of the standard.',
  'unknown-file': 'The file is not part of the standard; it was ignored.',
  'file-name-case': 'The file name differs from the standard in upper and lower case.',
  'missing-manifest': 'There is no manifest.csv; the version was inferred from the files.',
  'manifest-version': 'manifest.version is not 1.0.',
  'missing-version': 'The manifest does not say oneroster.version; it was inferred from the files.',
  'unsupported-version': 'oneroster.version is none of 1.1, 1.2 and 1.2.1.',
  'bad-manifest-mode': 'A file. property of the manifest is none of absent, bulk and delta.',
  'missing-file': 'The manifest announces a file that is not there.',
  'unexpected-file': 'The manifest says absent, but the file is there; it was read.',
  'missing-part': 'A file without which a bulk set is not complete is missing.',
  'mode-differs': 'The manifest says delta, but the rows have neither status nor date.',
  'mixed-mode': 'In a delta, some rows have no status or no dateLastModified.',
  'byte-order-mark': 'The file starts with a byte order mark.',
  'not-utf-8': 'The file is not encoded in UTF-8.',
  'lone-carriage-return': 'Lines end with a lone carriage return.',
  'bad-quotes': 'A quotation mark is out of place or never closed.',
  'wrong-separator': 'The cells are separated by semicolons or tabs instead of commas.',
  'empty-file': 'The file has no header line.',
  'unknown-header': 'A column is not part of the standard: an error when it looks like a misspelt one.',
  'header-case': 'A column name differs from the standard in upper and lower case or in spaces.',
  'duplicate-header': 'A column is there twice.',
  'missing-column': 'A column that must be there is missing.',
  'blank-lines': 'There are blank lines.',
  'trailing-cells': 'There are empty cells after the last column.',
  'cell-count': 'A row has more or fewer cells than the header.',
  'missing-value': 'A cell that must be filled is empty.',
  'control-character': 'A cell holds a line break or another control character.',
  'surrounding-space': 'An identifier has spaces around it.',
  'too-long': 'A cell has too many characters.',
  'one-name': 'A person has only one name.',
  'bad-name': 'A name cannot be kept as it is.',
  'spreadsheet-number': 'A spreadsheet has turned an identifier into a number such as 1.23E+11.',
  'bad-date': 'A date is not a real day written YYYY-MM-DD.',
  'bad-datetime': 'A time is not written like 2026-08-17T09:30:00Z.',
  'datetime-form': 'A time has no time of day or no time zone.',
  'date-order': 'The first day lies after the last.',
  'bad-boolean': 'A cell is neither true nor false.',
  'boolean-case': 'true or false is written with capitals.',
  'bad-enumeration': 'A cell holds none of the values that the standard allows there.',
  'enumeration-case': 'A value differs from the standard in upper and lower case.',
  'extension-in-1.1': 'A value starts with ext:, which OneRoster has only since 1.2.',
  'inactive-status': 'status is inactive, which is read as tobedeleted.',
  'unknown-class-kind': 'classType is an ext: value that Chiron does not know; the class counts as a course.',
  'bad-class-kind': 'metadata.kind is none of course, homeroom, rotation, practical and tutorial.',
  'bad-meetings': 'metadata.meets is not written like Mon 09:00-10:30; it was ignored.',
  'duplicate-id': 'Two rows of a file have the same sourcedId.',
  'no-address': 'A student has no address and cannot sign in.',
  'bad-address': 'The address of a student is not one plain address.',
  'duplicate-address': 'Two students have the same address.',
  'shared-address': 'A teacher has the address of somebody else.',
  'dangling-reference': 'A row names a sourcedId that is not there.',
  'address-bounced': 'Mail to a student came back, so no code reaches them.',
  'same-account': 'Two students have the same account.',
  'too-many-classes': 'A student is in more than 500 classes.',
  'bad-rows-spread': 'Leaving out bad rows makes others bad, again and again.',
  follows: 'Rows name others that could not be read or go; they are only counted.',
  'more-findings': 'There were more findings than are shown.',
} as const

export type FindingCode = keyof typeof findingKinds

/** Reports a problem with one value; the caller adds its place in the file. */
export type Tell = (severity: Finding['severity'], code: FindingCode, message: string) => void

export interface CodedFinding extends Finding {
  readonly code: FindingCode
}

/** A finding that ends the work on a file. */
export class FatalFinding extends Error {
  override readonly name = 'FatalFinding'
  readonly finding: CodedFinding

  constructor(finding: CodedFinding, cause?: unknown) {
    super(finding.message, { cause })
    this.finding = finding
  }
}

const findingsMax = 10_000
const alikeMax = { error: 1_000, warning: 100 } as const
const valueCharactersMax = 80

export class FindingLog {
  readonly #kept: Finding[] = []
  readonly #alike = new Map<string, { readonly first: CodedFinding; count: number }>()
  readonly #isHopeless: () => boolean
  #unkept = { error: 0, warning: 0 }
  #errors = 0
  #errorsOfFiles = 0
  #fatal: CodedFinding | null = null

  /** `isHopeless`: with one more error the file is refused in any case, so a great many of them end the work. */
  constructor(isHopeless: () => boolean = () => false) {
    this.#isHopeless = isHopeless
  }

  /** An error about a row concerns that row alone; one about a file, the whole set. */
  add(finding: CodedFinding, about: 'file' | 'row' = 'file'): void {
    if (finding.severity === 'error') {
      if (about === 'file') this.#errorsOfFiles++
      if (++this.#errors > findingsMax && this.#isHopeless()) throw tooManyErrors(finding.file)
    }
    const key = `${finding.severity} ${finding.code} ${finding.file} ${finding.column}`
    const alike = this.#alike.get(key)
    if (alike && ++alike.count > alikeMax[finding.severity]) return
    if (this.#kept.length >= findingsMax) {
      this.#unkept[finding.severity]++
      return
    }
    if (!alike) this.#alike.set(key, { first: finding, count: 1 })
    this.#kept.push(finding)
  }

  /** The rest of the file is not looked at. */
  end({ finding }: FatalFinding): void {
    this.#errorsOfFiles++
    this.#fatal = finding
  }

  /** Whether the roster was not read, compared or judged to its end. */
  get isCut(): boolean {
    return this.#fatal !== null
  }

  /** Whether something is wrong that leaving out rows does not mend. */
  get failsAsAWhole(): boolean {
    return this.#errorsOfFiles > 0
  }

  /** First what ended the work, then the findings, and for each kind of which there were more, one that says how many. */
  all(rosterName: string): Finding[] {
    const more = [...this.#alike.values()].flatMap(({ first, count }) => {
      const unkept = count - alikeMax[first.severity]
      if (unkept <= 0) return []
      return [
        { ...first, line: null, value: null, message: `${first.message} (The same in ${unkept} more rows.)` },
      ]
    })
    const fatal = this.#fatal === null ? [] : [this.#fatal]
    const { error, warning } = this.#unkept
    if (error + warning === 0) return [...fatal, ...this.#kept, ...more]
    const message = `${error + warning} more findings are not shown (${error} of them errors). Fix these first, then check again.`
    const severity = error > 0 ? 'error' : 'warning'
    return [...fatal, ...this.#kept, ...more, aboutFile(severity, 'more-findings', rosterName, message)]
  }
}

function tooManyErrors(file: string): FatalFinding {
  const message = `There are more than ${findingsMax.toLocaleString('en')} errors, so the rest was not checked: mend those that are listed, and check again.`
  return new FatalFinding(aboutFile('error', 'too-many-errors', file, message))
}

export function aboutFile(
  severity: Finding['severity'],
  code: FindingCode,
  file: string,
  message: string,
): CodedFinding {
  return { severity, code, file, line: null, column: null, value: null, message }
}

/** Shortens a value for display. Values from password columns are never shown. */
export function shown(column: string | null, value: string): string | null {
  if (column !== null && /passw/i.test(column)) return null
  return value.length > valueCharactersMax ? `${value.slice(0, valueCharactersMax)}…` : value
}
