/**
 * Text from people, files and servers may contain control characters, which a terminal or mail program must not obey.
 * They are written as `\u009b` instead: C0, C1 and DEL, invisible and direction characters, line separators.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const unseenButBreaks = /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--\n]/gv

const named = (character: string) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`
/** Like JSON, it writes a character beyond the first plane as two units. */
const escaped = (character: string) => character.split('').map(named).join('')

/** For one line, or a piece of one. */
export function visible(text: string): string {
  return text.replace(unseen, named)
}

/** Keeps line breaks, so pieces from elsewhere must have passed `visible` before. */
export function visibleLines(text: string): string {
  return text.replace(unseenButBreaks, named)
}

/** JSON escapes only C0 itself. */
export function visibleJson(value: unknown, indent = 0): string {
  return visibleJsonText(JSON.stringify(value, null, indent))
}

/** For text that is already JSON. */
export function visibleJsonText(json: string): string {
  return json.replace(unseenButBreaks, escaped)
}
