/** Generators for the property tests. */
import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }
/** Like the unit `binary` of fast-check, which takes a second to list all characters first. */
export const anyCharacter = fc.nat(0x10_ffff - surrogates.count).map(
  (n) => String.fromCodePoint(n < surrogates.first ? n : n + surrogates.count),
  (text) => {
    const [one, another] = [...(text as string)]
    if (one === undefined || another !== undefined) throw new Error('not one character')
    const point = one.codePointAt(0)!
    return point < surrogates.first ? point : point - surrogates.count
  },
)
export const anyText = fc.string({ unit: anyCharacter, maxLength: 300 })
const charsOf = (letters: string, min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...letters), minLength: min, maxLength: max })
const lower = 'abcdefghijklmnopqrstuvwxyz'
export const alphanumeric = `${lower}${lower.toUpperCase()}0123456789`
export const id = charsOf(`${alphanumeric}_-`, 22, 22)

const atom = charsOf(`${alphanumeric}!#$%&'*+/=?^_\`{|}~-`, 1, 15)
const label = charsOf(alphanumeric, 1, 20).filter((text) => !/^xn/i.test(text))
const topLabel = charsOf(lower + lower.toUpperCase(), 2, 12).filter((text) => !/^xn/i.test(text))
export const validAddress = fc
  .tuple(
    fc.array(atom, { minLength: 1, maxLength: 4 }),
    fc.array(label, { minLength: 1, maxLength: 5 }),
    topLabel,
  )
  .map(([local, labels, top]) => `${local.join('.')}@${[...labels, top].join('.')}`)

const withExtras = fc
  .tuple(validAddress, fc.nat(300), fc.string({ unit: anyCharacter, maxLength: 2 }))
  .map(([text, at, extra]) => text.slice(0, at) + extra + text.slice(at))
const international = fc
  .tuple(atom, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), topLabel)
  .map(([local, name, top]) => `${local}@${name}.${top}`)

/** Addresses with unexpected characters, and international ones. */
export const nearlyAddress = fc.oneof(withExtras, international)

export const json = fc
  .jsonValue({ maxDepth: 6, stringUnit: anyCharacter })
  .filter((v) => !JSON.stringify(v).includes('__proto__'))

export const nearlyJson = fc
  .tuple(json, fc.nat(200), fc.string({ unit: anyCharacter, maxLength: 2 }))
  .map(([v, at, extra]) => {
    const text = JSON.stringify(v)
    return text.slice(0, at) + extra + text.slice(at + 1)
  })

const escaped = (name: string) =>
  `"${[...Array(name.length).keys()].map((i) => `\\u${name.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`

/** JSON with a duplicate member name at any depth, written plainly or with escapes. */
export const jsonWithTwins = fc
  .tuple(anyText, json, json, json, fc.array(fc.constantFrom('[', '{'), { maxLength: 20 }), fc.boolean())
  .map(([name, a, b, c, outer, spelt]) => {
    const first = JSON.stringify(name)
    const between = name === '' ? [] : [`"":${JSON.stringify(b)}`]
    const members = [
      `${first}:${JSON.stringify(a)}`,
      ...between,
      `${spelt ? escaped(name) : first} :${JSON.stringify(c)}`,
    ]
    return outer.reduce(
      (inner, kind) => (kind === '[' ? `[1,${inner}]` : `{"a":${inner}}`),
      `{${members.join(',')}}`,
    )
  })

/** Addresses outside and inside the trusted proxies 10.0.0.0/8 and 2001:db8:ffff::/48. */
export const outside = fc.oneof(
  fc.ipV4().filter((ip) => !ip.startsWith('10.')),
  fc.ipV6().filter((ip) => !/^2001:0?db8:ffff|^::ffff:|\./i.test(ip)),
)
export const inside = fc.ipV4().map((ip) => ip.replace(/^\d+/, '10'))
export const hopText = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(',', ''))

const mozilla = 'Mozilla/5.0'
const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'
export const userAgents: [userAgent: string | undefined, device: string][] = [
  [`${mozilla} (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0`, 'Firefox on Linux'],
  [`${mozilla} (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0`, 'Firefox on Android'],
  [
    `${mozilla} (iPhone; CPU iPhone OS 18_0 like Mac OS X) ${webkit} FxiOS/140.0 Mobile/1 Safari/605`,
    'Firefox on iPhone',
  ],
  [`${mozilla} (Windows NT 10.0; Win64; x64) ${webkit} Chrome/156.0.0.0 Safari/537.36`, 'Chrome on Windows'],
  [
    `${mozilla} (Windows NT 10.0; Win64; x64) ${webkit} Chrome/156.0 Safari/537.36 Edg/156.0`,
    'Edge on Windows',
  ],
  [
    `${mozilla} (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Version/18.0 Safari/605.1.15`,
    'Safari on macOS',
  ],
  [
    `${mozilla} (Linux; Android 14; SM) ${webkit} SamsungBrowser/27.0 Chrome/125 Mobile Safari/537.36`,
    'Samsung Internet on Android',
  ],
  [`${mozilla} (X11; CrOS x86_64 1) ${webkit} Chrome/156.0 Safari/537.36 OPR/120.0`, 'Opera on ChromeOS'],
  [
    `${mozilla} (iPad; CPU OS 18_0 like Mac OS X) ${webkit} Version/18.0 Mobile/1 Safari/604.1`,
    'Safari on iPad',
  ],
  ['curl/8.9.1', 'curl'],
  ['node', 'Node.js'],
  ['python-requests/2.32', 'Python'],
  [`${mozilla} (X11; Linux x86_64)`, 'Linux'],
  ['', 'Unknown device'],
  [undefined, 'Unknown device'],
  ['<script>alert(1)</script>', 'Unknown device'],
]
