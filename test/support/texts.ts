/** The texts of every language, found by the list of languages: a new language needs no change in a test. */
import { type Language, languages } from '../../src/platform/lib/languages.ts'
import type { ConsoleText } from '../../web/src/console/text/en.ts'

export const everyLanguage = Object.keys(languages) as Language[]

/** The part that tests read. The type of all of them would bring the browser's types along. */
interface PortalText {
  readonly signIn: { readonly title: string }
  readonly fields: { readonly email: string }
  readonly sessions: { readonly unknownDevice: string }
  readonly footer: { readonly help: string; readonly privacy: string; about(school: string | null): string }
}

/** A file of texts exports one object. */
async function textsOf<T>(path: string): Promise<T> {
  const [texts] = Object.values(await import(new URL(`../../web/src/${path}.ts`, import.meta.url).href))
  return texts as T
}

export const portalText = (language: Language) => textsOf<PortalText>(`text/${language}`)
export const consoleText = (language: Language) => textsOf<ConsoleText>(`console/text/${language}`)
/** The service words findings in English, so English has no such file. */
export const findingsText = (language: Exclude<Language, 'en'>) =>
  textsOf<Record<string, string>>(`console/text/${language}-findings`)

/** Every text with its path; functions are called with samples, so that templates are looked at too. */
export function textsIn(words: unknown, path = ''): [path: string, text: string][] {
  if (typeof words === 'string') return [[path, words]]
  if (typeof words === 'function')
    return [1, 2].map((n): [string, string] => [path, String(words(n, String(n)))])
  if (typeof words !== 'object' || words === null) return []
  return Object.entries(words).flatMap(([name, each]) => textsIn(each, `${path}.${name}`))
}
