/**
 * All finding codes with their meanings, and the log that passes findings on. The log is bounded: after a hundred
 * similar warnings about one column the rest are only counted, and after ten thousand findings so is everything else.
 */
import type { Finding } from './records.ts'

export const findingKinds = {
  'too-many-files': 'The zip or folder holds more than 64 files.',
  'unpacks-too-large': 'The files of the zip come to more than 200 MiB.',
  'packed-too-tightly': 'A file of the zip unpacks to more than 100 times its packed size.',
  'encrypted-file': 'The zip, or a file in it, is protected by a password.',
  'damaged-file': 'A file of the zip cannot be unpacked.',
  'duplicate-file': 'One file is there twice, perhaps in another spelling.',
  'unsafe-name': 'A file of the zip has a name that leads out of its folder; it was ignored.',
  'wrapped-in-folder': 'The files lie in a folder inside the zip instead of at its top.',
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
  'mode-differs': 'The manifest says bulk and the rows say delta, or the other way round; the rows count.',
  'mixed-mode': 'Some rows have status and dateLastModified and others do not.',
  'byte-order-mark': 'The file starts with a byte order mark.',
  'not-utf-8': 'The file is not encoded in UTF-8.',
  'lone-carriage-return': 'Lines end with a lone carriage return.',
  'bad-quotes': 'A quotation mark is out of place or never closed; the rest of the file was not read.',
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
  'more-findings': 'There were more findings than are shown.',
} as const

export type FindingCode = keyof typeof findingKinds

/** Reports a problem with one value; the caller adds its place in the file. */
export type Tell = (severity: Finding['severity'], code: FindingCode, message: string) => void

export interface ReaderFinding extends Finding {
  readonly code: FindingCode
}

const findingsMax = 10_000
const alikeMax = 100
const valueCharactersMax = 80

export class FindingLog {
  readonly #name: string
  readonly #pass: (finding: Finding) => void
  readonly #alike = new Map<string, { readonly first: ReaderFinding; count: number }>()
  #passed = 0
  #held = 0
  #heldErrors = 0

  constructor(rosterName: string, pass: (finding: Finding) => void) {
    this.#name = rosterName
    this.#pass = pass
  }

  add(finding: ReaderFinding): void {
    if (finding.severity === 'warning' && this.#isOneTooMany(finding)) return
    this.#send(finding)
  }

  #isOneTooMany(finding: ReaderFinding): boolean {
    const key = `${finding.code} ${finding.file} ${finding.column}`
    const alike = this.#alike.get(key)
    if (!alike) {
      this.#alike.set(key, { first: finding, count: 1 })
      return false
    }
    alike.count++
    return alike.count > alikeMax
  }

  #send(finding: ReaderFinding): void {
    if (this.#passed >= findingsMax) {
      this.#held++
      if (finding.severity === 'error') this.#heldErrors++
      return
    }
    this.#passed++
    this.#pass(finding)
  }

  /** Call after everything was read. */
  close(): void {
    for (const { first, count } of this.#alike.values()) {
      if (count <= alikeMax) continue
      const message = `${first.message} (The same in ${count - alikeMax} more rows.)`
      this.#send({ ...first, line: null, value: null, message })
    }
    if (this.#held === 0) return
    // If any hidden finding is an error, this is one too, so that the import is still refused.
    this.#pass({
      severity: this.#heldErrors > 0 ? 'error' : 'warning',
      code: 'more-findings',
      file: this.#name,
      line: null,
      column: null,
      value: null,
      message: `${this.#held} more findings are not shown (${this.#heldErrors} of them errors). Fix these first, then check again.`,
    })
  }
}

export function aboutFile(
  severity: Finding['severity'],
  code: FindingCode,
  file: string,
  message: string,
): ReaderFinding {
  return { severity, code, file, line: null, column: null, value: null, message }
}

/** Shortens a value for display. Values from password columns are never shown. */
export function shown(column: string | null, value: string): string | null {
  if (column !== null && /passw/i.test(column)) return null
  return value.length > valueCharactersMax ? `${value.slice(0, valueCharactersMax)}…` : value
}
