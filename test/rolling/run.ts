/**
 * A rolling upgrade from the last release to this program under load, behind a real HAProxy or nginx, and back. Needs the
 * history of the repository, the network for the packages of that release, and a few minutes, so it is not part of
 * `npm test`.
 *
 *   node test/rolling/run.ts [--from REV] [--proxy haproxy|nginx] [--seconds 10]
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { endProcesses, newFolder } from '../support/child.ts'
import { programOf } from '../support/install.ts'
import { freePort, startPostgres } from '../support/postgres.ts'
import { copyProgram, Load, Pair, type Program, RefusesToStart } from '../support/rolling.ts'
import { eventually, pause } from '../support/wait.ts'
import { callsTo } from '../support/wire.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
const { values } = parseArgs({
  options: {
    from: { type: 'string', default: git('log', '-1', '--format=%h', '-G"version":', '--', 'package.json') },
    proxy: { type: 'string', default: 'haproxy' },
    seconds: { type: 'string', default: '10' },
  },
})
const pageFiles = 'web/dist/web'
const phaseMs = Number(values.seconds) * 1_000
const began = Date.now()
const say = (line: string) =>
  process.stdout.write(`${String(Math.round((Date.now() - began) / 1_000)).padStart(4)} s  ${line}\n`)

interface Proxy {
  readonly port: number
  /** Sends a process nothing more. `byHand`: it would stop serving at SIGTERM. */
  takeOut(i: number, byHand: boolean): Promise<void>
  bringBack(i: number): Promise<void>
  stop(): void
}

/** The example in docs/upgrading.md, with these ports. */
function documented(language: string, ports: readonly number[]): string {
  const document = readFileSync(join(root, 'docs/upgrading.md'), 'utf8')
  const block = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(document)![1]!
  return block
    .replaceAll('192.0.2.11:3000', `127.0.0.1:${ports[0]}`)
    .replaceAll('192.0.2.12:3000', `127.0.0.1:${ports[1]}`)
}

/** Takes a process out when `/health/ready` says so. */
async function haproxy(folder: string, ports: readonly number[]): Promise<Proxy> {
  const port = await freePort()
  const file = join(folder, 'haproxy.cfg')
  const timeouts = 'timeout connect 5s\n  timeout client 60s\n  timeout server 60s'
  const example = documented('haproxy', ports).replace(/bind .*/, `bind 127.0.0.1:${port}`)
  const socket = join(folder, 'admin.sock')
  const global = `global\n  stats socket ${socket} level admin`
  writeFileSync(file, `${global}\ndefaults\n  mode http\n  ${timeouts}\n${example}`)
  const child = spawn(programOf('haproxy'), ['-db', '-f', file], { stdio: 'inherit' })
  const set = async (i: number, state: 'maint' | 'ready') => {
    const admin = connect(socket).end(`set server chiron/${'ab'[i]} state ${state}\n`)
    assert.equal((await text(admin)).trim(), '')
  }
  return {
    port,
    takeOut: async (i, byHand) => {
      if (!byHand) return
      await set(i, 'maint')
      // Requests that were sent to it before are still on their way.
      await pause(1_000)
    },
    async bringBack(i) {
      await set(i, 'ready')
      await pause(3_000)
    },
    stop: () => void child.kill(),
  }
}

/** Takes a process out when its configuration says so. */
async function nginx(folder: string, ports: readonly number[]): Promise<Proxy> {
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  const log = join(folder, 'nginx.log')
  const deployed = readFileSync(join(root, 'deploy/nginx/chiron.conf'), 'utf8')
  const proxying = [...deployed.matchAll(/^ {4}(?:proxy_[^\n]*;|location[^}]*})$/gm)].map(([line]) => line)
  const write = (out: number | null) => {
    const upstream = documented('nginx', ports).replace(`:${ports[out ?? -1]};`, `:${ports[out ?? -1]} down;`)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder};`,
    )
    writeFileSync(
      file,
      `daemon off; pid ${folder}/nginx.pid; error_log ${log}; worker_processes 2;
events {}
http {
access_log off; ${temporary.join(' ')}
${upstream}
server {
listen 127.0.0.1:${port};
${proxying.join('\n')}
}
}
`,
    )
  }
  write(null)
  const child = spawn(programOf('nginx'), ['-c', file, '-e', log], { stdio: 'inherit' })
  const reload = async (out: number | null) => {
    write(out)
    child.kill('SIGHUP')
    await pause(2_000)
  }
  return { port, takeOut: reload, bringBack: () => reload(null), stop: () => void child.kill('SIGQUIT') }
}

/** The program of another revision, with the packages that it asks for. */
function release(revision: string, folder: string): Program {
  const target = join(folder, 'program')
  mkdirSync(target)
  const archive = execFileSync('git', ['archive', revision], { cwd: root, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['x', '-C', target], { input: archive })
  say(`installing the packages of ${revision}`)
  const { status, stderr } = spawnSync('npm', ['ci'], { cwd: target, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return { name: revision, folder: target }
}

const folder = newFolder()
const old = release(values.from, folder.path)
const own: Program = { name: 'this program', folder: join(folder.path, 'own') }
copyProgram(root, own.folder)
// Somebody who installs a version over another keeps the files of its pages (web/make.ts).
for (const [from, to] of [
  [old, own],
  [own, old],
] as const)
  cpSync(join(from.folder, pageFiles), join(to.folder, pageFiles), { recursive: true, force: false })
const postgres = await startPostgres()
await postgres.start()
const databaseUrl = postgres.url('postgres')
const load = await Load.prepare(databaseUrl)
const pair = new Pair(load.env)
let proxy: Proxy | undefined
try {
  await load.fill(pair, old)
  await pair.start(old)
  const ports = pair.members.map(({ port }) => port)
  proxy = await (values.proxy === 'nginx' ? nginx : haproxy)(folder.path, ports)
  // A connection for each request: nginx closes idle ones when it reloads, and only browsers repeat what is lost with them.
  const calls = callsTo(`http://127.0.0.1:${proxy.port}`, new Agent())
  await eventually(
    'the proxy answers',
    async () => (await calls.request('/health/ready').catch(() => null))?.status === 200,
  )
  const phase = async (what: string) => {
    const before = load.requests
    await pause(phaseMs)
    say(`${what}: ${load.requests - before} requests, ${load.failures.length} failures so far`)
  }
  const replace = async (i: number, program: Program) => {
    await proxy!.takeOut(i, pair.members[i]!.program !== own)
    await pair.replace(i, program)
    await proxy!.bringBack(i)
  }

  await load.start(calls)
  await phase(`two of ${old.name}`)
  say((await pair.run(own, 'migrate')).trim())
  await phase(`two of ${old.name} on the new schema`)
  await replace(0, own)
  await load.import(pair, own)
  await phase('one of each')
  await load.import(pair, own)
  await replace(1, own)
  await phase('two of this program')
  try {
    await replace(1, old)
    await load.import(pair, old)
    await phase('one of each, on the way back')
    await load.import(pair, own)
    await replace(0, old)
    await phase(`two of ${old.name} again`)
    await replace(0, own)
  } catch (error) {
    if (!(error instanceof RefusesToStart)) throw error
    say(`${old.name} does not start again: ${error.message.trim()}`)
    await pair.startAgain(1, own)
    await proxy.bringBack(1)
    await phase('two of this program again')
  }
  await load.stop()
  await load.check()
  say(`all is well after ${load.requests} requests of ${load.guests.length} people`)
} catch (error) {
  for (const { program, child } of pair.members)
    process.stderr.write(`${program.name}: ${child.output.out.slice(-2_000)}\n`)
  throw error
} finally {
  await pair.stop().catch(() => {})
  proxy?.stop()
  endProcesses()
  await load.close()
  await postgres.remove()
  folder.remove()
}
