/**
 * All finding codes with their meanings, and the log that keeps findings. The log is bounded: it keeps the first findings of
 * each kind (a code in a column of a file) and counts the rest; after ten thousand findings it only counts. A file with
 * more than ten thousand errors is not checked further.
 */
import { counted } from '../../platform/lib/counted.ts'
import type { Finding } from './records.ts'

export const findingKinds = {
  'too-many-files': 'The zip or folder contains more than 64 files.',
  'unpacks-too-large': 'The files are larger than 200 MiB in total.',
  'too-many-rows': 'The files have more than 20 million rows.',
  'too-many-errors': 'There are more than 10,000 errors; the rest was not checked.',
  'too-many-columns': 'A row of a class list has text in more than 1,024 columns.',
  'too-much-memory': 'Reading or comparing the files takes more than 1 GiB of memory or 4 GiB of disk.',
  'too-much-time': 'Reading and comparing the files takes more than 15 minutes.',
  'packed-too-tightly': 'A file in the zip unpacks to more than 100 times its packed size.',
  'encrypted-file': 'The zip or a file in it is password-protected.',
  'damaged-file': 'A file in the zip cannot be unpacked.',
  'duplicate-file': 'A file appears twice, perhaps spelt differently.',
  'unsafe-name': 'A file in the zip has a path that leads out of its folder; it was ignored.',
  'wrapped-in-folder': 'The files are in a folder inside the zip instead of at its top level.',
  'not-a-roster': 'This is not a OneRoster set but, for example, an Excel workbook.',
  'no-files': 'There is no OneRoster CSV file.',
  'unknown-file': 'The file is not part of the standard; it was ignored.',
  'file-name-case': 'The file name differs from the standard in case.',
  'missing-manifest': 'There is no manifest.csv; the version was inferred from the files.',
  'manifest-version': 'manifest.version is not 1.0.',
  'missing-version': 'The manifest has no oneroster.version; it was inferred from the files.',
  'version-differs': 'The manifest gives another version of OneRoster than the files have.',
  'unsupported-version': 'oneroster.version is not 1.1, 1.2 or 1.2.1.',
  'bad-manifest-mode': 'A file. property of the manifest is not absent, bulk or delta.',
  'missing-file': 'The manifest lists a file that is missing.',
  'unexpected-file': 'The manifest says absent, but the file is present; it was read.',
  'missing-part': 'A file that a complete bulk set needs is missing.',
  'mode-differs': 'The manifest says delta, but the rows have neither status nor date.',
  'mixed-mode': 'In a delta, some rows have no status or no dateLastModified.',
  'byte-order-mark': 'The file starts with a byte order mark.',
  'not-utf-8': 'The file is not encoded in UTF-8.',
  'lone-carriage-return': 'Lines end with a lone carriage return.',
  'bad-quotes': 'A quotation mark is out of place or never closed.',
  'wrong-separator': 'The cells are separated by semicolons or tabs instead of commas.',
  'empty-file': 'The file has no header line.',
  'no-rows': 'A file of a complete set has a header and no rows.',
  'header-below': 'There are lines above the header.',
  'separator-line': 'The first line is one that Excel reads, such as sep=,; it was skipped.',
  'footer-line': 'The file ends with a line that is not a row, such as a total; it was skipped.',
  'null-word': 'Empty cells contain the word NULL; they were read as empty.',
  'unknown-header': 'A column is not part of the standard; an error if it looks like a misspelling.',
  'header-case': 'A column name differs from the standard in case or spaces.',
  'duplicate-header': 'A column appears twice.',
  'missing-column': 'A required column is missing.',
  'blank-lines': 'There are blank lines.',
  'trailing-cells': 'There are empty cells after the last column.',
  'cell-count': 'A row has more or fewer cells than the header.',
  'missing-value': 'A required cell is empty.',
  'control-character': 'A cell contains a line break or another control character.',
  'surrounding-space': 'An identifier has spaces around it.',
  'too-long': 'A cell has too many characters.',
  'one-name': 'A person has only one name.',
  'bad-name': 'A name cannot be stored as it is.',
  'spreadsheet-number': 'A spreadsheet has turned an identifier into a number such as 1.23E+11.',
  'spreadsheet-text':
    'An identifier is written for a spreadsheet, such as ="00123"; it was read without that.',
  'lost-zeros': 'A spreadsheet has probably removed the leading zeros of student numbers.',
  'spreadsheet-error': 'A cell has the error of a spreadsheet, such as #REF! or #N/A, in place of a value.',
  'damaged-text': 'Letters were lost or encoded twice when the file was written, such as � or Ã©.',
  'bad-date': 'A date is not a real day in the form YYYY-MM-DD.',
  'bad-datetime': 'A date and time is not in the form 2026-08-17T09:30:00Z.',
  'datetime-form': 'A date and time lacks the time of day or the time zone.',
  'date-order': 'The first day is after the last.',
  'bad-boolean': 'A cell is neither true nor false.',
  'boolean-case': 'true or false is written in capitals.',
  'bad-enumeration': 'A cell does not contain a value that the standard allows there.',
  'enumeration-case': 'A value differs from the standard in case.',
  'extension-in-1.1': 'A value starts with ext:, which OneRoster has only had since 1.2.',
  'inactive-status': 'status is inactive, which is read as tobedeleted.',
  'unknown-class-kind': 'classType is an ext: value that Chiron does not know; the class counts as a course.',
  'bad-class-kind': 'metadata.kind is not course, homeroom, rotation, practical or tutorial.',
  'bad-meetings': 'metadata.meets is not in the form Mon 09:00-10:30; it was ignored.',
  'repeated-row': 'Two rows of a file say the same; they were read as one.',
  'duplicate-id': 'Two rows of a file have the same sourcedId and differ.',
  'no-address': 'A student has no address and cannot sign in.',
  'bad-address': 'The address of a student is not a single plain address.',
  'duplicate-address': 'Two students have the same address.',
  'shared-address': 'A teacher has the address of somebody else.',
  'dangling-reference': 'A row refers to a sourcedId that does not exist.',
  'reference-case': 'Rows refer to sourcedIds that differ only in capitals.',
  'address-bounced': 'Mail to a student bounced, so no code reaches them.',
  'same-account': 'Two students have the same account.',
  'too-many-classes': 'A student is in more than 500 classes.',
  'bad-rows-spread': 'Each time bad rows are skipped, other rows become bad.',
  'ambiguous-column': 'Two columns of a class list could be the same thing.',
  'unread-sheet': 'A workbook has another sheet that looks like a class list; it was not read.',
  'missing-term': 'The classes of a list have no dates.',
  'differing-rows': 'Rows of a class list disagree about a student.',
  'no-role': 'The role of people in an export is unknown; they were skipped.',
  follows: 'Rows refer to others that could not be read or that leave; they are only counted.',
  'more-findings': 'Not all findings are shown.',
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

  /** `isHopeless`: the file will be refused in any case, so too many errors stop the check. */
  constructor(isHopeless: () => boolean = () => false) {
    this.#isHopeless = isHopeless
  }

  /** An error about a row affects only that row; one about a file affects the whole set. */
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

  /** As `add`, for what is known of a row only when its file was read: it takes its place by its line. */
  addByLine(finding: CodedFinding): void {
    const before = this.#kept.length
    this.add(finding, 'row')
    if (this.#kept.length === before) return
    this.#kept.pop()
    const isLater = (one: Finding | undefined) =>
      one?.file === finding.file && (one.line === null || one.line > finding.line!)
    let at = before
    while (isLater(this.#kept[at - 1])) at--
    this.#kept.splice(at, 0, finding)
  }

  /** The rest of the file is not read. */
  end({ finding }: FatalFinding): void {
    this.#errorsOfFiles++
    this.#fatal = finding
  }

  /** Whether reading, comparing or checking stopped early. */
  get isCut(): boolean {
    return this.#fatal !== null
  }

  /** Whether there are errors that skipping rows cannot fix. */
  get failsAsAWhole(): boolean {
    return this.#errorsOfFiles > 0
  }

  /** The fatal finding first, then the others, then one count for each kind that was cut off. */
  all(rosterName: string): Finding[] {
    const more = [...this.#alike.values()].flatMap(({ first, count }) => {
      const unkept = count - alikeMax[first.severity]
      if (unkept <= 0) return []
      return [
        {
          ...first,
          line: null,
          value: null,
          message: `${first.message} (The same in ${counted(unkept, 'more row', 'more rows')}.)`,
        },
      ]
    })
    const fatal = this.#fatal === null ? [] : [this.#fatal]
    const { error, warning } = this.#unkept
    if (error + warning === 0) return [...fatal, ...this.#kept, ...more]
    const message = `${counted(error + warning, 'more finding is', 'more findings are')} not shown (${counted(error, 'error', 'errors')} among them). Fix these first, then check again.`
    const severity = error > 0 ? 'error' : 'warning'
    return [...fatal, ...this.#kept, ...more, aboutFile(severity, 'more-findings', rosterName, message)]
  }
}

function tooManyErrors(file: string): FatalFinding {
  const message = `There are more than ${findingsMax.toLocaleString('en')} errors, so the rest was not checked: fix those listed, then check again.`
  return fatal('too-many-errors', file, message)
}

export const fatal = (code: FindingCode, file: string, message: string, line: number | null = null) =>
  new FatalFinding({ ...aboutFile('error', code, file, message), line })

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
