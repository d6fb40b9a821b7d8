/**
 * Plugins of the build: the first form as HTML, so that it shows before any script has arrived; the service worker with
 * its list of files; and compressed copies, made once instead of for every reader.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Plugin, Rolldown } from 'vite'
import { escapeHtml } from '../src/platform/lib/html.ts'
import { everyLanguage, type Language, languages } from '../src/platform/lib/languages.ts'

const assetsDir = 'web'
const source = (path: string) => join(import.meta.dirname, 'src', path)

/** What the form says; the text files have it, and much more. */
interface Words {
  readonly language: string
  readonly late: string
  readonly broken: { readonly reload: string }
  readonly footer: { about(school: string | null): string }
  readonly fields: { readonly email: string }
  readonly passkeys: { readonly signIn: string }
  readonly signIn: Readonly<
    Record<
      | 'title'
      | 'lead'
      | 'motto'
      | 'role'
      | 'veterinarian'
      | 'student'
      | 'shared'
      | 'sharedHint'
      | 'send'
      | 'newHere'
      | 'register',
      string
    >
  >
}

export function firstForm(): Plugin {
  const script = readFileSync(source('first.js'), 'utf8')
  const fileName = `${assetsDir}/first-${digest(script)}.js`
  return {
    name: 'first-form',
    transformIndexHtml: {
      order: 'pre',
      handler: async (html) => {
        const words = await Promise.all(everyLanguage.map(wordsIn))
        return html
          .replace('<!-- first script -->', `<script vite-ignore src="/${fileName}"></script>`)
          .replace('<!-- first form -->', () => words.map(formIn).join('\n'))
          .replace(/<!-- late (\S+) -->/, (_, href) => words.map((each) => lateIn(each, href)).join('\n'))
      },
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName, source: script })
    },
  }
}

type WordsIn = readonly [language: Language, words: Words]

async function wordsIn(language: Language): Promise<WordsIn> {
  const { text } = await import(`file://${source(`text/${language}/portal.ts`)}`)
  return [language, text]
}

const lateIn = ([language, { late, broken }]: WordsIn, href: string) =>
  `<p lang="${language}">${escapeHtml(late)} <a href="${href}">${escapeHtml(broken.reload)}</a></p>`

/** Not a form element: without the script, sending it would put the address into a URL. */
function formIn([language, words]: WordsIn): string {
  const { fields, signIn } = words
  const role = (name: 'veterinarian' | 'student') =>
    `<label><input type="radio" name="role" value="${name}"><span>${signIn[name]}</span></label>`
  const text = (words: string) => escapeHtml(words)
  return `<template lang="${language}">
<div class="entry first static">
<aside class="sky"><img src="/src/sign-in/constellation.svg" alt="" width="400" height="400"><p>${text(signIn.motto)}</p></aside>
<main class="page narrow">
<h1>${text(signIn.title)}</h1>
<p class="lead">${text(signIn.lead)}</p>
<div class="form">
<fieldset class="choice"><legend>${text(signIn.role)}</legend>${role('veterinarian')}${role('student')}</fieldset>
<div class="field"><label for="first-email">${text(fields.email)}</label>
<input id="first-email" type="email" autocomplete="email" inputmode="email" autocapitalize="off" spellcheck="false" dir="ltr"></div>
<div class="shared"><label class="check"><input type="checkbox" name="shared"><span>${text(signIn.shared)}</span></label>
<p class="hint">${text(signIn.sharedHint)}</p></div>
<div class="actions"><button type="button" class="button main" aria-disabled="true">${text(signIn.send)}</button></div>
</div>
<div class="actions"><button type="button" class="button quiet" aria-disabled="true">${text(words.passkeys.signIn)}</button></div>
<p class="aside">${text(signIn.newHere)} <a href="#/register">${text(signIn.register)}</a></p>
</main>
</div>
<footer class="foot"><p>${text(words.footer.about(null))}</p>
<p><label for="first-language">${text(words.language)}</label><select id="first-language" disabled><option>${languages[language].own}</option></select></p></footer>
</template>`
}

/** Its version follows from the files, so that a browser sees a new worker exactly when something has changed. */
export function serviceWorker(): Plugin {
  let folder = ''
  return {
    name: 'service-worker',
    apply: 'build',
    configResolved: (config) => {
      folder = join(config.root, config.build.outDir)
    },
    writeBundle(_options, bundle) {
      const page = readFileSync(join(folder, 'index.html'), 'utf8')
      const files = [...portalFiles(bundle), ...page.matchAll(/\/web\/[\w.-]+/g).map(([path]) => path)]
      const list = [...new Set(files), '/assets/mark.svg'].sort()
      const worker = readFileSync(source('worker.js'), 'utf8')
      const shell = { version: digest(page + worker + list.join()), files: list }
      writeFileSync(
        join(folder, 'worker.js'),
        worker.replace('__SHELL__', () => JSON.stringify(shell)),
      )
    },
  }
}

/** The chunks that the portal's page can ask for, and not those of other pages. */
function portalFiles(bundle: Rolldown.OutputBundle): string[] {
  const found = new Set<string>()
  const add = (name: string) => {
    const chunk = bundle[name]
    if (found.has(name) || chunk?.type !== 'chunk') return
    found.add(name)
    for (const next of [...chunk.imports, ...chunk.dynamicImports]) add(next)
  }
  for (const [name, chunk] of Object.entries(bundle))
    if (chunk.type === 'chunk' && chunk.isEntry && chunk.facadeModuleId?.endsWith('/web/index.html'))
      add(name)
  return [...found].map((name) => `/${name}`)
}

export function compressed(): Plugin {
  let folder = ''
  return {
    name: 'compressed',
    apply: 'build',
    configResolved: (config) => {
      folder = join(config.root, config.build.outDir, config.build.assetsDir)
    },
    closeBundle() {
      for (const name of readdirSync(folder)) {
        const path = join(folder, name)
        const content = readFileSync(path)
        writeFileSync(`${path}.br`, brotliCompressSync(content))
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
      }
    },
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 8)
