import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, posix } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('../', import.meta.url))
const root = join(project, 'src')

interface Import {
  readonly from: string
  /** A path below the folder for a file of ours, else what is imported of a package. */
  readonly to: string
  readonly typeOnly: boolean
}

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules'))
    .sort()
const files = filesIn(root)
const imports = files.flatMap((file) => importsOf(root, file))

function importsOf(folder: string, file: string): Import[] {
  const text = readFileSync(join(folder, file), 'utf8')
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

/** jose for jose/jwt/verify, @fastify/static for @fastify/static/types; undefined for our own files. */
const packageOf = ({ to }: Pick<Import, 'to'>) =>
  /^((@[^/]+\/)?[^./][^/]*)/.exec(isOurs({ to }) ? '' : to)?.[1]
const isOurs = ({ to }: Pick<Import, 'to'>) => to.endsWith('.ts') && !to.startsWith('../')
/** The groups, each with its folders. Each imports only from those before it, and so does each folder in its group. */
const groups: Readonly<Record<string, readonly string[]>> = {
  platform: ['lib', 'db', 'http'],
  messages: ['queue', 'events', 'webhooks', 'delivery', 'mail'],
  identity: [
    'people',
    'limits',
    'session',
    'clients',
    'sign-in',
    'passkeys',
    'oauth',
    'school-account',
    'staff',
  ],
  school: ['student', 'veterinarian', 'roster', 'directory', 'site'],
  operate: ['support', 'backup', 'metrics', 'traces', 'doctor', 'commands'],
}
const folders = Object.entries(groups).flatMap(([group, names]) => names.map((name) => `${group}/${name}`))
/** `messages/mail` for messages/mail/templates/texts.ts; empty for files that stand in no such folder. */
const top = (path: string) => /^[^/]+\/[^/]+(?=\/)/.exec(path)?.[0] ?? ''
const isFeatureFile = (path: string) =>
  top(path) !== '' && !path.startsWith('platform/') && top(path) !== 'operate/commands'
const mainFile = (feature: string) => {
  const own = `${feature}/${basename(feature)}.ts`
  return files.includes(own) ? own : `${feature}/outbox.ts`
}
const show = ({ from, to }: Import) => `${from} → ${to}`

function noneOf(wrong: (one: Import) => boolean): void {
  assert.deepEqual(imports.filter(wrong).map(show), [])
}

test('The reader of imports finds them', () => {
  assert.ok(files.length > 40 && imports.length > 200)
  assert.ok(imports.some(({ from, to }) => from === 'service.ts' && to === 'features.ts'))
  for (const { to } of imports.filter(isOurs)) assert.ok(files.includes(to), to)
})

test('A package is known by its name, whatever part of it is imported', () => {
  const parts = [
    'jose',
    'jose/jwt/verify',
    'nodemailer/lib/mailer',
    '@fastify/static',
    '@fastify/x/y',
    'node:sqlite',
  ]
  const names = ['jose', 'jose', 'nodemailer', '@fastify/static', '@fastify/x', 'node:sqlite']
  assert.deepEqual(
    parts.map((to) => packageOf({ to })),
    names,
  )
  for (const to of ['lib/clock.ts', '../demo/school.ts']) assert.equal(packageOf({ to }), undefined)
})

const isSchemas = (path: string) => /[/-]schemas\.ts$/.test(path)
/** `store.ts` or, where there is much SQL, a folder with a file for each subject. */
const isStore = (path: string) => /\/store(\/[\w-]+)?\.ts$/.test(path)
const isBase = /^(platform\/lib\/|(errors|locks|roles)\.ts$)/

test('lib, errors, locks and roles import nothing of ours but each other', () => {
  noneOf((one) => isBase.test(one.from) && isOurs(one) && !isBase.test(one.to))
})

test('Only the files beside the groups, and commands, read the settings', () => {
  noneOf(
    ({ from, to }) =>
      /^(config|settings)\.ts$/.test(to) && from.includes('/') && !from.startsWith('operate/commands/'),
  )
})

test('Routes import their own feature, http, lib, errors, schemas, fields and operation, and of other features the main file', () => {
  const isRoutes = (path: string) => /[/-](routes|well-known|mailbox)\.ts$/.test(path)
  noneOf((one) => {
    if (!isRoutes(one.from) || !isOurs(one)) return false
    if (['platform/http', 'platform/lib', top(one.from)].includes(top(one.to))) return false
    if (['errors.ts', 'roles.ts', 'platform/context.ts'].includes(one.to) || isSchemas(one.to)) return false
    if (['identity/people/fields.ts', 'identity/session/operation.ts'].includes(one.to)) return false
    return !(isFeatureFile(one.to) && one.to === mainFile(top(one.to)))
  })
})

/** Files of pure functions, and of nothing but data. */
const isRules = (path: string) => /\/(rules|policies|codes|guessing)\.ts$/.test(path)

test('Rules import types, other rules and lib: no store, no clock, no Fastify', () => {
  noneOf(
    (one) => isRules(one.from) && !one.typeOnly && !(isOurs(one) && (isBase.test(one.to) || isRules(one.to))),
  )
})

test('Stores import db/db.ts, columns, errors, lib, events, the queue and what an account is, and types, rules and other parts of their own feature’s store', () => {
  noneOf(
    (one) =>
      isStore(one.from) &&
      isOurs(one) &&
      !(
        top(one.from) === top(one.to) &&
        (one.typeOnly || isRules(one.to) || (isStore(one.to) && dirname(one.from) === dirname(one.to)))
      ) &&
      !/^(platform\/db\/(db|decision|limits)\.ts|(\w+\/)*columns\.ts|(errors|roles)\.ts|messages\/(events\/events|queue\/queue)\.ts|identity\/people\/(people|in-roster)\.ts|platform\/lib\/.*)$/.test(
        one.to,
      ),
  )
})

test('Nobody imports another feature’s store, and only routes.ts imports its routes', () => {
  noneOf(({ from, to }) => isStore(to) && top(from) !== top(to))
  noneOf(({ from, to }) => to.endsWith('routes.ts') && dirname(from) !== dirname(to) && from !== 'routes.ts')
})

test('A feature imports of another feature its main file, or a part that is pure', () => {
  const pure = (path: string) =>
    isSchemas(path) ||
    imports.every(({ from, to }) => from !== path || /^(platform\/lib|node:)|^(errors|roles)\.ts$/.test(to))
  noneOf((one) => {
    const foreign = isFeatureFile(one.from) && isFeatureFile(one.to) && top(one.from) !== top(one.to)
    if (!foreign || one.from.endsWith('routes.ts')) return false
    return one.to !== mainFile(top(one.to)) && !pure(one.to)
  })
})

test('Features do not import http, but for what serves HTTP', () => {
  noneOf(
    ({ from, to }) =>
      isFeatureFile(from) &&
      top(to) === 'platform/http' &&
      !/[/-](routes|well-known|mailbox|schemas|openapi|operation)\.ts$/.test(from),
  )
})

/** What `file` of src imports, types included, and what that imports. */
function reachedFrom(starts: readonly string[]): Set<string> {
  const reached = new Set(starts)
  for (const file of reached) for (const { from, to } of imports) if (from === file) reached.add(to)
  return reached
}

test('What the portal imports, and every file of schemas, leads to no file of the service that uses Node or a package', () => {
  const web = join(project, 'web/src')
  const scripts = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx?$/.test(name),
  )
  const ofService = scripts
    .flatMap((file) => importsOf(web, file))
    .flatMap(({ to, typeOnly }) => {
      const path = /^(?:\.\.\/)+src\/(.+)$/.exec(to)?.[1]
      return path === undefined ? [] : [{ path, typeOnly }]
    })
  const inBundle = new Set(ofService.filter(({ typeOnly }) => !typeOnly).map(({ path }) => path))
  assert.deepEqual([...inBundle].sort(), [
    'identity/clients/kinds.ts',
    'identity/school-account/return-path.ts',
    'platform/lib/languages.ts',
    'platform/lib/spreadsheet.ts',
    'roles.ts',
    'school/student/classes.ts',
  ])
  const reached = reachedFrom([...ofService.map(({ path }) => path), ...files.filter(isSchemas)])
  const foreign = [...reached].filter((to) => !files.includes(to))
  assert.deepEqual(foreign, ['typebox'])
})

test('Only the command that loads it knows the demo school', () => {
  noneOf(({ from, to }) => to.startsWith('../') && from !== 'operate/commands/demo.ts')
})

test('Only features.ts, commands and the roster’s thread open engines, and only db knows their drivers', () => {
  noneOf(
    ({ from, to }) =>
      to === 'platform/db/open.ts' &&
      !/^features\.ts$|^operate\/commands\/|^school\/roster\/upload\/worker\.ts$/.test(from),
  )
  noneOf((one) => /^(node:sqlite|pg|postgres)$/.test(packageOf(one) ?? '') && top(one.from) !== 'platform/db')
  noneOf(({ from, to }) => /^platform\/db\/(sqlite|postgres)\.ts$/.test(to) && top(from) !== 'platform/db')
})

test('Only session/jwt.ts imports jose, only mail/smtp.ts and mail/mime.ts nodemailer, only passkeys/webauthn.ts WebAuthn, only school-account/openid.ts OpenID', () => {
  noneOf((one) => packageOf(one) === 'openid-client' && one.from !== 'identity/school-account/openid.ts')
  noneOf((one) => packageOf(one) === '@simplewebauthn/server' && one.from !== 'identity/passkeys/webauthn.ts')
  noneOf((one) => packageOf(one) === 'jose' && one.from !== 'identity/session/jwt.ts')
  noneOf((one) => packageOf(one) === 'nodemailer' && !/^messages\/mail\/(smtp|mime)\.ts$/.test(one.from))
})

test('The service and the demo school import only packages that remain in production', () => {
  const { dependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
  const running = ['src', 'demo'].flatMap((folder) =>
    filesIn(join(project, folder)).flatMap((file) => importsOf(project, `${folder}/${file}`)),
  )
  const packages = running.filter(
    ({ to, typeOnly }) => !typeOnly && !to.endsWith('.ts') && !to.startsWith('node:'),
  )
  assert.ok(packages.some((one) => packageOf(one) === 'fastify'))
  assert.deepEqual(packages.filter((one) => !(packageOf(one)! in dependencies)).map(show), [])
})

test('Only what serves HTTP imports Fastify', () => {
  const mayServe = /^(platform\/http\/.*|(app|routes)\.ts|.*[/-](routes|well-known|mailbox)\.ts)$/
  const mayName = /^(platform\/log\.ts|operate\/(commands|traces)\/.*)$/
  noneOf(
    (one) =>
      /^(fastify|@fastify\/.*)$/.test(packageOf(one) ?? '') &&
      !mayServe.test(one.from) &&
      !(one.typeOnly && mayName.test(one.from)),
  )
})

test('Groups and their folders stand above each other, types included', () => {
  const group = (path: string) => Object.keys(groups).indexOf(path.split('/')[0]!)
  for (const file of files) {
    if (top(file) !== '') assert.ok(folders.includes(top(file)), file)
    else assert.ok(!file.includes('/') || group(file) >= 0, file)
  }
  const wrong = imports.filter((one) => {
    if (!isOurs(one) || !one.from.includes('/') || !one.to.includes('/')) return false
    if (group(one.to) !== group(one.from)) return group(one.to) > group(one.from)
    return top(one.from) !== '' && folders.indexOf(top(one.to)) > folders.indexOf(top(one.from))
  })
  assert.deepEqual(wrong.map(show), [])
})

/** The steps of a feature, or the parts of a library, that has folders of its own, in their order. */
const steps: Readonly<Record<string, readonly string[]>> = {
  'platform/lib': ['page-texts'],
  'school/roster': ['fetch', 'read', 'lists', 'workbench', 'compare', 'checks', 'apply', 'upload'],
}
const stepOf = (path: string) => /^(?:[^/]+\/){2}(?!store\/)([^/]+)\//.exec(path)?.[1]

test('A step of a feature imports only from the steps before it, and of each only its main file', () => {
  for (const file of files.filter((path) => top(path) !== 'messages/mail')) {
    const step = stepOf(file)
    if (step !== undefined) assert.ok(steps[top(file)]?.includes(step), file)
  }
  noneOf((one) => {
    const order = steps[top(one.to)]
    const [from, to] = [stepOf(one.from), stepOf(one.to)]
    if (!isOurs(one) || !order || to === undefined) return false
    if (one.from === 'routes.ts' && one.to.endsWith('routes.ts')) return false
    if (top(one.from) === top(one.to) && from === to) return false
    if (one.to !== `${top(one.to)}/${to}/${to}.ts`) return true
    return from !== undefined && order.indexOf(to) > order.indexOf(from)
  })
})

type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** What the files of these folders import of each other, by value imports or also by type imports. */
function graphOf(folder: string, names: readonly string[], by: 'values' | 'types' = 'values'): Graph {
  const found = names.flatMap((name) => filesIn(join(folder, name)).map((file) => `${name}/${file}`))
  const next = new Map(found.map((file) => [file, new Set<string>()]))
  for (const one of found.flatMap((file) => importsOf(folder, file)))
    if (next.has(one.to) && (by === 'types' || !one.typeOnly)) next.get(one.from)!.add(one.to)
  return next
}

function circlesIn(next: Graph): string[] {
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, trail: readonly string[]) => {
    const at = trail.indexOf(file)
    if (at >= 0) circles.push([...trail.slice(at), file].join(' → '))
    if (at >= 0 || done.has(file)) return
    for (const to of next.get(file)!) visit(to, [...trail, file])
    done.add(file)
  }
  for (const file of next.keys()) visit(file, [])
  return circles
}

test('Files are imported in no circle: here types included, in the tests and measurements values', () => {
  assert.deepEqual(circlesIn(graphOf(project, ['src'], 'types')), [])
  assert.deepEqual(circlesIn(graphOf(project, ['src', 'demo', 'test', 'bench'])), [])
})

test('Neither files nor folders of the portal and the console are imported in a circle', () => {
  const imported = graphOf(project, ['web/src'], 'types')
  assert.deepEqual(circlesIn(imported), [])
  // At the top of each are its entry and what all its folders stand on, so those files count one by one.
  const placeOf = (file: string) =>
    ['web/src', 'web/src/console'].includes(dirname(file)) ? file : dirname(file)
  const places = new Map<string, Set<string>>([...imported.keys()].map((file) => [placeOf(file), new Set()]))
  for (const [file, targets] of imported)
    for (const to of targets) if (placeOf(to) !== placeOf(file)) places.get(placeOf(file))!.add(placeOf(to))
  assert.deepEqual(circlesIn(places), [])
})

test('A circle is found, also over two folders', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-imports-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of [
    ['a/one.ts', "import { two } from '../b/two.ts'"],
    ['b/two.ts', "import { type One, one } from '../a/one.ts'"],
    ['b/three.ts', "import type { one } from '../a/one.ts'"],
  ] as const) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  assert.deepEqual(circlesIn(graphOf(folder, ['a', 'b'])), ['a/one.ts → b/two.ts → a/one.ts'])
})
