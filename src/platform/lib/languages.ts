/** The languages of mails and of the portal. The portal imports this file, so it must not use Node. */
export const languages = {
  en: { own: 'English', english: 'English' },
  fr: { own: 'Français', english: 'French' },
  es: { own: 'Español', english: 'Spanish' },
} as const

export type Language = keyof typeof languages

export const isLanguage = (tag: string): tag is Language => Object.hasOwn(languages, tag)

/** Best supported language for an Accept-Language header (RFC 9110 §12.5.4), or English. */
export function chooseLanguage(header: string | undefined): Language {
  const wishes = (header ?? '')
    .slice(0, 500)
    .split(',')
    .map((wish, order) => {
      const [tag = '', ...parameters] = wish.trim().toLowerCase().split(';')
      const q = parameters
        .map((p) => /^\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*$/.exec(p)?.[1])
        .find((v) => v !== undefined)
      return { primary: tag.trim().split('-')[0]!, weight: q === undefined ? 1 : Number(q), order }
    })
    .filter((wish) => wish.weight > 0)
    .sort((a, b) => b.weight - a.weight || a.order - b.order)
  for (const { primary } of wishes) if (isLanguage(primary)) return primary
  return 'en'
}
