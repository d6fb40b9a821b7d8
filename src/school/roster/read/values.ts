/**
 * Parsers for single cells. Each takes a filled, trimmed cell and returns its value, or null after reporting an error.
 * Harmless deviations only get a warning; an ambiguous value is refused. Pure.
 */

import { parseName } from '../../../identity/people/names.ts'
import { folded } from '../../../platform/lib/folded.ts'
import { nearest } from '../../../platform/lib/nearest.ts'
import type { Tell } from '../findings.ts'
import { enumerations, extensible, type Version, valueAliases } from './columns.ts'

const idCharactersMax = 255
const textCharactersMax = 1000

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
// Spreadsheets write a plus and two digits or more; 12E4 and 7E-1 may be real class codes.
const spreadsheetNumber = /^[+-]?\d(?:[.,]\d+)?E\+\d{2,3}$/i
// Systems put them around names of either direction. They change nothing but the order of neutral characters.
const directionMarks = /[\u061c\u200e\u200f]/g
const dateForm = /^\d{4}-\d{2}-\d{2}$/
const timeForm = /^T([01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d{1,9})?)?(Z|[+-]\d{2}(?::?\d{2})?)?$/i

export function parseText(text: string, tell: Tell): string | null {
  if (!isPlain(text, textCharactersMax, tell)) return null
  warnIfDamaged(text, tell)
  return text.normalize('NFC')
}

/** What a spreadsheet shows in place of a value that it could not work out. */
const spreadsheetError = /^#(?:REF!|N\/A|VALUE!|NAME\?|DIV\/0!|NULL!|NUM!|SPILL!|CALC!)$/i

export function isSpreadsheetError(text: string, severity: 'error' | 'warning', tell: Tell): boolean {
  if (!text.startsWith('#') || !spreadsheetError.test(text)) return false
  const message =
    'A formula of a spreadsheet failed here, and its error was exported. Mend the formula, or type the value.'
  tell(severity, 'spreadsheet-error', message)
  return true
}

// UTF-8 that was read as Windows-1252 and written as UTF-8 again: two or three characters for one.
const second =
  '[\\u0080-\\u00bf\\u0152\\u0153\\u0160\\u0161\\u0178\\u017d\\u017e\\u0192\\u02c6\\u02dc\\u2013-\\u203a\\u20ac\\u2122]'
const encodedTwice = new RegExp(
  // Latin letters; two letters of Greek, Cyrillic, Hebrew or Arabic; Vietnamese; quotation marks and dashes.
  `[\\u00c2-\\u00c5]${second}|(?:[\\u00cc-\\u00db]${second}){2}|\\u00e1[\\u00ba\\u00bb]${second}|\\u00e2\\u20ac`,
)

export function warnIfDamaged(text: string, tell: Tell): void {
  if (text.includes('\ufffd')) tell('warning', 'damaged-text', lostCharacter)
  else if (encodedTwice.test(text)) tell('warning', 'damaged-text', twice)
}

const lostCharacter =
  'A character was lost when the file was written, and � stands in its place. Export it again as UTF-8.'
const twice =
  'This looks as if it was encoded twice, such as Ã© for é. Export it again as UTF-8, and do not convert it.'

export function parsePersonName(text: string, tell: Tell): string | null {
  warnIfDamaged(text, tell)
  const parsed = parseName(text.replace(directionMarks, ''))
  if (typeof parsed !== 'string') return text.normalize('NFC')
  tell('error', 'bad-name', `A name ${parsed}.`)
  return null
}

/** For sourcedIds, references, identifiers and codes. They are compared byte by byte, so never normalised. */
export function parseId(text: string, tell: Tell): string | null {
  if (!isPlain(text, idCharactersMax, tell)) return null
  if (isSpreadsheetError(text, 'error', tell)) return null
  if (text.startsWith('=') || text.startsWith("'")) return withoutDisguise(text, tell)
  if (!spreadsheetNumber.test(text)) return text
  const message =
    'A spreadsheet has turned this identifier into a number and lost digits. Export it again without opening it in a spreadsheet, or format the column as text first.'
  tell('error', 'spreadsheet-number', message)
  return null
}

/** Programs write ="00123" or '00123 to keep a spreadsheet from changing the number. */
function withoutDisguise(text: string, tell: Tell): string {
  const bare = /^="(.+)"$/.exec(text)?.[1] ?? /^'(\w[^']*)$/.exec(text)?.[1]
  if (bare === undefined) return text
  const message = `Read as ${bare}, without the characters that are meant for a spreadsheet.`
  tell('warning', 'spreadsheet-text', message)
  return bare
}

const controlled = 'The cell contains a line break or another control character. Remove it.'

function isPlain(text: string, charactersMax: number, tell: Tell): boolean {
  if (control.test(text)) tell('error', 'control-character', controlled)
  else if (text.length > charactersMax)
    tell('error', 'too-long', `The cell has ${text.length} characters; at most ${charactersMax} are allowed.`)
  else return true
  return false
}

export function parseDate(text: string, tell: Tell): string | null {
  if (isDay(text)) return text
  tell('error', 'bad-date', dateAdvice(text))
  return null
}

function dateAdvice(text: string): string {
  if (dateForm.test(text)) return 'This day does not exist.'
  const expected = 'Expected year-month-day, such as 2018-08-27'
  if (isDay(text.slice(0, 10))) return `${expected}, without a time.`
  if (isSerial(text))
    return `${expected}. This is how a spreadsheet counts days: format the column as yyyy-mm-dd, then export again.`
  return `${expected}. In a spreadsheet, format the column as yyyy-mm-dd, then export again.`
}

/** A day between 1954 and 2119, as a spreadsheet stores it. */
const isSerial = (text: string) => /^[2-7]\d{4}$/.test(text)

export function isDay(text: string): boolean {
  if (!dateForm.test(text)) return false
  const year = Number(text.slice(0, 4))
  const month = Number(text.slice(5, 7))
  const day = Number(text.slice(8))
  if (year < 1000 || month < 1 || month > 12) return false
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate()
  return day >= 1 && day <= lastDay
}

/** Epoch milliseconds. A time without a zone counts as UTC. */
export function parseDateTime(text: string, severity: 'error' | 'warning', tell: Tell): number | null {
  const time = timeForm.exec(text.slice(10))
  if (!isDay(text.slice(0, 10)) || (text.length > 10 && !time)) {
    tell(severity, 'bad-datetime', 'Expected a date and time such as 2026-08-17T09:30:00Z.')
    return null
  }
  if (!time?.[2]) {
    const message = 'The standard requires a date, a time and a time zone, such as 2026-08-17T09:30:00Z.'
    tell('warning', 'datetime-form', message)
  }
  const at = Date.parse(text.length > 10 && !time?.[2] ? `${text}Z` : text)
  return Number.isNaN(at) ? Date.parse(text.slice(0, 10)) : at
}

export function parseBoolean(text: string, tell: Tell): boolean | null {
  if (text === 'true') return true
  if (text === 'false') return false
  const lower = text.toLowerCase()
  if (lower === 'true' || lower === 'false') {
    tell('warning', 'boolean-case', `Read as ${lower}, which is how the standard spells it.`)
    return lower === 'true'
  }
  tell('error', 'bad-boolean', 'Expected true or false.')
  return null
}

export type Enumeration = keyof typeof enumerations

/** Returns the standard's spelling, or an `ext:` value unchanged. */
export function parseEnumeration(
  text: string,
  name: Enumeration,
  version: Version,
  tell: Tell,
): string | null {
  const allowed: readonly string[] = enumerations[name]
  if (allowed.includes(text)) return text
  if (extensible.has(name) && /^ext:./i.test(text)) return parseExtension(text, version, tell)
  const lower = text.toLowerCase()
  const meant = allowed.find((value) => value.toLowerCase() === lower)
  if (meant !== undefined) {
    tell('warning', 'enumeration-case', `Read as ${meant}, which is how the standard spells it.`)
    return meant
  }
  const word = folded(text)
  const near = allowed.find((value) => valueAliases[value]?.includes(word)) ?? nearest(text, allowed)
  const hint = near === undefined ? '' : ` Did you mean ${near}?`
  const own = extensible.has(name) ? ', or a value of your own that starts with ext:' : ''
  tell('error', 'bad-enumeration', `Expected one of ${allowed.join(', ')}${own}.${hint}`)
  return null
}

function parseExtension(text: string, version: Version, tell: Tell): string | null {
  const value = parseId(text, tell)
  if (value === null) return null
  if (version === '1.1') {
    const message = 'Values that start with ext: came with OneRoster 1.2; it was accepted.'
    tell('warning', 'extension-in-1.1', message)
  }
  return `ext:${value.slice(4)}`
}

export function splitList(text: string): string[] {
  if (!text.includes(',')) return [text]
  return text.split(',').flatMap((item) => item.trim() || [])
}

/** The first grade that is a number: 09 becomes 9. */
export function parseYear(grades: string): number | null {
  const year = splitList(grades).find((grade) => /^\d{1,4}$/.test(grade))
  return year === undefined ? null : Number(year)
}
