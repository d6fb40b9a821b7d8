/** A build: a tree of sources that can be started. This one, or that of another commit in a folder of its own. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run, type Server, startServer } from './processes.ts'

export interface Build {
  readonly name: string
  readonly folder: string
}

const here = fileURLToPath(new URL('..', import.meta.url))

export const thisBuild: Build = { name: 'this tree', folder: here }

/** The same for every server and filler, so that all tokens hold everywhere. */
const settings = {
  CHIRON_SECRET: 'only-ever-for-benchmarks-on-one-machine',
  CHIRON_PUBLIC_URL: 'http://localhost:3000',
  CHIRON_TRUSTED_PROXIES: '127.0.0.1/32',
}

/** Packages are this tree's if the lock file is the same, and are installed otherwise. */
export async function buildAt(ref: string, folder: string): Promise<Build> {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: here, maxBuffer: 2 ** 28 })
  const commit = git('rev-parse', '--short', `${ref}^{commit}`).toString().trim()
  mkdirSync(folder)
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit) })
  const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (lock(here) !== lock(folder)) await run(['npm', 'ci', '--no-audit', '--no-fund'], { cwd: folder })
  else {
    mkdirSync(join(folder, 'node_modules'))
    // Not the folder as a whole: each build keeps its own compiled code in it.
    for (const name of readdirSync(join(here, 'node_modules')))
      if (name !== '.cache') symlinkSync(join(here, 'node_modules', name), join(folder, 'node_modules', name))
    const portal = join(here, 'web/dist')
    if (existsSync(portal)) symlinkSync(portal, join(folder, 'web/dist'))
    // Commits that compiled at installation are measured as installed.
    const precompile = join(folder, 'src/precompile.ts')
    if (existsSync(precompile)) await run([process.execPath, precompile], { cwd: folder })
  }
  return { name: ref === commit ? commit : `${ref} (${commit})`, folder }
}

/** Whether stores of one can be given to the other. */
export function sameSchema(one: Build, other: Build): boolean {
  const migrations = ({ folder }: Build) => {
    const names = readdirSync(join(folder, 'migrations')).sort()
    return names.map((name) => [name, readFileSync(join(folder, 'migrations', name), 'utf8')])
  }
  return JSON.stringify(migrations(one)) === JSON.stringify(migrations(other))
}

/** What `npx chiron` starts, which older commits have under another name and as a script of Node. */
function commandOf({ folder }: Build): string[] {
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const program = join(folder, bin.chiron)
  return /\.[jt]s$/.test(program) ? [process.execPath, program] : [program]
}

/** As `npm start` keeps it. */
const compiledOf = ({ folder }: Build) => ({ NODE_COMPILE_CACHE: join(folder, 'node_modules/.cache/chiron') })

export interface Serving {
  readonly databaseUrl: string
  readonly smtpUrl: string
  readonly port: number
  readonly cwd: string
  readonly limits?: boolean
  readonly workers?: number
  readonly cores?: string
  readonly env?: Record<string, string>
}

export function serve(build: Build, serving: Serving): Promise<Server> {
  const { databaseUrl, smtpUrl, port, cwd, limits = true, workers = 1, cores, env } = serving
  return startServer({
    command: [...commandOf(build), 'serve'],
    path: '/health/ready',
    port,
    cwd,
    cores,
    env: {
      ...settings,
      ...compiledOf(build),
      CHIRON_PORT: String(port),
      CHIRON_DATABASE_URL: databaseUrl,
      CHIRON_SMTP_URL: smtpUrl,
      CHIRON_LIMITS: limits ? 'on' : 'off',
      CHIRON_WORKERS: String(workers),
      ...env,
    },
  })
}

/** Runs a script of a build on a store. */
export function runOn(
  { folder }: Build,
  databaseUrl: string,
  script: string,
  args: readonly string[],
  cwd: string,
): Promise<string> {
  const env = { ...settings, CHIRON_DATABASE_URL: databaseUrl }
  return run([process.execPath, join(folder, script), ...args], { cwd, env })
}
