export const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** People and files can put control characters into what is shown; a terminal must not obey them. */
export function visible(text: string): string {
  return text.replace(unseen, (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`)
}
