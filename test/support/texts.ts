/** The texts of every language, found by the list of languages: a new language needs no change in a test. */
import type { Language } from '../../src/platform/lib/languages.ts'
import type { ConsoleText } from '../../web/src/text/en/console.ts'

export { everyLanguage } from '../../src/platform/lib/languages.ts'

/** The part that tests read. The type of all of them would bring the browser's types along. */
interface PortalText {
  readonly signIn: { readonly title: string }
  readonly fields: { readonly email: string }
  readonly sessions: { readonly unknownDevice: string; deviceOn(program: string, system: string): string }
  readonly footer: { readonly help: string; readonly privacy: string; about(school: string | null): string }
}

const textsOf = async <T>(language: Language, file: string): Promise<T> =>
  (await import(`../../web/src/text/${language}/${file}.ts`)).text

export const portalText = (language: Language) => textsOf<PortalText>(language, 'portal')
export const consoleText = (language: Language) => textsOf<ConsoleText>(language, 'console')
export const findingsText = (language: Language) => textsOf<Record<string, string>>(language, 'findings')

/** Every text with its path; functions are called with samples, so that templates are looked at too. */
export function textsIn(words: unknown, path = ''): [path: string, text: string][] {
  if (typeof words === 'string') return [[path, words]]
  if (typeof words === 'function')
    return [1, 2].map((n): [string, string] => [path, String(words(n, String(n)))])
  if (typeof words !== 'object' || words === null) return []
  return Object.entries(words).flatMap(([name, each]) => textsIn(each, `${path}.${name}`))
}
