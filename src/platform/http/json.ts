/**
 * Strict JSON. `JSON.parse` keeps the last of two members with the same name and accepts `__proto__`; two readers could
 * then see different bodies, so both are refused.
 */
import { AppError } from '../../errors.ts'

const nestingMax = 32
const utf8 = new TextDecoder('utf-8', { fatal: true })

export function parseJsonBody(bytes: Buffer): unknown {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw malformed('The body is not UTF-8.')
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed('The body does not parse as JSON.')
  }
  inspect(text)
  return value
}

function malformed(detail: string): AppError {
  return new AppError('malformed-json', detail)
}

/** The text is known to be valid JSON; only nesting and member names are checked. */
function inspect(text: string): void {
  const open: (Set<string> | null)[] = []
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '{' || character === '[') {
      if (open.length === nestingMax) throw malformed(`The body is nested more than ${nestingMax} deep.`)
      open.push(character === '{' ? new Set() : null)
    } else if (character === '}' || character === ']') {
      open.pop()
    } else if (character === '"') {
      const end = endOfString(text, at)
      if (isName(text, end)) checkName(open.at(-1)!, JSON.parse(text.slice(at, end + 1)))
      at = end
    }
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

function isName(text: string, end: number): boolean {
  let at = end + 1
  while (text[at] === ' ' || text[at] === '\t' || text[at] === '\n' || text[at] === '\r') at++
  return text[at] === ':'
}

function checkName(seen: Set<string>, name: string): void {
  if (name === '__proto__') throw malformed('A member is named __proto__.')
  if (seen.has(name)) throw malformed('Two members of one object have the same name.')
  seen.add(name)
}
