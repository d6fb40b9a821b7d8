/** Formats a number of a workbook as Excel shows it, as far as class lists need. Pure. */

/** Excel keeps fifteen digits; more would be made up. */
const digitsMax = 15
export const formatCharactersMax = 255
const daySeconds = 24 * 60 * 60

/** The built-in formats that matter. In East Asian editions, 27 to 36 and 50 to 58 are dates. */
const builtIn: Readonly<Record<number, string>> = {
  ...{ 9: '0%', 10: '0.00%', 14: 'y-m-d', 15: 'd-m-y', 16: 'd-m', 17: 'm-y', 18: 'h:mm', 19: 'h:mm:ss' },
  ...{ 20: 'h:mm', 21: 'h:mm:ss', 22: 'y-m-d h:mm', 45: 'mm:ss', 46: '[h]:mm:ss', 47: 'mm:ss' },
}

export function builtInFormat(id: number): string {
  if ((id >= 27 && id <= 36) || (id >= 50 && id <= 58)) return 'y-m-d'
  return builtIn[id] ?? 'General'
}

/** `is1904`: the workbook counts days from 1904, as old Mac workbooks do. */
export function shownNumber(value: number, format: string, is1904: boolean): string {
  const section = format.split(';')[0]!
  const plain = withoutLiterals(section)
  if (/[ymdhs]/i.test(plain.replace(/general/i, ''))) return shownTime(value, plain, is1904)
  const digits = Number.isInteger(value) && value >= 0 ? String(value) : null
  const isPattern = /0/.test(plain) && !/[.,%E@]/i.test(plain)
  if (isPattern && digits !== null && digits.length <= digitsMax) return inPattern(digits, section)
  return plainNumber(value)
}

/** Strips quoted text, escapes, fillers, and colours and conditions in brackets; keeps [h]. */
function withoutLiterals(section: string): string {
  return section
    .replaceAll(/"[^"]*"|\\.|[_*]./g, '')
    .replaceAll(/\[([^[\]]*)\]/g, (_, inside) => (/^[hms]+$/i.test(inside) ? inside : ''))
}

/** 42 in 00000 is 00042, and 123456789 in 000-00-0000 is 123-45-6789. */
function inPattern(digits: string, section: string): string {
  const tokens = section.replaceAll(/\[[^[\]]*\]/g, '').match(/"[^"]*"|\\.|[_*].|[\s\S]/g) ?? []
  const first = tokens.findIndex(isPlace)
  let left = digits
  let shown = ''
  for (let i = tokens.length - 1; i >= 0; i--) {
    const token = tokens[i]!
    if (!isPlace(token)) shown = literal(token) + shown
    else if (i === first) {
      shown = left.padStart(token === '0' ? 1 : 0, '0') + shown
      left = ''
    } else {
      shown = (left.at(-1) ?? (token === '0' ? '0' : '')) + shown
      left = left.slice(0, -1)
    }
  }
  return shown.trim()
}

const isPlace = (token: string) => token === '0' || token === '#' || token === '?'

function literal(token: string): string {
  if (token.startsWith('"')) return token.slice(1, -1)
  if (token.startsWith('\\')) return token.slice(1)
  return /^[_*]/.test(token) ? '' : token
}

/** Without an exponent, unless digits were lost: then the reader refuses it. */
function plainNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) >= 10 ** digitsMax)
    return value.toExponential(5).replace('e', 'E')
  const rounded = Number(value.toPrecision(digitsMax))
  const text = String(rounded)
  return text.includes('e') ? rounded.toFixed(20).replace(/\.?0+$/, '') : text
}

/** ISO days, and times as HH:MM. */
function shownTime(value: number, plain: string, is1904: boolean): string {
  const hasDay = /[yd]/i.test(plain)
  // Rounded as a whole: the last second of a day may belong to the next.
  const seconds = Math.round(value * daySeconds)
  const minutes = Math.floor((seconds - Math.floor(seconds / daySeconds) * daySeconds) / 60)
  const time = `${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`
  if (!hasDay && /[hs]/i.test(plain)) return time
  // Day 60 is 29 February 1900, which never existed; no class list goes back that far.
  const from = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30)
  const at = new Date(from + Math.floor(seconds / daySeconds) * daySeconds * 1000)
  if (Number.isNaN(at.getTime()) || at.getUTCFullYear() > 9999) return plainNumber(value)
  const day = at.toISOString().slice(0, 10)
  return /h/i.test(plain) && minutes > 0 ? `${day} ${time}` : day
}

const pad = (number: number) => String(number).padStart(2, '0')
