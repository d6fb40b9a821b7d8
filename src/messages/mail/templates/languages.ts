import { isLanguage, type Language } from '../../../platform/lib/languages.ts'
import { english } from './en.ts'
import { spanish } from './es.ts'
import { french } from './fr.ts'
import type { MailTexts } from './texts.ts'

export const mailTexts: Readonly<Record<Language, MailTexts>> = { en: english, fr: french, es: spanish }

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
