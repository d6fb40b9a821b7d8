/**
 * A Debian machine to follow the documents on: the files of this machine, or of a newly installed one, under a layer of
 * its own in memory, with processes and a network of its own. Whatever is done there is gone at the end. It needs root.
 *
 * It has no systemd. `machine/systemctl` stands in for it, and says how far. Names of example.org lead to the machine
 * itself, with certificates of an authority that it trusts.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programOf } from './install.ts'
import { eventually } from './wait.ts'

const project = fileURLToPath(new URL('../../', import.meta.url))
const standIns = fileURLToPath(new URL('machine/', import.meta.url))
/** What Debian itself reads. Nothing else of the outer machine is passed on to what is typed. */
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** The authorities that a Debian machine trusts. */
const trusted = '/etc/ssl/certs/ca-certificates.crt'
/** Where Node keeps compiled code, for every user of the machine. */
const compiled = '/run/compiled'
const outerSettings = /^(npm_config_\w+|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy)$/i

/** Schools that can have their own installation on the machine. */
export const schools = ['north', 'south', 'coast'] as const

export interface Ran {
  readonly code: number | null
  /** Standard output and errors, as on a terminal. */
  readonly text: string
}

export interface Machine {
  /** Runs a script in bash, from a folder that belongs to somebody else. */
  run(script: string, as?: string): Promise<Ran>
  /** Runs a program of the outer machine in the machine's network. */
  beside(command: string, args: readonly string[]): ChildProcess
  /** The file that the names of the machine have as their certificate. */
  certificate(): { key: string; cert: string }
  stop(): Promise<void>
}

/** What makes the machine, and what the documents install, so that it is installed once and not on every machine. */
const tools = ['unshare', 'ip', 'openssl'] as const
const programs = ['systemd-analyze', 'pg_createcluster', 'nginx', 'logrotate', 'postfix', 'curl'] as const

/** @param base the folder of a newly installed Debian; by default the machine is like this one */
export async function startMachine(base?: string): Promise<Machine> {
  if (process.getuid?.() !== 0) throw new Error('The tests of the documents need root, to make a machine.')
  for (const program of base === undefined ? [...tools, ...programs] : tools) programOf(program)
  const folder = mkdtempSync(join(tmpdir(), 'chiron-machine-'))
  const root = join(folder, 'layer/root')
  // It ends with this process, however that ends.
  const holder = spawn(
    'setpriv',
    [
      '--pdeathsig',
      'KILL',
      'unshare',
      '-m',
      '-p',
      '--fork',
      '--kill-child',
      'sh',
      '-euc',
      setUp(folder, base ?? '/'),
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  let said = ''
  holder.stderr!.on('data', (chunk) => {
    said += chunk
  })
  const ended = new Promise<void>((resolve) => holder.once('close', () => resolve()))
  const inner = await eventually('the machine', () => {
    if (holder.exitCode !== null) throw new Error(`the machine could not be made: ${said}`)
    const [pid] = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim().split(' ')
    return pid && existsSync(`/proc/${pid}/root${folder}/layer/ready`) ? pid : undefined
  })
  const enter = (...what: string[]) => ['-t', inner, ...what]
  const within = ['nsenter', ...enter('-m', '-n', '-p'), 'chroot', root]
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: project })
  const code = execFileSync('tar', ['-c', '--null', '--owner=0', '--group=0', '-T', '-'], {
    cwd: project,
    input: files,
    maxBuffer: 2 ** 28,
  })
  execFileSync('nsenter', [...enter('-m'), 'tar', '-x', '-C', join(root, 'opt/chiron')], { input: code })

  const machine: Machine = {
    run(script, as = 'root') {
      const user = as === 'root' ? [] : ['runuser', '-u', as, '--']
      const [program, ...args] = [
        ...within,
        ...user,
        'env',
        '-i',
        `PATH=${path}`,
        `HOME=${as === 'root' ? '/root' : '/nowhere'}`,
        // Most of a command's time would be spent on reading its own code.
        `NODE_COMPILE_CACHE=${compiled}`,
      ]
      const child = spawn(program!, [...args, 'bash', '-euo', 'pipefail', '-c', `cd /; ${script}`], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let text = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          text += chunk
        })
      // What it leaves running keeps its output open.
      return new Promise((resolve) =>
        child.once('exit', (code) => setImmediate(() => resolve({ code, text }))),
      )
    },
    beside: (command, args) =>
      spawn('nsenter', [...enter('-n'), command, ...args], { stdio: ['ignore', 'pipe', 'inherit'] }),
    certificate: () => ({
      key: readFileSync(
        `/proc/${inner}/root${root}/etc/letsencrypt/live/access.example.org/privkey.pem`,
        'utf8',
      ),
      cert: readFileSync(
        `/proc/${inner}/root${root}/etc/letsencrypt/live/access.example.org/fullchain.pem`,
        'utf8',
      ),
    }),
    async stop() {
      holder.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
  const { code: failed, text } = await machine.run(
    `${furnish}${base === undefined ? freshPostgres : 'touch /run/fresh'}`,
  )
  if (failed !== 0) throw new Error(`the machine could not be furnished: ${text}`)
  return machine
}

const setUp = (folder: string, lower: string) => {
  const outer = Object.entries(process.env)
    .filter(([name]) => outerSettings.test(name))
    .map(([name, value]) => `${name}='${name === 'NODE_EXTRA_CA_CERTS' ? trusted : value}'\n`)
    .join('')
  return `
    mount --make-rprivate /
    mkdir ${folder}/layer
    mount -t tmpfs tmpfs ${folder}/layer
    cd ${folder}/layer
    mkdir upper work root
    mount -t overlay overlay -o lowerdir=${lower},upperdir=upper,workdir=work root
    cd root
    mkdir -p proc dev run tmp opt
    mount -t proc proc proc
    mount --rbind /dev dev
    mount -t tmpfs -o mode=755 tmpfs run
    mount -t tmpfs -o mode=1777 tmpfs tmp
    touch run/outer-net
    mount --bind /proc/self/ns/net run/outer-net
    cp -L /etc/resolv.conf etc/resolv.conf.outer 2>/dev/null && rm -f etc/resolv.conf && mv etc/resolv.conf.outer etc/resolv.conf
    if [ -n "\${NODE_EXTRA_CA_CERTS:-}" ]; then cat "$NODE_EXTRA_CA_CERTS" >> .${trusted}; fi
    cat > run/outer.env <<'EOF'
${outer}EOF
    mkdir -p run/packages/node_modules
    mount --bind ${project}node_modules run/packages/node_modules
    cat > run/packages.list <<'EOF'
${packages()}EOF
    rm -rf opt/chiron etc/chiron
    mkdir opt/chiron
    cp ${standIns}* usr/local/sbin/
    # As the first process, bash also buries the processes that others leave behind.
    exec unshare -n bash -c 'ip link set lo up; touch ../ready; while :; do sleep 60 & wait $!; done'`
}

/** The packages that `npm prune --omit=dev` leaves. */
function packages(): string {
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; link?: boolean }>
  }
  return Object.entries(packages)
    .filter(
      ([path, { dev, devOptional, link }]) =>
        /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !dev && !devOptional && !link,
    )
    .map(([path]) => path.slice('node_modules/'.length))
    .filter((name) => existsSync(join(project, 'node_modules', name)))
    .map((name) => `${name}\n`)
    .join('')
}

const hosts = ['access', 'mail', ...schools].map((name) => `${name}.example.org`)

/** Names, and certificates in place of Let's Encrypt's. */
const furnish = `
  printf '%s\\n' '127.0.0.1 localhost ${hosts.join(' ')}' > /etc/hosts
  printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
  mkdir -p /etc/letsencrypt/live/access.example.org /run/lock
  mkdir -m 1777 ${compiled}
  cd /etc/letsencrypt/live/access.example.org
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=access.example.org \\
    -addext subjectAltName=${hosts.map((name) => `DNS:${name}`).join()} -keyout privkey.pem -out fullchain.pem 2>/dev/null
  cat fullchain.pem >> ${trusted}
  cd ..
  for name in ${hosts.slice(1).join(' ')}; do ln -s access.example.org $name; done
  `

/** A server that is installed here may be running, or have been used. */
const freshPostgres = `
  if command -v pg_createcluster >/dev/null; then
    version=$(ls /usr/lib/postgresql | tail -n 1)
    rm -rf /etc/postgresql/* /var/lib/postgresql/*
    pg_createcluster "$version" main >/dev/null
  fi`
