/** A build is a source tree that can be started: this one, or that of another commit. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../test/support/postgres.ts'
import { run, type Server, startServer } from './processes.ts'

export interface Build {
  readonly name: string
  readonly folder: string
}

const here = fileURLToPath(new URL('..', import.meta.url))

export const thisBuild: Build = { name: 'this tree', folder: here }

/** The same for every server and store, so that tokens are valid everywhere. */
export const settings = {
  CHIRON_SECRET: 'only-ever-for-benchmarks-on-one-machine',
  CHIRON_PUBLIC_URL: 'http://localhost:3000',
  CHIRON_TRUSTED_PROXIES: '127.0.0.1/32',
}

/** Shares this tree's packages if the lock file is the same, and installs its own otherwise. */
export async function buildAt(ref: string, folder: string): Promise<Build> {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: here, maxBuffer: 2 ** 28 })
  const commit = git('rev-parse', '--short', `${ref}^{commit}`).toString().trim()
  mkdirSync(folder)
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit) })
  const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (lock(here) !== lock(folder)) await run(['npm', 'ci', '--no-audit', '--no-fund'], { cwd: folder })
  else {
    mkdirSync(join(folder, 'node_modules'))
    // One link for each package, because each build has its own compile cache in node_modules.
    for (const name of readdirSync(join(here, 'node_modules')))
      if (name !== '.cache') symlinkSync(join(here, 'node_modules', name), join(folder, 'node_modules', name))
    if (existsSync(join(here, 'web/dist'))) symlinkSync(join(here, 'web/dist'), join(folder, 'web/dist'))
  }
  return { name: `${ref} (${commit})`, folder }
}

export function sameSchema(one: Build, other: Build): boolean {
  const migrations = ({ folder }: Build) => {
    const names = readdirSync(join(folder, 'migrations')).sort()
    return names.map((name) => [name, readFileSync(join(folder, 'migrations', name), 'utf8')])
  }
  return JSON.stringify(migrations(one)) === JSON.stringify(migrations(other))
}

/** The program behind `npx chiron`; in older commits it is a script for Node. */
function commandOf({ folder }: Build): string[] {
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const program = join(folder, bin.chiron)
  return /\.[jt]s$/.test(program) ? [process.execPath, program] : [program]
}

export interface Serving {
  readonly databaseUrl: string
  readonly smtpUrl: string
  readonly cwd: string
  readonly limits: boolean
  /** For how long each request keeps the process busy, beside what it does (work.ts). */
  readonly workMs?: number
}

export async function serve(build: Build, serving: Serving): Promise<Server> {
  const { databaseUrl, smtpUrl, cwd, limits, workMs = 0 } = serving
  const port = await freePort()
  const work = { NODE_OPTIONS: `--import=${join(here, 'bench/work.ts')}`, WORK_MS: String(workMs) }
  const env = {
    ...settings,
    NODE_COMPILE_CACHE: join(build.folder, 'node_modules/.cache/chiron'),
    CHIRON_PORT: String(port),
    CHIRON_DATABASE_URL: databaseUrl,
    CHIRON_SMTP_URL: smtpUrl,
    CHIRON_LIMITS: limits ? 'on' : 'off',
    ...(workMs > 0 && work),
  }
  return startServer({ command: [...commandOf(build), 'serve'], path: '/health/ready', port, cwd, env })
}

/** Runs a script of a build on a store. */
export function runOn(
  build: Build,
  databaseUrl: string,
  script: string,
  args: readonly string[],
  cwd: string,
) {
  const env = { ...settings, CHIRON_DATABASE_URL: databaseUrl }
  return run([process.execPath, join(build.folder, script), ...args], { cwd, env })
}
