/**
 * `npm run build`: from web/ to web/dist/, which the service serves. `npm ci` runs it with `--if-changed`, which needs
 * no packages of development if nothing changed.
 *
 * A service may be running. It serves the files of the build that it was started with, so those stay: a new build is made
 * in a folder of its own, its files are added, and the pages that name them come last, each by one rename. What neither
 * this build nor the one before has is deleted.
 */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

const here = import.meta.dirname
const dist = join(here, 'dist')
const record = join(dist, 'build.json')

/** What web/dist was made from, and its files. */
interface Record {
  readonly sources: string
  readonly files: readonly string[]
}

/** Of everything that a build may read: one file too many costs a build, one too few an old portal. */
function digestOfSources(): string {
  const root = dirname(here)
  const files = globSync(['web/*', 'web/src/**', 'src/**', 'package-lock.json'], {
    cwd: root,
    withFileTypes: true,
  })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  const hash = createHash('sha256')
  for (const file of files)
    hash
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex')
}

function lastRecord(): Record | null {
  return existsSync(record) ? (JSON.parse(readFileSync(record, 'utf8')) as Record) : null
}

async function make(sources: string, before: Record | null): Promise<void> {
  const { build } = await loadVite()
  const outDir = `dist.${process.pid}`
  const draft = join(here, outDir)
  try {
    await build({ root: here, logLevel: 'warn', build: { outDir } })
    const files = readdirSync(draft, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(draft.length + 1))
    putInPlace(draft, files)
    writeFileSync(`${record}.part`, JSON.stringify({ sources, files }))
    renameSync(`${record}.part`, record)
    for (const name of readdirSync(join(dist, 'web'))) {
      const file = join('web', name)
      // Without a record, the files may be those of a running service.
      if (before && !files.includes(file) && !before.files.includes(file)) rmSync(join(dist, file))
    }
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

async function loadVite(): Promise<typeof import('vite')> {
  try {
    return await import('vite')
  } catch (error) {
    if (!/^Cannot find package 'vite'/.test((error as Error).message)) throw error
    process.stderr.write(
      'chiron: building the portal needs the packages of development: run "npm ci --include=dev", and then "npm prune --omit=dev"\n',
    )
    process.exit(1)
  }
}

/** Files below a folder have their digest in the name; those at the top are pages, and name the others. */
function putInPlace(draft: string, files: readonly string[]): void {
  const isPage = (file: string) => dirname(file) === '.'
  for (const file of files.toSorted((a, b) => Number(isPage(a)) - Number(isPage(b)))) {
    const to = join(dist, file)
    if (!isPage(file) && existsSync(to)) continue
    mkdirSync(dirname(to), { recursive: true })
    copyFileSync(join(draft, file), `${to}.part`)
    renameSync(`${to}.part`, to)
  }
}

const sources = digestOfSources()
const before = lastRecord()
const isUnchanged = before?.sources === sources && before.files.every((file) => existsSync(join(dist, file)))
if (!process.argv.includes('--if-changed') || !isUnchanged) await make(sources, before)
