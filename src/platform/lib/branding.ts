/** The operator's branding in the portal, in mails and on pages. Without settings, the name is Chiron. */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'

export interface Branding {
  readonly name: string | null
  readonly logo: Logo | null
  /** Where people get help: an https or a mailto address. */
  readonly support: string | null
  readonly privacy: string | null
}

export interface Logo {
  /** Contains a hash of the content. */
  readonly path: string
  readonly type: 'image/svg+xml' | 'image/png'
  readonly bytes: Buffer
}

export const ownBranding: Branding = { name: null, logo: null, support: null, privacy: null }

export const brandOf = ({ name }: Branding) => name ?? 'Chiron'

/** The address that people read. */
export const linkText = (href: string) => href.replace(/^mailto:/, '')

const logoBytesMax = 200_000
const pngStart = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** The logo, or an error about the file. */
export function readLogo(file: string): Logo | string {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats?.isFile()) return `names a file that does not exist: ${file}`
  if (stats.size > logoBytesMax) return `is larger than ${logoBytesMax / 1_000} kB`
  const bytes = readFileSync(file)
  const logo = (type: Logo['type'], ending: string): Logo => {
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
    return { path: `/assets/school-${hash}.${ending}`, type, bytes }
  }
  if (bytes.subarray(0, pngStart.length).equals(pngStart)) return logo('image/png', 'png')
  const fault = svgFault(bytes)
  return fault ?? logo('image/svg+xml', 'svg')
}

/** What an SVG must not contain. Pages show it only as an image, but people may open it directly. */
const unwanted: readonly [pattern: RegExp, what: string][] = [
  [/<!(?!--)(?!\[CDATA\[)/i, 'a document type or an entity'],
  [/<\?(?!xml\s)/i, 'a processing instruction'],
  [/<(?:[\w-]+:)?script\b/i, 'a script'],
  [/<(?:[\w-]+:)?(?:foreignObject|iframe|object|embed|audio|video)\b/i, 'content of another kind'],
  [/[\s"'/]on\w+\s*=/i, 'an event handler'],
  [/javascript:/i, 'a script'],
  [
    /(?:href|src)\s*=\s*(?:"(?!#|data:image\/(?:png|jpeg);)|'(?!#|data:image\/(?:png|jpeg);)|[^\s"'])/i,
    'an external reference',
  ],
  [/url\(\s*(?!["']?#)/i, 'an external reference'],
  [/@import|\\/i, 'an external reference'],
]

function svgFault(bytes: Buffer): string | null {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return 'must be an svg or png file'
  }
  if (!/^\s*(?:<\?xml\s[^>]*\?>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*)*<svg[\s>]/.test(text))
    return 'must be an svg or png file'
  // References to characters could hide the rest.
  const plain = text.replace(/&#(x?)([0-9a-f]+);?/gi, (_, hex, digits) => {
    const code = Number.parseInt(digits, hex ? 16 : 10)
    return code <= 0x10ffff ? String.fromCodePoint(code) : ''
  })
  const found = unwanted.find(([pattern]) => pattern.test(plain) || pattern.test(text))
  return found ? `is an svg with ${found[1]}, which is not served` : null
}
