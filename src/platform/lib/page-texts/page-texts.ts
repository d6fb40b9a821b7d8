/** The texts of the service's own pages, one folder per language, and also of pages that features make. */
import { inEveryLanguage } from '../languages.ts'

export interface PageTexts {
  /** Below every page. */
  readonly links: { readonly help: string; readonly privacy: string }
  readonly notFound: { readonly title: string; readonly lead: string; readonly home: string }
  /** For a request of an application that cannot be answered by going back to it. */
  readonly refusal: { readonly title: string; readonly lead: string; readonly reason: string }
  /** Behind the QR code of a student's card. */
  readonly card: CardTexts
}

interface CardTexts {
  readonly verdicts: Readonly<Record<'active' | 'inactive' | 'expired' | 'none', CardVerdict>>
  readonly name: string
  readonly number: string
  readonly school: string
  readonly year: string
  readonly checked: string
  readonly validUntil: string
}

interface CardVerdict {
  readonly heading: string
  readonly lead: string
}

export const pageTexts = await inEveryLanguage<PageTexts>((language) => import(`./${language}/pages.ts`))
