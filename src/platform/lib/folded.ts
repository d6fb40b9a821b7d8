const lengthMax = 500

/** Letters that Unicode does not decompose into a base letter and a mark. */
const plain: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i', ħ: 'h', ŧ: 't' },
  ...{ '’': "'", ʼ: "'" },
}
const notPlain = new RegExp(`[${Object.keys(plain).join('')}]`, 'g')

/**
 * Without case and accents, so that people are found however their names are typed. The store keeps names in this
 * form: a change here needs a migration that rebuilds the keys.
 */
export function folded(text: string): string {
  const bare = text.slice(0, lengthMax).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return bare.replace(notPlain, (letter) => plain[letter]!)
}
