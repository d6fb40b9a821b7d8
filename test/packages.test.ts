/** What an installation contains, and which scripts it runs. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const read = (name: string) => JSON.parse(readFileSync(`${root}${name}`, 'utf8'))
const manifest = read('package.json')
const locked = Object.entries(
  read('package-lock.json').packages as Record<
    string,
    { version?: string; resolved?: string; integrity?: string; hasInstallScript?: boolean }
  >,
)

test('The lock file names no host that packages come from', () => {
  assert.ok(locked.length > 100)
  for (const [path, { resolved = '' }] of locked) assert.doesNotMatch(resolved, /:\/\//, path)
})

test('Whether a package may run a script at installation is decided for each that has one', () => {
  const withScripts = locked.filter(([path, one]) => one.hasInstallScript && existsSync(`${root}${path}`))
  assert.ok(withScripts.length > 0)
  for (const [path] of withScripts) {
    const name = path.split('node_modules/').at(-1)!
    assert.equal(typeof manifest.allowScripts[name], 'boolean', name)
  }
})

test('Every direct dependency has its line in docs/dependencies.md', () => {
  const told = readFileSync(`${root}docs/dependencies.md`, 'utf8')
  const clients = read('test/clients/package.json')
  const names = [
    manifest.dependencies,
    manifest.optionalDependencies,
    manifest.devDependencies,
    clients.devDependencies,
  ].flatMap(Object.keys)
  for (const name of names) if (!name.startsWith('@types/')) assert.ok(told.includes(name), name)
})

test('The Node that runs is in the lock for each platform, with its hash, and no script brings it', () => {
  const platforms = Object.entries(manifest.optionalDependencies as Record<string, string>)
  assert.ok(platforms.length >= 4)
  assert.equal(new Set(platforms.map(([, version]) => version)).size, 1)
  for (const [name, version] of platforms) {
    const found = locked.find(([path]) => path === `node_modules/${name}`)?.[1]
    assert.equal(found?.version, version, name)
    assert.match(found?.integrity ?? '', /^sha512-/, name)
    assert.notEqual(found?.hasInstallScript, true, name)
  }
  assert.equal(process.version, `v${platforms[0]![1]}`)
})
