import type { Language } from '../../../platform/lib/languages.ts'
import { english } from './en.ts'
import { spanish } from './es.ts'
import { french } from './fr.ts'
import type { MailTexts } from './texts.ts'

export const mailTexts: Readonly<Record<Language, MailTexts>> = { en: english, fr: french, es: spanish }
