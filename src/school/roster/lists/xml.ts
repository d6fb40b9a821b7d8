/**
 * Splits XML into tags and text as it streams in. Made for the parts of a workbook, which programs write: it trusts the
 * nesting, drops namespaces, and refuses a document type, because entity definitions can expand without limit.
 */
import { StringDecoder } from 'node:string_decoder'

export type XmlToken =
  | { readonly kind: 'open'; readonly name: string; readonly attributes: Attributes }
  | { readonly kind: 'close'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string }

export type Attributes = ReadonlyMap<string, string>

export class XmlError extends Error {
  override readonly name = 'XmlError'
}

/** Longer than any tag of a workbook: the longest list the ranges of a rule, which Excel splits as cells are moved. */
const tagCharactersMax = 256 * 1024
/** Of a tag, a comment, or text without a tag. */
const restCharactersMax = 1024 * 1024

/** One batch of tokens per chunk. */
export async function* xmlTokens(chunks: AsyncIterable<Buffer>): AsyncGenerator<XmlToken[]> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of chunks) {
    const tokens: XmlToken[] = []
    rest = takeTokens(rest + decoder.write(chunk), tokens)
    if (rest.length > restCharactersMax) throw new XmlError('a tag has no end')
    yield tokens
  }
  if (rest.trim() !== '') throw new XmlError('the end is missing')
}

/** Returns the incomplete rest. */
function takeTokens(text: string, tokens: XmlToken[]): string {
  let at = 0
  while (at < text.length) {
    const open = text.indexOf('<', at)
    if (open < 0) {
      // An entity may be cut in two, so text waits for the next tag.
      return text.slice(at)
    }
    if (open > at) tokens.push({ kind: 'text', text: withoutEntities(text.slice(at, open)) })
    const special = specialAt(text, open)
    if (special === 'more') return text.slice(open)
    if (special) {
      if (special.text !== '') tokens.push({ kind: 'text', text: special.text })
      at = special.end
      continue
    }
    const close = endOfTag(text, open)
    if ((close < 0 ? text.length : close) - open > tagCharactersMax) throw new XmlError('a tag is too long')
    if (close < 0) return text.slice(open)
    takeTag(text.slice(open + 1, close), tokens)
    at = close + 1
  }
  return ''
}

const specials = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const

function specialAt(text: string, at: number): { text: string; end: number } | 'more' | null {
  const start = text.slice(at, at + 9)
  if (start.length < 9 && specials.some(([open]) => open.startsWith(start))) return 'more'
  const found = specials.find(([open]) => start.startsWith(open))
  if (!found) {
    if (/^<!/.test(start)) throw new XmlError('it has a document type')
    return null
  }
  const [open, close] = found
  const end = text.indexOf(close, at + open.length)
  if (end < 0) return 'more'
  return {
    text: open === '<![CDATA[' ? text.slice(at + open.length, end) : '',
    end: end + close.length,
  }
}

/** A value in quotes may hold a `>`. Looks at each character once. */
function endOfTag(text: string, open: number): number {
  const mark = /["'>]/g
  mark.lastIndex = open + 1
  for (;;) {
    const found = mark.exec(text)
    if (!found) return -1
    if (found[0] === '>') return found.index
    const end = text.indexOf(found[0], found.index + 1)
    if (end < 0) return -1
    mark.lastIndex = end + 1
  }
}

/**
 * Also matches names without a value and values without a name, which are ignored. If it failed on them, it would be
 * tried again from each of their characters, and a long tag would take hours.
 */
const attribute = /([^\s=/"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'))?|"[^"]*"|'[^']*'/g

function takeTag(tag: string, tokens: XmlToken[]): void {
  if (tag.startsWith('/')) {
    tokens.push({ kind: 'close', name: localName(tag.slice(1).trim()) })
    return
  }
  const end = /[\s/]/.exec(tag)?.index ?? tag.length
  const name = localName(tag.slice(0, end))
  const attributes = new Map<string, string>()
  for (const [, key, double, single] of tag.slice(end).matchAll(attribute)) {
    const value = double ?? single
    if (value !== undefined) attributes.set(localName(key!), withoutEntities(value))
  }
  tokens.push({ kind: 'open', name, attributes })
  if (tag.endsWith('/')) tokens.push({ kind: 'close', name })
}

const localName = (name: string) => name.slice(name.indexOf(':') + 1)

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function withoutEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replaceAll(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (all, hex, decimal, name) => {
    if (name !== undefined) return named[name] ?? all
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : all
  })
}
