/**
 * The languages of mails and pages; docs/translating.md says how to add one. The portal imports this file, so it must
 * not use Node.
 */
export const languages = {
  en: { own: 'English', english: 'English' },
  fr: { own: 'Français', english: 'French' },
  es: { own: 'Español', english: 'Spanish' },
  de: { own: 'Deutsch', english: 'German' },
} as const

export type Language = keyof typeof languages

export const everyLanguage = Object.keys(languages) as Language[]

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

interface Translation<Texts> {
  readonly text: Texts
}

/** The texts of every language; `load` imports the file of one. A missing file ends the start of the service. */
export async function inEveryLanguage<Texts>(
  load: (language: Language) => Promise<Translation<Texts>>,
): Promise<Readonly<Record<Language, Texts>>> {
  const loaded = everyLanguage.map(async (language) => [language, (await load(language)).text] as const)
  return Object.fromEntries(await Promise.all(loaded)) as Record<Language, Texts>
}
