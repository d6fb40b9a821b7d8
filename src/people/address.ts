/** E-mail addresses: one plain address, nothing of RFC 5322's finery. Pure. */
import { domainToASCII } from 'node:url'

export interface Address {
  /** As typed, the domain as A-labels: where mail goes. */
  readonly email: string
  /** Lower-cased: what is compared. */
  readonly key: string
}

const addressOctetsMax = 254
const localOctetsMax = 64
const dotAtom = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/
// What would make the host parser do more than IDNA: percent signs, ports, paths, brackets, spaces.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
const foreignToDomains = /[\u0000-\u002c\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a0]/

/** The address, or what is wrong with it. */
export function parseAddress(text: string): Address | string {
  // Before anything else: turning a long domain into A-labels takes quadratic time.
  if (text.length > addressOctetsMax) return `must have at most ${addressOctetsMax} octets`
  const at = text.lastIndexOf('@')
  if (at < 1 || at === text.length - 1) return 'must be one e-mail address such as ada@example.org'
  const local = text.slice(0, at)
  if (local.length > localOctetsMax)
    return `the part before the @ must have at most ${localOctetsMax} characters`
  if (!dotAtom.test(local))
    return "the part before the @ may hold only plain ASCII letters, digits, dots and !#$%&'*+/=?^_`{|}~-"
  const domain = parseDomain(text.slice(at + 1))
  if (domain === null) return 'the part after the @ must be a domain name with a dot in it'
  const email = `${local}@${domain}`
  if (email.length > addressOctetsMax) return `must have at most ${addressOctetsMax} octets`
  return { email, key: email.toLowerCase() }
}

/** The address that mail for this one reaches: `ada+vet@example.org` is ada's inbox. Limits count inboxes. */
export function inboxOf(addressKey: string): string {
  return addressKey.replace(/(?<=^[^+@]+)\+[^@]*(?=@)/, '')
}

function parseDomain(text: string): string | null {
  if (foreignToDomains.test(text)) return null
  const ascii = domainToASCII(text)
  const typedInAscii = /^[\x21-\x7e]+$/.test(text)
  // The host parser also reads 0x7f.1 as an IPv4 address; a name must come out as it went in.
  if (typedInAscii && ascii !== text.toLowerCase()) return null
  const labels = ascii.split('.')
  if (labels.length < 2 || !labels.every((l) => label.test(l))) return null
  if (/^\d+$/.test(labels.at(-1)!)) return null
  return typedInAscii ? text : ascii
}
