/** The texts of the portal, the console and the mails, in every language. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailTexts } from '../src/messages/mail/templates/languages.ts'
import { findingKinds } from '../src/school/roster/findings.ts'
import { consoleText, everyLanguage, findingsText, portalText, textsIn } from './support/texts.ts'

const translations = everyLanguage.filter((language) => language !== 'en')

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
    /^\.(name|nav\.(webhooks|home)|overview\.(webhooks|version|hour|picture)|webhooks\.title|providers\.(kinds|steps\.(pkce|secret))|roster\.(what|error|kinds|isFalse)|events\.)|^\.delivery\.(atDomain|to)/
  for (const language of translations) {
    const texts = textsIn(await consoleText(language))
    assert.equal(texts.length, english.length)
    for (const [i, [path, text]] of texts.entries()) {
      assert.ok(text !== '' || path === '.actions.close.undo', path)
      if (text !== '' && !alike.test(path)) assert.notEqual(text, english[i]![1], `${language}${path}`)
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
  }
  const ones = new Proxy({}, { get: () => '1' }) as Record<string, string>
  for (const language of everyLanguage) {
    const { reasons, skipLead } = (await consoleText(language)).roster
    const changing = ['numbers', 'addresses']
    for (const [code, reason] of Object.entries(reasons))
      if (!changing.includes(code)) assert.doesNotMatch(reason(ones), severalOf[language]!)
    assert.doesNotMatch(skipLead(1, '1'), severalOf[language]!)
  }
})
