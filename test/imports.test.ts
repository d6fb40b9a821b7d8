import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../src/', import.meta.url))

interface Import {
  readonly from: string
  /** A path below src/ for a file of ours, else the package. */
  readonly to: string
  readonly typeOnly: boolean
}

const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .sort()
const imports = files.flatMap(importsOf)

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  const statements = [
    ...text.matchAll(
      /^(?:import|export)\s+(type\s+)?((?:\w+\s*,\s*)?(?:\{[^}]*\}|\*(?:\s+as\s+\w+)?)|\w+)\s+from\s+['"]([^'"]+)['"]/gm,
    ),
    ...text.matchAll(/^import\s*()()['"]([^'"]+)['"]/gm),
    ...text.matchAll(/\bimport\(()()\s*['"]([^'"]+)['"]/g),
  ]
  return statements.map(([, type, names, target]) => ({
    from: file,
    to: target!.startsWith('.') ? posix.join(posix.dirname(file), target!) : target!,
    typeOnly: Boolean(type) || onlyTypes(names!),
  }))
}

function onlyTypes(names: string): boolean {
  const named = /^\{([\s\S]*)\}$/.exec(names.trim())?.[1]
  if (named === undefined) return false
  const each = named.split(',').map((name) => name.trim())
  return each.filter(Boolean).every((name) => name.startsWith('type '))
}

const isOurs = ({ to }: Import) => to.endsWith('.ts') && !to.startsWith('../')
const top = (path: string) => (path.includes('/') ? path.split('/')[0]! : '')
const isFeatureFile = (path: string) =>
  top(path) !== '' && !['lib', 'db', 'http', 'commands'].includes(top(path))
const mainFile = (feature: string) => {
  const own = `${feature}/${feature}.ts`
  return files.includes(own) ? own : `${feature}/outbox.ts`
}
const show = ({ from, to }: Import) => `${from} → ${to}`

function noneOf(wrong: (one: Import) => boolean): void {
  assert.deepEqual(imports.filter(wrong).map(show), [])
}

test('The reader of imports finds them', () => {
  assert.ok(files.length > 40 && imports.length > 200)
  assert.ok(imports.some(({ from, to }) => from === 'main.ts' && to === 'cli.ts'))
  for (const { to } of imports.filter(isOurs)) assert.ok(files.includes(to), to)
})

test('lib and errors import nothing of ours but each other', () => {
  noneOf(
    (one) => /^(lib\/|errors\.ts$)/.test(one.from) && isOurs(one) && !/^(lib\/|errors\.ts$)/.test(one.to),
  )
})

test('Only main, cli, app and commands read the settings', () => {
  noneOf(({ from, to }) => to === 'config.ts' && !/^(main|cli|app)\.ts$|^commands\//.test(from))
})

test('Routes import their own feature, http, lib, errors, the reading of fields, and of other features the main file', () => {
  const isRoutes = (path: string) => /\/(routes|well-known|mailbox)\.ts$/.test(path)
  noneOf((one) => {
    if (!isRoutes(one.from) || !isOurs(one)) return false
    if (['http', 'lib', top(one.from)].includes(top(one.to)) || one.to === 'errors.ts') return false
    if (one.to === 'people/fields.ts') return false
    return !(isFeatureFile(one.to) && one.to === mainFile(top(one.to)))
  })
})

test('Stores import db/db.ts, errors, lib, events and what an account is, and types', () => {
  noneOf(
    (one) =>
      basename(one.from) === 'store.ts' &&
      isOurs(one) &&
      !one.typeOnly &&
      !/^(db\/db\.ts|errors\.ts|events\/events\.ts|people\/people\.ts|lib\/.*)$/.test(one.to),
  )
})

test('Nobody imports another feature’s store, and only app.ts imports its routes', () => {
  noneOf(({ from, to }) => basename(to) === 'store.ts' && dirname(from) !== dirname(to))
  noneOf(({ from, to }) => basename(to) === 'routes.ts' && dirname(from) !== dirname(to) && from !== 'app.ts')
})

test('A feature imports of another feature its main file, or a part that is pure', () => {
  const pure = (path: string) =>
    imports.every(({ from, to }) => from !== path || /^(lib|node:)|^errors\.ts$/.test(to))
  noneOf((one) => {
    const foreign = isFeatureFile(one.from) && isFeatureFile(one.to) && top(one.from) !== top(one.to)
    if (!foreign || one.typeOnly || basename(one.from) === 'routes.ts') return false
    return one.to !== mainFile(top(one.to)) && !pure(one.to)
  })
})

test('Mail imports nothing of the features that send mails', () => {
  noneOf(
    ({ from, to }) => top(from) === 'mail' && /^(sign-in|session|veterinarian|student|roster)\//.test(to),
  )
})

test('Features do not import http, but for what serves HTTP', () => {
  noneOf(
    ({ from, to }) =>
      isFeatureFile(from) && top(to) === 'http' && !/\/(routes|well-known|mailbox)\.ts$/.test(from),
  )
})

test('Only the command that loads it knows the demo school', () => {
  noneOf(({ from, to }) => to.startsWith('../') && from !== 'commands/demo.ts')
})

test('Only app.ts and commands open engines, and only db knows their drivers', () => {
  noneOf(({ from, to }) => to === 'db/open.ts' && !/^app\.ts$|^commands\//.test(from))
  noneOf(({ from, to }) => /^(node:sqlite|pg|postgres)$/.test(to) && top(from) !== 'db')
  noneOf(({ from, to }) => /^db\/(sqlite|postgres)\.ts$/.test(to) && top(from) !== 'db')
})

test('Only session/jwt.ts imports jose, only mail/smtp.ts nodemailer', () => {
  noneOf(({ from, to }) => to === 'jose' && from !== 'session/jwt.ts')
  noneOf(({ from, to }) => to === 'nodemailer' && from !== 'mail/smtp.ts')
})

test('Only what serves HTTP imports Fastify', () => {
  const mayServe = /^(http\/.*|app\.ts|.*\/(routes|well-known|mailbox)\.ts)$/
  const mayName = /^(log\.ts|commands\/.*)$/
  noneOf(
    ({ from, to, typeOnly }) =>
      /^(fastify|@fastify\/.*)$/.test(to) && !mayServe.test(from) && !(typeOnly && mayName.test(from)),
  )
})

test('Values are imported in no circle', () => {
  const next = new Map(files.map((file) => [file, new Set<string>()]))
  for (const one of imports) if (isOurs(one) && !one.typeOnly) next.get(one.from)!.add(one.to)
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, trail: readonly string[]) => {
    const at = trail.indexOf(file)
    if (at >= 0) circles.push([...trail.slice(at), file].join(' → '))
    if (at >= 0 || done.has(file)) return
    for (const to of next.get(file)!) visit(to, [...trail, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  assert.deepEqual(circles, [])
})
