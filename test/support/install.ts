/**
 * Programs that tests need from the machine. On Debian as root, missing ones are installed: by `npm test` all at once before
 * the tests begin, otherwise when a test needs one.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Programs that `npm test` needs, with their Debian packages. */
const packages = {
  'chromium-headless-shell': 'chromium-headless-shell',
  caddy: 'caddy',
  cc: 'build-essential',
  chromium: 'chromium',
  curl: 'curl',
  ip: 'iproute2',
  logrotate: 'logrotate',
  nginx: 'nginx',
  openssl: 'openssl',
  pg_createcluster: 'postgresql',
  pgbouncer: 'pgbouncer',
  postfix: 'postfix',
  python3: 'python3',
  setpriv: 'util-linux',
  'systemd-analyze': 'systemd',
  unshare: 'util-linux',
} as const
const ofLongRuns = {
  debootstrap: 'debootstrap',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  // Patroni only suggests what it needs for etcd.
  patroni: 'patroni python3-etcd python3-idna',
  patronictl: 'patroni',
} as const
const packageOf = { ...packages, ...ofLongRuns }
const otherNames: { readonly [name in Program]?: readonly string[] } = {
  cc: ['gcc', 'clang'],
  chromium: ['chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'],
  'chromium-headless-shell': ['chrome-headless-shell'],
}
const aptGet = '/usr/bin/apt-get'

export type Program = keyof typeof packageOf

export function programOf(name: Program): string {
  const found = onPath(name)
  if (found) return found
  install([name])
  const installed = onPath(name)
  if (!installed) throw new Error(`${packageOf[name]} was installed, yet ${name} is not on the PATH.`)
  return installed
}

/**
 * Chromium without windows, profiles and toolbars. It takes less than half of the processor time, so it is preferred, but
 * not every machine has it.
 */
export function headlessShell(): string | undefined {
  try {
    return programOf('chromium-headless-shell')
  } catch {
    return undefined
  }
}

function onPath(name: Program): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  return folders
    .flatMap((folder) => [name, ...(otherNames[name] ?? [])].map((one) => join(folder, one)))
    .find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export function install(names: readonly Program[]): void {
  if (!mayInstall()) throw new Error(`The tests need ${names.join(', ')}: install it and put it on the PATH.`)
  const wanted = [...new Set(names.map((name) => packageOf[name]))].join(' ')
  process.stderr.write(`Installing what is missing: apt-get install -y ${wanted}\n`)
  const update = `${aptGet} update`
  const add = `${aptGet} -o DPkg::Lock::Timeout=600 install -y --no-install-recommends ${wanted}`
  // Several processes may miss something at once, and `apt-get update` does not wait for another one.
  const { status } = spawnSync('/usr/bin/flock', [aptGet, 'sh', '-c', `${update} && ${add}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
    // RUNLEVEL: servers are installed without being started.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  })
  if (status !== 0) throw new Error(`${wanted} could not be installed.`)
}

const mayInstall = () => existsSync('/etc/debian_version') && process.getuid?.() === 0

if (import.meta.main && mayInstall()) {
  const missing = (Object.keys(packages) as Program[]).filter((name) => !onPath(name))
  try {
    if (missing.length > 0) install(missing)
  } catch (error) {
    // Tests then install what they can. Those that lack a program fail.
    process.stderr.write(`${(error as Error).message}\n`)
  }
}
