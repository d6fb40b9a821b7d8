/** nginx and Caddy, with the files of deploy/, in front of two workers. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { openDb } from '../src/platform/db/open.ts'
import { fingerprint, secretsFrom } from '../src/platform/lib/secret.ts'
import {
  type Child,
  endProcesses,
  newFolder,
  type ServingChild,
  serveStore,
  startProcess,
} from './support/child.ts'
import { atLength, migratedStore } from './support/engines.ts'
import { expired } from './support/expired.ts'
import { programOf } from './support/install.ts'
import { freePort } from './support/postgres.ts'
import { startMailServer } from './support/smtp.ts'
import { eventually, patienceMs } from './support/wait.ts'

const secret = 'a secret for tests that is long enough'
const read = (name: string) => readFileSync(new URL(`../deploy/${name}`, import.meta.url), 'utf8')

interface Reply {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: Buffer
}

interface Ask {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  /** The address to call from. */
  readonly from?: string
}

interface Front {
  readonly port: number
  /** Where it redirects from. */
  readonly plainPort: number
  readonly process: Child
  /** Everything that it has written so far, into any log. */
  log(): string
}

/** Replaces a line that the file must have. */
function put(text: string, from: string, to: string): string {
  assert.ok(text.includes(from), `the file has no "${from}"`)
  return text.replaceAll(from, to)
}

async function startNginx(folder: string, target: number): Promise<Front> {
  const [port, plainPort] = [await freePort(), await freePort()]
  let server = read('nginx/chiron.conf')
  server = put(server, 'server 127.0.0.1:3000;', `server 127.0.0.1:${target};`)
  server = put(server, 'listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`)
  server = put(server, 'listen 80;', `listen 127.0.0.1:${plainPort};`)
  server = put(server, '/etc/letsencrypt/live/access.example.org/fullchain.pem', `${folder}/cert.pem`)
  server = put(server, '/etc/letsencrypt/live/access.example.org/privkey.pem', `${folder}/key.pem`)
  server = put(server, '/var/log/nginx/', `${folder}/log/`)
  mkdirSync(join(folder, 'log'))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ')
  // Started by root, its workers would be somebody who may not write to the folder.
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  // The logs are as Debian has them.
  const main = `${user} daemon off; pid ${folder}/nginx.pid; error_log ${folder}/log/error.log; events {}
    http { ${temporary} access_log ${folder}/log/access.log; ${server} }`
  writeFileSync(join(folder, 'nginx.conf'), main)
  const program = programOf('nginx')
  const nginx = startProcess(program, ['-c', join(folder, 'nginx.conf'), '-p', folder], { cwd: folder })
  const logs = join(folder, 'log')
  const log = () =>
    readdirSync(logs)
      .map((name) => readFileSync(join(logs, name), 'utf8'))
      .join('')
  return { port, plainPort, process: nginx, log: () => log() + nginx.output.out + nginx.output.err }
}

async function startCaddy(folder: string, target: number): Promise<Front> {
  const [port, plainPort] = [await freePort(), await freePort()]
  let file = read('caddy/Caddyfile')
  file = put(
    file,
    'access.example.org {',
    `localhost {\n\ttls ${folder}/cert.pem ${folder}/key.pem\n\tbind 127.0.0.1`,
  )
  file = put(file, '127.0.0.1:3000', `127.0.0.1:${target}`)
  file = put(
    file,
    '{\n\t# Addresses',
    `{\n\tadmin off\n\thttp_port ${plainPort}\n\thttps_port ${port}\n\t# Addresses`,
  )
  writeFileSync(join(folder, 'Caddyfile'), file)
  const program = programOf('caddy')
  const args = ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile']
  const process = startProcess(program, args, { cwd: folder, env: { HOME: folder } })
  return { port, plainPort, process, log: () => process.output.out + process.output.err }
}

for (const [name, start] of [
  ['nginx', startNginx],
  ['Caddy', startCaddy],
] as const) {
  suite(`Behind ${name}, two workers`, atLength, () => {
    let front: Front
    let databaseUrl: string
    let service: ServingChild

    const call = (path: string, { method = 'GET', headers = {}, body, from }: Ask = {}) =>
      new Promise<Reply>((resolve, reject) => {
        const sent = request(
          {
            host: '127.0.0.1',
            port: front.port,
            servername: 'localhost',
            path,
            method,
            headers: {
              Host: `localhost:${front.port}`,
              ...(body !== undefined && { 'Content-Type': 'application/json' }),
              ...headers,
            },
            rejectUnauthorized: false,
            agent: false,
            ...(from !== undefined && { localAddress: from }),
          },
          (reply) => {
            const chunks: Buffer[] = []
            reply.on('data', (chunk) => chunks.push(chunk))
            reply.on('end', () =>
              resolve({ status: reply.statusCode!, headers: reply.headers, body: Buffer.concat(chunks) }),
            )
          },
        )
        sent.on('error', reject)
        sent.end(body)
      })

    const ends: (() => unknown)[] = []
    before(async () => {
      const folder = newFolder()
      writeFileSync(join(folder.path, 'cert.pem'), expired.cert)
      writeFileSync(join(folder.path, 'key.pem'), expired.key)
      const store = await migratedStore('sqlite')
      const mail = await startMailServer()
      ends.push(
        () => folder.remove(),
        () => store.remove(),
        () => mail.close(),
      )
      databaseUrl = store.url
      const env = { CHIRON_WORKERS: '2', CHIRON_PUBLIC_URL: 'https://chiron.localhost' }
      service = await serveStore(store.url, mail, env)
      ends.push(() => service.end())
      front = await start(folder.path, service.port)
      ends.push(() => front.process.end())
      let ended = false
      front.process.exited.then(() => {
        ended = true
      })
      await eventually(`${name} answers`, async () => {
        if (ended) throw new Error(front.process.output.err)
        return (await call('/health/ready').catch(() => null))?.status === 200
      })
    })
    after(async () => {
      for (const end of ends.reverse()) await end()
      endProcesses()
    })

    test('see each caller by the address that the proxy saw, and no address that a caller made up', async () => {
      const register = (email: string, from: string, headers: Record<string, string> = {}) =>
        call('/veterinarian/register', {
          method: 'POST',
          from,
          headers,
          body: JSON.stringify({ firstname: 'Ada', lastname: 'Marsh', email }),
        })
      const made = { 'X-Forwarded-For': '203.0.113.9' }
      assert.equal((await register('a@proxy.example', '127.0.0.11')).status, 202)
      assert.equal((await register('b@proxy.example', '127.0.0.12')).status, 202)
      assert.equal((await register('c@proxy.example', '127.0.0.11', made)).status, 202)
      const db = openDb(databaseUrl, { readOnly: true })
      const rows = await eventually('three registrations', async () => {
        const found = await db.all<{ network_fingerprint: string }>(
          `select network_fingerprint from event
           where type = 'veterinarian.registered' and network_fingerprint <> ''`,
        )
        return found.length === 3 && found
      })
      await db.close()
      const networkOf = (address: string) =>
        fingerprint(secretsFrom(secret, null).current, 'network', address)
      assert.deepEqual(
        rows.map((row) => row.network_fingerprint).sort(),
        ['127.0.0.11', '127.0.0.11', '127.0.0.12'].map(networkOf).sort(),
      )
    })

    test('keep their headers, the id of the request and the problem of a body that is too large', async () => {
      const tooLarge = (bytes: number) =>
        call('/veterinarian/register', { method: 'POST', body: JSON.stringify('x'.repeat(bytes)) })
      // A reply that comes before the body was read can get lost on the way through a proxy.
      for (let i = 0; i < 50; i++) assert.equal((await tooLarge(200_000)).status, 413)
      const { status, headers, body } = await tooLarge(20_000)
      assert.equal(status, 413)
      assert.match(String(headers['content-type']), /^application\/problem\+json/)
      const problem = JSON.parse(body.toString())
      assert.equal(problem.code, 'body-too-large')
      assert.equal(headers['request-id'], problem.instance)
      assert.equal(headers['api-version'], '1')
      assert.match(String(headers['strict-transport-security']), /max-age=/)
      assert.equal((await call('/nowhere')).status, 404)
      const refused = await call('/veterinarian/register', { method: 'DELETE' })
      assert.deepEqual([refused.status, refused.headers.allow], [405, 'POST'])
    })

    test('answer HEAD without a body, and 304 to who has the reply already', async () => {
      const whole = await call('/openapi.json')
      const head = await call('/openapi.json', { method: 'HEAD' })
      assert.equal(head.status, 200)
      assert.equal(head.body.length, 0)
      const page = await call('/')
      assert.equal(page.status, 200)
      const script = /src="(\/assets\/[^"]+\.js)"/.exec(page.body.toString())?.[1] ?? '/openapi.json'
      const first = await call(script)
      assert.ok(first.headers.etag)
      const again = await call(script, { headers: { 'If-None-Match': String(first.headers.etag) } })
      assert.deepEqual([again.status, again.body.length], [304, 0])
      assert.ok(whole.body.length > 1_000)
    })

    test('compress once', async () => {
      const { headers, body } = await call('/openapi.json', { headers: { 'Accept-Encoding': 'gzip' } })
      assert.equal(headers['content-encoding'], 'gzip')
      assert.match(String(headers.vary), /Accept-Encoding/i)
      assert.equal(JSON.parse(gunzipSync(body).toString()).openapi, '3.1.0')
    })

    test('have no secret and no name in any log of the proxy, in failures neither', async () => {
      const plain = (path: string) =>
        fetch(`http://127.0.0.1:${front.plainPort}${path}`, {
          redirect: 'manual',
          headers: { Host: `localhost:${front.plainPort}`, Referer: `https://localhost${path}` },
        })
      const ask = async () => {
        for (const path of telling) {
          await call(path, { headers: tellingHeaders })
          const { status } = await plain(path)
          assert.equal(status, 308)
          await raw(front.port, `GET https://localhost${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
          await raw(front.port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`)
          await raw(front.port, `GET ${path} HTTP/9.9\r\n\r\n`)
          await raw(front.port, `GET ${path}\x01 HTTP/1.1\r\nHost: a b\r\n\r\n`)
        }
        const body = JSON.stringify('x'.repeat(2_000_000))
        await call(telling[0]!, { method: 'POST', body }).catch(() => null)
      }
      await ask()
      await service.end()
      assert.ok((await call('/calendar/gone.ics')).status >= 502)
      await ask()
      await call('/last-of-all/')
      const log = await eventually('the last request in the log', () => {
        const text = front.log()
        return text.includes('/last-of-all') && text
      })
      for (const secret of secrets) assert.ok(!log.toLowerCase().includes(secret.toLowerCase()), secret)
      // It was written, and tells what was asked for.
      for (const path of ['/calendar', '/c', '/staff/people', '/mailbox.json'])
        assert.match(log, new RegExp(`${path}["?\\s]`))
    })
  })
}

const secrets = [
  'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq',
  'qX7-b_c9dEfGhIjKlMnOpQ',
  'eyJhbGciOiJFUzI1NiJ9',
  'feldman',
  'ada@',
  'ada%40',
  'code-of-an-application',
  'token-of-somebody',
]
const [feed, card, jwt] = secrets as [string, string, string]
const telling = [
  `/calendar/${feed}.ics`,
  `//calendar/${feed}.ics`,
  `/calendar%2F${feed}.ics`,
  `/CALENDAR/${feed}.ics`,
  `/x/../calendar/${feed}.ics?${feed}`,
  `/c/${card}`,
  `/c/${jwt}.payload.signature`,
  '/staff/people?q=Naomi%20Feldman',
  '/staff/deliveries?email=ada%40clinic.example',
  '/mailbox.json?to=ada@clinic.example&reference=ABC',
  '/oauth/authorize?login_hint=ada@clinic.example&code=code-of-an-application',
  '/people/ada@clinic.example/Feldman',
]
const tellingHeaders = {
  Referer: `https://localhost/calendar/${feed}.ics?q=Feldman`,
  Authorization: `Basic ${Buffer.from('token-of-somebody:x').toString('base64')}`,
  Cookie: 'chiron_refresh=token-of-somebody',
  'Idempotency-Key': 'token-of-somebody',
}

/** What HTTP libraries refuse to send; resolves when the proxy has closed the connection. */
function raw(port: number, text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connectTls({ host: '127.0.0.1', port, servername: 'localhost', rejectUnauthorized: false })
    socket.on('error', () => resolve())
    socket.on('close', () => resolve())
    socket.on('data', () => socket.end())
    socket.write(text)
    socket.setTimeout(patienceMs, () => socket.destroy())
  })
}
