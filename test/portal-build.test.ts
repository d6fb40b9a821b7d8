/** How a build of the portal takes the place of another, while a service serves the one before. */
import assert from 'node:assert/strict'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startProcess } from './support/child.ts'
import { atLength } from './support/engines.ts'

const project = fileURLToPath(new URL('../', import.meta.url))

suite('A build of the portal', atLength, () => {
  test('adds its files and keeps those of the build before; without changes, npm ci makes none', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'chiron-build-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    for (const part of ['bin', 'src', 'web', 'package.json', 'package-lock.json', 'tsconfig.json'])
      cpSync(join(project, part), join(folder, part), {
        recursive: true,
        filter: (path) => !/\/web\/dist/.test(path),
      })
    symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'))
    const dist = join(folder, 'web/dist')
    const run = async (script: string) => {
      const child = startProcess('npm', ['run', '--silent', script], { cwd: folder })
      const seen = new Set<string>()
      const watch = setInterval(() => {
        for (const file of needed) if (!existsSync(join(dist, file))) seen.add(file)
      }, 1)
      const { code } = await child.exited
      clearInterval(watch)
      assert.equal(code, 0, child.output.err)
      assert.deepEqual([...seen], [], 'files that were missing for a while')
    }
    /** What a service that was started now would serve. */
    const filesOf = () => [
      'index.html',
      'worker.js',
      ...[...readFileSync(join(dist, 'index.html'), 'utf8').matchAll(/\/(web\/[\w.-]+)/g)].map(
        ([, file]) => file!,
      ),
    ]
    const state = () =>
      readdirSync(dist, { recursive: true, encoding: 'utf8' }).map((name) => [
        name,
        statSync(join(dist, name)).mtimeMs,
      ])
    let needed: string[] = []

    await run('prepare')
    const first = filesOf()
    assert.ok(first.length > 4)
    needed = first
    const before = state()
    await run('prepare')
    assert.deepEqual(state(), before)

    const change = () => appendFileSync(join(folder, 'web/src/first.js'), '// another\n')
    change()
    await run('prepare')
    const second = filesOf()
    assert.notDeepEqual(second, first)
    needed = second
    change()
    await run('build')
    const gone = first.filter((file) => !existsSync(join(dist, file)))
    assert.ok(gone.length > 0, 'a build before the one before is removed')
    assert.ok(gone.every((file) => !second.includes(file) && !filesOf().includes(file)))
    assert.deepEqual(
      readdirSync(join(folder, 'web')).filter((name) => name.startsWith('dist')),
      ['dist'],
    )
  })
})
