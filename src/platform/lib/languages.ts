/** The languages of mails and of the portal. The portal imports this file, so it must not use Node. */
export const languages = {
  en: { own: 'English', english: 'English' },
  fr: { own: 'Français', english: 'French' },
  es: { own: 'Español', english: 'Spanish' },
} as const

export type Language = keyof typeof languages

export const isLanguage = (tag: string): tag is Language => Object.hasOwn(languages, tag)
