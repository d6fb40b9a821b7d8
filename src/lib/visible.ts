const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** People and files can put control characters into what is shown; a terminal or mail program must not obey them. */
export function visible(text: string): string {
  return text.replace(unseen, (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`)
}

/** JSON escapes only some of them itself. */
export function visibleJson(fields: object): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(fields).replace(unseen, (character) => character.split('').map(escaped).join(''))
}
