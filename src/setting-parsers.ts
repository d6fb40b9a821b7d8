/**
 * From the text of a setting to its value. An error continues a sentence that begins with the setting's name, and never
 * repeats what may be a password.
 */
import { createPrivateKey } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { UsageError } from './errors.ts'
import { parseAddress, parseDomain } from './platform/lib/address.ts'
import { type Logo, readLogo } from './platform/lib/branding.ts'
import { isLoopbackHost, parseRange, type Range } from './platform/lib/network.ts'
import { poolerOf } from './platform/lib/postgres-url.ts'
import { type Method, methods } from './roles.ts'
import { type BadRows, type HoldShares, usualShares } from './school/roster/words.ts'

type Parser<T> = (text: string) => T

export const text: Parser<string> = (given) => given

export const integer =
  (min: number, max: number): Parser<number> =>
  (given) => {
    const value = Number(given)
    if (!/^\d+$/.test(given) || value < min || value > max)
      throw new UsageError(`must be a whole number from ${min} to ${max}, not ${JSON.stringify(given)}`)
    return value
  }

export const oneOf =
  <const T extends string>(...choices: readonly T[]): Parser<T> =>
  (given) => {
    const found = choices.find((choice) => choice === given)
    if (!found) throw new UsageError(`must be ${choices.join(' or ')}, not ${JSON.stringify(given)}`)
    return found
  }

export const listOf =
  <T>(parse: Parser<T>): Parser<readonly T[]> =>
  (given) =>
    given
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map(parse)

/** A passkey alone would let nobody in for the first time. */
export const signInMethods =
  (...open: readonly Method[]): Parser<readonly Method[]> =>
  (given) => {
    const chosen = listOf(oneOf(...open))(given)
    if (!chosen.some((method) => method !== 'passkey'))
      throw new UsageError(
        `must have ${open.filter((method) => method !== 'passkey').join(' or ')}: a passkey is added after another sign-in`,
      )
    return methods.filter((method) => chosen.includes(method))
  }

export function holdShares(given: string): Partial<HoldShares> {
  const shares = listOf((part) => {
    const [, name = '', percent = ''] = /^(\w+)\s*:\s*(\d{1,3})$/.exec(part) ?? []
    if (!Object.hasOwn(usualShares, name) || Number(percent) > 100)
      throw new UsageError(
        `takes a hold and a percentage such as leavers:10, not ${JSON.stringify(part)}; the holds are ${Object.keys(usualShares).join(', ')}`,
      )
    return [name, Number(percent)]
  })(given)
  return Object.fromEntries(shares)
}

export function badRows(given: string): BadRows {
  const [, percent] = /^(\d{1,2}(?:\.\d+)?)\s*%$/.exec(given) ?? []
  if (percent !== undefined) return { share: Number(percent) / 100 }
  if (/^\d{1,6}$/.test(given)) return { max: Number(given) }
  throw new UsageError(`must be a number of rows, or a percentage such as 2%, not ${JSON.stringify(given)}`)
}

export function publicUrl(given: string): string {
  const url = URL.parse(given)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError('must be an address such as https://access.example.org')
  if (url.pathname !== '/' || url.search || url.hash || url.username)
    throw new UsageError('must be an origin such as https://access.example.org, without path or query')
  return url.origin
}

export function origin(given: string): string {
  if (URL.parse(given)?.origin !== given)
    throw new UsageError(
      'holds something that is not an origin such as https://app.example.org, without a slash at the end',
    )
  return given
}

export function databaseUrl(given: string): string {
  if (/^sqlite:[^?#]+$/.test(given) && given !== 'sqlite::memory:') return given
  if (/^postgres(ql)?:\/\/[^/]+\/[^/?]+(\?.*)?$/.test(given)) {
    if (!['transaction', undefined].includes(poolerOf(given)))
      throw new UsageError('may have only pooler=transaction; a pooler that keeps sessions needs none')
    return given
  }
  throw new UsageError('must be sqlite:<file> or postgres://<user>:<password>@<host>/<database>')
}

export function smtpUrl(given: string): string {
  const url = URL.parse(given)
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || !decodes(url.username + url.password))
    throw new UsageError('must be smtp://<host>:<port> or smtps://<host>:<port>')
  return given
}

function decodes(encoded: string): boolean {
  try {
    decodeURIComponent(encoded)
    return true
  } catch {
    return false
  }
}

export function mailFrom(given: string): string {
  if (/[\r\n]/.test(given) || !/^(?:[^<>@]*<[^<>\s@]+@[^<>\s@]+>|[^<>\s@]+@[^<>\s@]+)$/.test(given))
    throw new UsageError(`must be an address or "Name <address>", not ${JSON.stringify(given)}`)
  return given
}

export function tokenUrl(given: string): string {
  const url = URL.parse(given)
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))
  if (!isSafe || url.username !== '') throw new UsageError('must be an https address without a user')
  return given
}

/** Also a DKIM selector, which looks the same. */
export function hostName(given: string): string {
  const label = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?'
  if (!new RegExp(`^${label}(\\.${label})*$`, 'i').test(given))
    throw new UsageError(`must be a name such as mail.example.org, not ${JSON.stringify(given)}`)
  return given
}

export function hostNameOrAddress(given: string): string {
  return /^\[[0-9a-fA-F:.]+\]$/.test(given) ? given : hostName(given)
}

/** Returns the domain in the form of addresses: A-labels in lower case. */
export function mailDomain(given: string): string {
  const domain = parseDomain(given)
  if (domain === null)
    throw new UsageError(`must be domains such as school.example, not ${JSON.stringify(given)}`)
  return domain.toLowerCase()
}

const rsaBitsMin = 1024

/** The key itself, as PEM. */
export function rsaKeyFile(file: string): string {
  if (!existsSync(file)) throw new UsageError(`names a file that is not there: ${file}`)
  const isRsa = (pem: string) => {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem)
    return asymmetricKeyType === 'rsa' && asymmetricKeyDetails!.modulusLength! >= rsaBitsMin
  }
  try {
    const pem = readFileSync(file, 'utf8')
    if (isRsa(pem)) return pem
  } catch {
    // The reason may quote the key.
  }
  throw new UsageError('must name a readable PEM file with an RSA key and no password')
}

export function range(given: string): Range {
  const found = parseRange(given)
  if (!found) throw new UsageError(`holds ${JSON.stringify(given)}, which is neither an address nor a CIDR`)
  return found
}

// Limits how many addresses can be trusted as proxies. A /8 is the widest private network; unique local addresses are a
// /7.
const proxyBitsMin = { ipv4: 8, ipv6: 16, uniqueLocal: 7 }

export function proxy(given: string): Range {
  const found = range(given)
  const [address, bits] = found
  const bitsMin = proxyBitsMin[address.range() === 'uniqueLocal' ? 'uniqueLocal' : address.kind()]
  if (bits < bitsMin)
    throw new UsageError(
      `holds ${JSON.stringify(given)}, which is too wide a range to trust: use at least /${bitsMin}`,
    )
  return found
}

const reportToMax = 10

export function reportTo(given: string): readonly string[] {
  const addresses = listOf(emailAddress)(given)
  if (addresses.length > reportToMax) throw new UsageError(`has more than ${reportToMax} addresses`)
  return addresses
}

function emailAddress(given: string): string {
  const address = parseAddress(given)
  if (typeof address === 'string') throw new UsageError(`holds an address that cannot be used: ${address}`)
  return address.email
}

export function timeZone(given: string): string {
  try {
    // Not Intl, which first loads its languages: every command would take longer.
    new Temporal.ZonedDateTime(0n, given)
    return given
  } catch {
    throw new UsageError(`must be a time zone such as Europe/Lisbon, not ${JSON.stringify(given)}`)
  }
}

export function workers(given: string): number {
  if (given === 'auto') return availableParallelism()
  if (!/^\d+$/.test(given)) throw new UsageError(`must be a number or auto, not ${JSON.stringify(given)}`)
  return integer(1, 256)(given)
}

export function portOrOff(given: string): number | null {
  return given === 'off' ? null : integer(0, 65_535)(given)
}

const schoolNameMax = 100

export function schoolName(given: string): string {
  const name = given.normalize('NFC').trim()
  if (name === '' || [...name].length > schoolNameMax || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name))
    throw new UsageError(`must have 1 to ${schoolNameMax} characters that can be seen`)
  return withoutCode(name)
}

export function schoolLogo(file: string): Logo {
  const logo = readLogo(file)
  if (typeof logo === 'string') throw new UsageError(logo)
  return logo
}

export function supportUrl(given: string): string {
  const address = /^(?:mailto:)?([^\s@<>"'?&:/]+@[^\s@<>"'?&:/]+\.[^\s@<>"'?&:/]+)$/.exec(given)?.[1]
  return address ? withoutCode(`mailto:${address}`) : https(given, ', or an e-mail address')
}

export const webAddress: Parser<string> = (given) => https(given)

function https(given: string, alternative = ''): string {
  const url = URL.parse(given)
  if (url?.protocol !== 'https:' || url.username || url.password)
    throw new UsageError(`must be an https address such as https://school.example/help${alternative}`)
  return withoutCode(url.href)
}

/** The code must be the only such number in a mail. */
function withoutCode(shown: string): string {
  if (/\d{6}/.test(shown))
    throw new UsageError('must have no six digits in a row: in a mail they would look like a code')
  return shown
}
