/** The console's words in every language. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingKinds } from '../src/school/roster/findings.ts'
import { english } from '../web/src/console/text/en.ts'
import { spanish } from '../web/src/console/text/es.ts'
import { spanishFindings } from '../web/src/console/text/es-findings.ts'
import { french } from '../web/src/console/text/fr.ts'
import { frenchFindings } from '../web/src/console/text/fr-findings.ts'

/** Every text; functions are called with samples. */
function textsIn(words: unknown, path = ''): [path: string, text: string][] {
  if (typeof words === 'string') return [[path, words]]
  if (typeof words === 'function')
    return [1, 2].map((n) => [path, String(words(n, String(n)))] as [string, string])
  if (typeof words !== 'object' || words === null) return []
  return Object.entries(words).flatMap(([name, each]) => textsIn(each, `${path}.${name}`))
}

test('French has a narrow no-break space before : ; ? ! and within « »', () => {
  for (const [path, text] of [...textsIn(french), ...textsIn(frenchFindings)]) {
    assert.doesNotMatch(text.replaceAll('https://', ''), /[^\u202f][:;?!»]|«[^\u202f]/, `${path}: ${text}`)
    assert.doesNotMatch(text, /'/, path)
  }
})

test('Spanish opens every question', () => {
  for (const [path, text] of textsIn(spanish))
    assert.equal(text.split('?').length, text.split('¿').length, `${path}: ${text}`)
})

test('No text is left in English, and none is empty but where an action is final', () => {
  const of = { en: textsIn(english), fr: textsIn(french), es: textsIn(spanish) }
  // The same word in two languages.
  const alike =
    /^\.(name|nav\.(webhooks|home)|overview\.(webhooks|version|hour|picture)|webhooks\.title|roster\.(what|error|kinds|isFalse)|events\.)|^\.delivery\.(atDomain|to)/
  for (const language of ['fr', 'es'] as const) {
    assert.equal(of[language].length, of.en.length)
    for (const [i, [path, text]] of of[language].entries()) {
      assert.ok(text !== '' || path === '.actions.close.undo', path)
      if (text !== '' && !alike.test(path)) assert.notEqual(text, of.en[i]![1], `${language}${path}`)
    }
  }
})

test('Every kind of finding has words of its own in every language', () => {
  for (const findings of [frenchFindings, spanishFindings]) {
    assert.deepEqual(Object.keys(findings), Object.keys(findingKinds))
    for (const [code, text] of Object.entries(findings))
      assert.notEqual(text, findingKinds[code as keyof typeof findingKinds], code)
  }
})
