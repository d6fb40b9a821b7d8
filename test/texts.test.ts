/** The texts of the portal, the console and the mails, in every language. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailTexts } from '../src/messages/mail/templates/languages.ts'
import type { Language } from '../src/platform/lib/languages.ts'
import { pageTexts } from '../src/platform/lib/page-texts/page-texts.ts'
import { findingKinds } from '../src/school/roster/findings.ts'
import { consoleText, everyLanguage, findingsText, portalText, textsIn } from './support/texts.ts'

const translations = everyLanguage.filter((language) => language !== 'en')

/** A stand-in for a value of a text: it shows which value, or which of its members, the text has. */
const marker = (name: string): unknown =>
  new Proxy(() => {}, {
    get: (_target, member) =>
      member === Symbol.toPrimitive ? () => `⟦${name}⟧` : marker(`${name}.${String(member)}`),
  })
const markers = [0, 1, 2, 3].map((i) => marker(String(i)))

/** The values that a text shows, in no order: languages put them where they want. */
function valuesIn(words: unknown, path = ''): string[] {
  if (typeof words === 'string')
    return [
      `${path}: ${
        words
          .match(/⟦[^⟧]+⟧/g)
          ?.sort()
          .join(' ') ?? ''
      }`,
    ]
  if (typeof words === 'function') return valuesIn(words(...markers), path)
  if (typeof words !== 'object' || words === null) return []
  return Object.entries(words).flatMap(([name, each]) => valuesIn(each, `${path}.${name}`))
}

test('Every language has every text of English, with the same values', async () => {
  const textsOf = async (language: Language) => ({
    portal: await portalText(language),
    console: await consoleText(language),
    mail: mailTexts[language],
    page: pageTexts[language],
  })
  const english = valuesIn(await textsOf('en')).sort()
  assert.ok(english.length > 1_500 && english.filter((each) => each.includes('⟦')).length > 200)
  for (const language of translations)
    assert.deepEqual(valuesIn(await textsOf(language)).sort(), english, language)
})

test('German has its own quotation marks, in pairs, and no space before a colon, semicolon or question mark', async () => {
  const texts = [portalText, consoleText, findingsText].map((textOf) => textOf('de'))
  for (const [path, text] of textsIn([...(await Promise.all(texts)), mailTexts.de, pageTexts.de])) {
    assert.doesNotMatch(text, /['«»”]|\s[:;?!]/, `${path}: ${text}`)
    assert.equal(text.split('„').length, text.split('“').length, `${path}: ${text}`)
  }
})

test('French has a narrow no-break space before : ; ? ! and within « » in the console', async () => {
  for (const [path, text] of [...textsIn(await consoleText('fr')), ...textsIn(await findingsText('fr'))]) {
    assert.doesNotMatch(text.replaceAll('https://', ''), /[^\u202f][:;?!»]|«[^\u202f]/, `${path}: ${text}`)
    assert.doesNotMatch(text, /'/, path)
  }
})

test('French has no space that could break before a colon, semicolon, question mark or guillemet', async () => {
  const texts = [...textsIn(await portalText('fr')), ...textsIn(mailTexts.fr)]
  assert.ok(texts.length > 200)
  for (const [path, text] of texts) assert.doesNotMatch(text, / [:;?!»]|« /, `${path}: ${text}`)
})

test('Spanish opens every question', async () => {
  for (const [path, text] of textsIn(await consoleText('es')))
    assert.equal(text.split('?').length, text.split('¿').length, `${path}: ${text}`)
})

test('No text is left in English, and none is empty but where an action is final', async () => {
  const english = textsIn(await consoleText('en'))
  // The same word in two languages.
  const alike =
    /^\.(name|nav\.(webhooks|applications|home)|overview\.(webhooks|version|hour|picture)|webhooks\.title|providers\.(kinds|steps\.(pkce|secret))|applications\.(title|options|sessions|kinds\.service)|roster\.(what|error|kinds|isFalse)|events\.)|^\.delivery\.(atDomain|to)/
  const words: Partial<Record<Language, readonly string[]>> = {
    de: ['Schema', 'Status', 'Name', 'Claims', 'URL (https)', 'App', 'Person'],
  }
  for (const language of translations) {
    const texts = textsIn(await consoleText(language))
    assert.equal(texts.length, english.length)
    for (const [i, [path, text]] of texts.entries()) {
      assert.ok(text !== '' || path === '.actions.close.undo', path)
      if (text !== '' && !alike.test(path) && !words[language]?.includes(text))
        assert.notEqual(text, english[i]![1], `${language}${path}`)
    }
  }
})

test('A status agrees with several people', async () => {
  for (const language of translations) {
    const { statuses, statusesMany } = await consoleText(language)
    for (const [status, word] of Object.entries(statuses))
      assert.notEqual(statusesMany[status as keyof typeof statuses], word, language)
  }
})

test('Every kind of finding has words of its own in every language', async () => {
  for (const language of translations) {
    const findings = await findingsText(language)
    assert.deepEqual(Object.keys(findings), Object.keys(findingKinds))
    for (const [code, text] of Object.entries(findings))
      assert.notEqual(text, findingKinds[code as keyof typeof findingKinds], code)
  }
})

test('One is not several: the reasons of holds and the offer to skip rows, with 1 everywhere', async () => {
  const severalOf: Record<string, RegExp> = {
    en: /\b1 (current classes|students|teachers|enrolments|rows)|skip them/,
    fr: /\b1 (cours actuels|étudiants|enseignants|inscriptions|lignes)|aient\b(?= plus|\.)|les ignorer/,
    es: /\b1 (clases|estudiantes|profesores|matrículas|filas)|irían|quedarían|omitirlas/,
    de: /\b1 (Studierende|Lehrende|Kurse|Belegungen|Konten|Zeilen)|würden|wären|hätten|bekämen|ihre Datensätze/,
  }
  const each = (shown: string) => new Proxy({}, { get: () => shown }) as Record<string, string>
  for (const language of everyLanguage) {
    const { reasons, skipLead } = (await consoleText(language)).roster
    const several = severalOf[language]
    for (const [code, reason] of Object.entries(reasons)) {
      if (['numbers', 'addresses'].includes(code)) continue
      if (several) assert.doesNotMatch(reason(each('1')), several)
      // It counts nothing.
      if (code === 'stale') continue
      assert.notEqual(reason(each('1')).replaceAll('1', '2'), reason(each('2')), `${language}.${code}`)
    }
    if (several) assert.doesNotMatch(skipLead(1, '1'), several)
    assert.notEqual(skipLead(1, '1').replaceAll('1', '2'), skipLead(2, '2'), language)
  }
})
