import { inEveryLanguage } from '../../../platform/lib/languages.ts'
import type { MailTexts } from './texts.ts'

export const mailTexts = await inEveryLanguage<MailTexts>((language) => import(`./${language}/mail.ts`))
