/** Accepts one plain e-mail address, without the comments and quoting of RFC 5322. */
import { domainToASCII } from 'node:url'

export interface Address {
  /** What was typed, with the domain in A-labels. Mail is sent here. */
  readonly email: string
  /** Lower-cased, for comparison. */
  readonly key: string
}

const addressOctetsMax = 254
const localOctetsMax = 64
const dotAtom = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/
// Characters that the host parser treats specially: percent signs, ports, paths, brackets, spaces.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
const foreignToDomains = /[\u0000-\u002c\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a0]/

export function parseAddress(text: string): Address | string {
  // First, because converting a long domain to A-labels takes quadratic time.
  if (text.length > addressOctetsMax) return `must have at most ${addressOctetsMax} octets`
  const at = text.lastIndexOf('@')
  if (at < 1 || at === text.length - 1) return 'must be one e-mail address such as ada@example.org'
  const local = text.slice(0, at)
  if (local.length > localOctetsMax) return `must have at most ${localOctetsMax} characters before the @`
  if (!dotAtom.test(local))
    return "must have only letters without accents, digits, dots and !#$%&'*+/=?^_`{|}~- before the @"
  const domain = parseDomain(text.slice(at + 1))
  if (domain === null) return 'must have a domain name with a dot after the @'
  const email = `${local}@${domain}`
  if (email.length > addressOctetsMax) return `must have at most ${addressOctetsMax} octets`
  return { email, key: email.toLowerCase() }
}

/** In lower case. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase()
}

/** The address without its tag: `ada+vet@example.org` reaches the inbox of ada@example.org. */
export function inboxOf(addressKey: string): string {
  return addressKey.replace(/(?<=^[^+@]+)\+[^@]*(?=@)/, '')
}

/** Returns the domain in A-labels, or null if it is not a domain name. */
export function parseDomain(text: string): string | null {
  if (foreignToDomains.test(text)) return null
  const ascii = domainToASCII(text)
  const typedInAscii = /^[\x21-\x7e]+$/.test(text)
  // The host parser also turns 0x7f.1 into an IPv4 address; a name must come out unchanged.
  if (typedInAscii && ascii !== text.toLowerCase()) return null
  const labels = ascii.split('.')
  if (labels.length < 2 || !labels.every((l) => label.test(l))) return null
  if (/^\d+$/.test(labels.at(-1)!)) return null
  return typedInAscii ? text : ascii
}
