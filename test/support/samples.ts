/** Pieces of code in the documentation, which tests run. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = [
  'README.md',
  'docs/applications.md',
  'docs/integrating.md',
  'docs/school-sign-in.md',
  'docs/webhooks.md',
]

export interface Sample {
  readonly page: string
  readonly language: string
  readonly text: string
}

/** Some are indented, as parts of a list. */
export const samples: readonly Sample[] = pages.flatMap((page) =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].map(
    ([, indent, language, text]) => ({
      page,
      language: language!,
      text: text!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  ),
)

/** The only one that contains this word. */
export function sampleIn(page: string, language: string, word = ''): string {
  const found = samples.filter(
    (one) => one.page === page && one.language === language && one.text.includes(word),
  )
  assert.equal(found.length, 1, `${page} has one sample in ${language} with "${word}"`)
  return found[0]!.text
}
