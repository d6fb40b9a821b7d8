/**
 * The tag that identifies a mail in reports of mail servers: in its Message-ID, its envelope id and its bounce
 * address. It ends in a MAC, so that nobody can report a bounce of a mail that they have not seen. Only letters of one
 * case: no digits that look like a code, and nothing is lost where addresses are lower-cased.
 */
import { timingSafeEqual } from 'node:crypto'
import { idFromBytes, idToBytes } from '../../platform/lib/random.ts'
import { type Keys, mac, type Secrets } from '../../platform/lib/secret.ts'

const letters = 'abcdefghijklmnop'
const idBytes = 22
const checkBytes = 6
const tagPattern = new RegExp(`(?<![A-Za-z])[A-Pa-p]{${2 * (idBytes + checkBytes)}}(?![A-Za-z])`, 'g')

export function tagOf(keys: Keys, mailId: string): string {
  let tag = ''
  for (const byte of Buffer.concat([idToBytes(mailId), checkOf(keys, mailId)]))
    tag += letters[byte >> 4]! + letters[byte & 15]!
  return tag
}

/** The mail whose genuine tag appears in the text. */
export function mailNamedIn(secrets: Secrets, text: string): string | undefined {
  for (const [tag] of text.matchAll(tagPattern)) {
    const digits = [...tag.toLowerCase()].map((letter) => letters.indexOf(letter).toString(16))
    const bytes = Buffer.from(digits.join(''), 'hex')
    const mailId = idFromBytes(bytes.subarray(0, idBytes))
    const check = bytes.subarray(idBytes)
    if (secrets.all.some((keys) => timingSafeEqual(checkOf(keys, mailId), check))) return mailId
  }
  return undefined
}

/** The envelope sender, so that a bounce names its mail. */
export function bounceAddress(tag: string, domain: string): string {
  return `bounce+${tag}@${domain}`
}

function checkOf(keys: Keys, mailId: string): Buffer {
  return mac(keys.bounce, 'mail', mailId).subarray(0, checkBytes)
}
