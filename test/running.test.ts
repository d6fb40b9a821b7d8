import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { get, type IncomingHttpHeaders } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  type Child,
  commandFolder,
  main,
  serveChild,
  startChiron,
  startProcess,
  startScript,
} from './support/child.ts'
import { atLength, migratedStore, onPostgres } from './support/engines.ts'
import { freePort } from './support/postgres.ts'
import { childrenOf } from './support/processes.ts'
import { eventually, patienceMs } from './support/wait.ts'
import { wire } from './support/wire.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const ended = { code: 0, signal: null }
const cutOff = /cutting off requests that did not finish in time/

const folder = commandFolder()
const { ownStore } = folder
const lines = (text: string) => text.split('\n').filter((line) => line !== '')

/** A registration that is half sent, at a moment when the service has noticed it. */
async function halfSent(port: number): Promise<{ finish(): Promise<string>; socket: Socket }> {
  const body = JSON.stringify({ firstname: 'Ada', lastname: 'Marsh', email: 'ada@vets.example' })
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => {})
  socket.write(
    [
      'POST /veterinarian/register HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
      '',
      body.slice(0, 20),
    ].join('\r\n'),
  )
  await eventually('the service takes the request', () => received.includes('100 Continue'))
  return {
    socket,
    async finish() {
      socket.write(body.slice(20))
      await closed
      return received.slice(received.indexOf('\r\n\r\n') + 4)
    },
  }
}

const newcomer = (url: string) =>
  new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
    const sent = get(`${url}/health/live`, { agent: false }, async (reply) => {
      const text = Buffer.concat(await reply.toArray()).toString()
      resolve({ status: reply.statusCode!, headers: reply.headers, text })
    })
    sent.on('error', reject)
  })

const refused = (url: string) =>
  eventually('a newcomer is turned away', async () => {
    const reply = await newcomer(url)
    return reply.status !== 200 && reply
  })

async function stopsInOrder(child: Child & { port: number; url: string }): Promise<void> {
  const { finish } = await halfSent(child.port)
  child.kill('SIGTERM')
  const { status, headers, text } = await refused(child.url)
  assert.equal(status, 503)
  assert.match(headers['content-type']!, /^application\/problem\+json/)
  assert.match(headers['retry-after']!, /^\d+$/)
  assert.equal(JSON.parse(text).code, 'unavailable')
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) child.kill(signal)
  await refused(child.url)
  const answer = await finish()
  assert.match(answer, /^HTTP\/1\.1 202 /)
  assert.match(answer, /"email":"ada@vets\.example"/)
  assert.deepEqual(await child.exited, ended)
  assert.equal(child.output.err, '')
}

/** Kills one of two workers and waits for its replacement. */
async function killWorker({ pid }: Child): Promise<void> {
  const [first] = childrenOf(pid)
  process.kill(first!, 'SIGKILL')
  await eventually('another worker', () => {
    const pids = childrenOf(pid)
    return pids.length === 2 && !pids.includes(first!)
  })
}

describe('chiron serve', atLength, () => {
  test('keeps what it makes to its owner', async () => {
    const cwd = join(folder.path, 'own')
    mkdirSync(cwd)
    const child = await serveChild({ cwd })
    const modeOf = (path: string) => statSync(path).mode & 0o777
    const data = join(cwd, 'data')
    const modes = readdirSync(data).map((name) => [name, modeOf(join(data, name))] as const)
    child.kill('SIGTERM')
    await child.exited
    assert.equal(modeOf(data), 0o700)
    assert.ok(modes.some(([name]) => name === 'chiron.db-wal'))
    for (const [name, mode] of modes) assert.equal(mode, 0o600, name)
  })

  test('logs as JSON what packages print and what Node warns of', async () => {
    const log = new URL('../src/platform/log.ts', import.meta.url).href
    // nodemailer prints this on a host that has no address of that family.
    const script = `const { createLog, logWhatOthersPrint } = await import(${JSON.stringify(log)})
      logWhatOthersPrint(createLog(false))
      console.warn('Failed to resolve IPv4 addresses with current network')
      console.log('[%s] %s', 'x', { a: 1 })
      process.emitWarning('something is old', 'DeprecationWarning')`
    const child = startScript(script)
    assert.deepEqual(await child.exited, ended)
    assert.equal(child.output.err, '')
    assert.deepEqual(
      lines(child.output.out).map((line) => JSON.parse(line).msg),
      ['Failed to resolve IPv4 addresses with current network', '[x] { a: 1 }', 'something is old'],
    )
  })

  test('answers, logs JSON without a terminal, and ends with 0', async () => {
    const child = await serveChild({ cwd: folder.path, env: ownStore() })
    const reply = await fetch(`${child.url}/health/live`)
    assert.deepEqual(await reply.json(), { status: 'ok' })
    assert.equal((await fetch(`${child.url}/health/ready`)).status, 200)
    child.kill('SIGINT')
    assert.deepEqual(await child.exited, ended)
    assert.equal(child.output.err, '')
    const entries = lines(child.output.out).map((line) => JSON.parse(line))
    assert.ok(entries.some(({ msg }) => /^listening at/.test(msg)))
    for (const entry of entries) assert.ok(entry.level && entry.time && entry.msg)
  })

  test('finishes what is under way when told to stop, and turns newcomers away', async () => {
    await stopsInOrder(await serveChild({ cwd: folder.path, env: ownStore() }))
  })

  test('does the same with two workers', async () => {
    const child = await serveChild({ cwd: folder.path, env: { ...ownStore(), CHIRON_WORKERS: '2' } })
    await stopsInOrder(child)
  })

  for (const workers of ['1', '2'])
    test(
      `on PostgreSQL it first tells proxies, and serves everybody meanwhile, with CHIRON_WORKERS=${workers}`,
      onPostgres,
      async (t) => {
        const store = await migratedStore('postgres')
        t.after(() => store.remove())
        const env = { CHIRON_DATABASE_URL: store.url, CHIRON_WORKERS: workers }
        const child = await serveChild({ env })
        const asked = async (path: string) => (await wire(child.url, path)).status
        assert.equal(await asked('/health/ready'), 200)
        const told = Date.now()
        child.kill('SIGTERM')
        await eventually('it is not ready', async () => (await asked('/health/ready')) === 503)
        const reply = await wire(child.url, '/.well-known/jwks.json')
        assert.deepEqual([reply.status, reply.headers.get('connection')], [200, 'close'])
        await eventually(
          'it stops serving',
          async () => (await asked('/health/live').catch(() => 503)) === 503,
        )
        assert.ok(Date.now() - told >= 3_000, 'a proxy had time')
        assert.deepEqual(await child.exited, ended)
        assert.equal(child.output.err, '')
      },
    )

  test('on PostgreSQL it stops without that at Ctrl-C', onPostgres, async (t) => {
    const store = await migratedStore('postgres')
    t.after(() => store.remove())
    const child = await serveChild({ env: { CHIRON_DATABASE_URL: store.url } })
    const { finish } = await halfSent(child.port)
    child.kill('SIGINT')
    assert.equal((await refused(child.url)).status, 503)
    assert.match(await finish(), /^HTTP\/1\.1 202 /)
    assert.deepEqual(await child.exited, ended)
  })

  for (const workers of ['1', '2'])
    test(`ends in time when a request never ends, and says so, with CHIRON_WORKERS=${workers}`, async () => {
      const child = await serveChild({ cwd: folder.path, env: { ...ownStore(), CHIRON_WORKERS: workers } })
      const { socket } = await halfSent(child.port)
      child.kill('SIGTERM')
      assert.deepEqual(await child.exited, ended)
      assert.equal(child.output.out.split(cutOff).length, 2)
      socket.destroy()
    })

  for (const workers of ['1', '2'])
    test(`is reached by hundreds of connections at once while it is busy, with CHIRON_WORKERS=${workers}`, async () => {
      const child = await serveChild({ cwd: folder.path, env: { ...ownStore(), CHIRON_WORKERS: workers } })
      process.kill(-child.pid, 'SIGSTOP')
      let connected = 0
      const sockets = Array.from({ length: 700 }, () => connect(child.port, '127.0.0.1', () => connected++))
      await eventually('all are connected', () => connected === sockets.length)
      process.kill(-child.pid, 'SIGCONT')
      assert.equal((await newcomer(child.url)).status, 200)
      for (const socket of sockets) socket.destroy()
      child.kill('SIGTERM')
      assert.deepEqual(await child.exited, ended)
    })

  test('replaces a worker that was killed', async () => {
    const child = await serveChild({ cwd: folder.path, env: { ...ownStore(), CHIRON_WORKERS: '2' } })
    await killWorker(child)
    assert.equal((await fetch(`${child.url}/health/ready`)).status, 200)
    await eventually('it listens', () => child.output.out.split('listening at').length > 3)
    child.kill('SIGTERM')
    assert.deepEqual(await child.exited, ended)
  })

  test('goes on with the other worker while a new one cannot start, and tries again', async () => {
    const env = { ...ownStore(), CHIRON_WORKERS: '2' }
    const child = await serveChild({ cwd: folder.path, env })
    // Until the primary has heard of every worker, one that cannot start ends the service.
    await eventually('the service is up', () => child.output.out.includes('mail is shown at /mailbox'))
    const store = new DatabaseSync(join(folder.path, env.CHIRON_DATABASE_URL.slice('sqlite:'.length)), {
      timeout: patienceMs,
    })
    store.exec("insert into migration (version, name, applied_at) values (9999, '9999_later_needs_9999', 0)")
    process.kill(childrenOf(child.pid)[0]!, 'SIGKILL')
    await eventually('the new one says why it cannot start', () => child.output.out.includes('9999'))
    assert.equal((await fetch(`${child.url}/health/ready`)).status, 200)
    store.exec('delete from migration where version = 9999')
    store.close()
    await eventually('a new one listens', () => child.output.out.split('listening at').length > 3)
    child.kill('SIGTERM')
    assert.deepEqual(await child.exited, ended)
  })

  test('ends at once also when a worker has only just been started', async () => {
    const child = await serveChild({ cwd: folder.path, env: { ...ownStore(), CHIRON_WORKERS: '2' } })
    await killWorker(child)
    child.kill('SIGTERM')
    assert.deepEqual(await child.exited, ended)
    assert.doesNotMatch(child.output.out, cutOff)
  })

  test('starts no worker any more once it is told to stop', async () => {
    const child = await serveChild({ cwd: folder.path, env: { ...ownStore(), CHIRON_WORKERS: '2' } })
    const before = childrenOf(child.pid)
    // One at each worker, so that the other worker has something to finish. It must be there beforehand: a second after
    // its end a worker is replaced.
    const requests = [await halfSent(child.port), await halfSent(child.port)]
    process.kill(before[0]!, 'SIGKILL')
    await eventually('its end is noticed', () => child.output.out.includes('a worker ended'))
    child.kill('SIGTERM')
    const told = Date.now()
    await eventually('the time in which it would have been replaced', () => {
      assert.deepEqual(childrenOf(child.pid), [before[1]])
      return Date.now() - told > 2_000
    })
    const { finish } = requests.find(({ socket }) => !socket.destroyed)!
    assert.match(await finish(), /^HTTP\/1\.1 202 /)
    assert.deepEqual(await child.exited, ended)
  })

  test('shows people on a terminal where everything is, in plain words', async () => {
    const port = await freePort()
    const command = `echo "pid $$"; exec "${process.execPath}" "${main}" serve`
    const child = startProcess('script', ['-qec', command, '/dev/null'], {
      cwd: folder.path,
      env: { ...ownStore(), CHIRON_PORT: String(port), TERM: 'xterm' },
    })
    await eventually('the addresses', () => /^ +Mailbox +http/m.test(child.output.out))
    const base = `http://localhost:${port}`
    for (const [name, url] of [
      ['Portal', `${base}/`],
      ['API reference', `${base}/docs`],
      ['Mailbox', `${base}/mailbox`],
    ])
      assert.match(child.output.out, new RegExp(`^ +${name} +${url}\\r?$`, 'm'))
    assert.match(child.output.out, /INFO.*listening at/)
    assert.doesNotMatch(child.output.out, /"msg"/)
    process.kill(Number(/pid (\d+)/.exec(child.output.out)![1]), 'SIGTERM')
    assert.equal((await child.exited).code, 0)
  })

  test('logs JSON also on a terminal with --json', async () => {
    const command = `echo "pid $$"; exec "${process.execPath}" "${main}" serve --json`
    const child = startProcess('script', ['-qec', command, '/dev/null'], {
      cwd: folder.path,
      env: { ...ownStore(), CHIRON_PORT: String(await freePort()), TERM: 'xterm' },
    })
    await eventually('a log line', () => child.output.out.includes('listening at'))
    process.kill(Number(/pid (\d+)/.exec(child.output.out)![1]), 'SIGTERM')
    assert.equal((await child.exited).code, 0)
    for (const line of lines(child.output.out.replaceAll('\r', '')).slice(1)) JSON.parse(line)
  })

  test('is what npm start runs, which passes the signal on and ends with 0', async () => {
    const child = await serveChild(
      { cwd: root, env: { CHIRON_DATABASE_URL: `sqlite:${folder.path}/npm/chiron.db` } },
      (_args, options) => startProcess('npm', ['start', '--silent'], options),
    )
    await stopsInOrder(child)
  })
})

describe('What goes wrong is said on one line, with an exit code', atLength, () => {
  const failing = async (args: string[], env: Record<string, string>) => {
    const child = startChiron(args, { cwd: folder.path, env: { ...ownStore(), ...env } })
    const late = setTimeout(() => child.kill('SIGKILL'), patienceMs)
    const { code, signal } = await child.exited
    clearTimeout(late)
    assert.equal(signal, null, 'it did not end by itself')
    assert.ok(code! > 0)
    assert.deepEqual(lines(child.output.err).length, 1, child.output.err)
    return child.output.err
  }

  test('for a wrong setting', async () => {
    assert.match(await failing(['serve'], { CHIRON_PORT: 'x' }), /^chiron: CHIRON_PORT must be /)
    assert.match(await failing(['serve'], { CHIRON_PROT: '1' }), /did you mean CHIRON_PORT\?/)
    assert.match(await failing(['migrate'], { CHIRON_LIMITS: 'x' }), /CHIRON_LIMITS/)
  })

  for (const workers of ['1', '2']) {
    test(`for a port in use, with ${workers} worker${workers === '1' ? '' : 's'}`, async () => {
      const taken = createServer()
      await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
      const { port } = taken.address() as { port: number }
      try {
        const env = { CHIRON_PORT: String(port), CHIRON_WORKERS: workers }
        assert.match(await failing(['serve'], env), new RegExp(`port ${port} is in use`))
      } finally {
        taken.close()
      }
    })
  }

  test('for a store out of reach', async () => {
    const port = await freePort()
    const env = { CHIRON_DATABASE_URL: `postgres://u:hunter2@127.0.0.1:${port}/none` }
    for (const command of ['serve', 'migrate']) assert.doesNotMatch(await failing([command], env), /hunter2/)
    const folderThatIsAFile = {
      CHIRON_DATABASE_URL: 'sqlite:/dev/null/chiron.db',
      CHIRON_SECRET: 'a secret for tests that is long enough',
    }
    await failing(['serve'], folderThatIsAFile)
  })

  test('for a command or an option that does not exist', async () => {
    assert.match(await failing(['srve'], {}), /unknown command 'srve'/)
    assert.match(await failing(['serve', '--prot=1'], {}), /unknown option '--prot=1'/)
  })
})

describe('The other commands', () => {
  const run = async (args: string[], env: Record<string, string>) => {
    const child = startChiron(args, { cwd: folder.path, env })
    assert.deepEqual(await child.exited, ended)
    assert.equal(child.output.err, '')
    return child.output.out
  }

  test('chiron migrate brings the store up to date, and says what it did', async () => {
    const env = ownStore()
    const { applied } = JSON.parse(await run(['migrate', '--json'], env))
    assert.ok(applied.length > 0)
    assert.deepEqual(JSON.parse(await run(['migrate', '--json'], env)), { applied: [] })
    assert.match(await run(['migrate'], env), /^The store is up to date\.\n$/)
  })

  test('chiron --help lists the commands', async () => {
    const help = await run(['--help'], {})
    for (const command of ['serve', 'migrate']) assert.match(help, new RegExp(`^ +${command}\\b`, 'm'))
    assert.match(await run(['--version'], {}), /^\d+\.\d+\.\d+\n$/)
  })
})
