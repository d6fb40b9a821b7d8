/** Where rosters are fetched from: folders, and real HTTPS and SFTP servers that hang, lie and change. */
import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer as createWebServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { type Arrival, FetchError, type Limits, usualLimits } from '../src/school/roster/fetch/arrival.ts'
import { takeFromFolder } from '../src/school/roster/fetch/folder.ts'
import { atRest, type Entry, entryOf, type FoundSet, newestSet } from '../src/school/roster/fetch/newest.ts'
import { takeFromSftp } from '../src/school/roster/fetch/sftp.ts'
import { takeFromWeb } from '../src/school/roster/fetch/web.ts'
import { parseSource, placeOf, type SftpSource, type WebSource } from '../src/school/roster/source.ts'
import { certificateFor } from './support/certificate.ts'
import { freshPath, packZip } from './support/roster-files.ts'
import { bulkFiles, newSchool } from './support/roster-school.ts'
import { fingerprintOf, newKey, type SftpServer, startSftp } from './support/sftp.ts'

const zip = await packZip(bulkFiles(newSchool(3)))
const secret = 'p@ss/wörd'
const limits: Limits = { ...usualLimits, quietMs: 0, pollMs: 5 }
/** For servers that never answer. */
const hasty: Limits = { ...limits, silenceMs: 200 }

function newFolder(): string {
  const folder = freshPath('fetched')
  mkdirSync(folder)
  return folder
}

/** Why it could not be had: one line without any password. */
async function refusal(taking: Promise<unknown>, exitCode = 1): Promise<string> {
  const error = await taking.then(
    () => assert.fail('it was taken'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof FetchError, String(error))
  assert.equal(error.exitCode, exitCode, error.message)
  assert.doesNotMatch(error.message, /[\r\n]|p@ss|p%40ss|sesame/)
  return error.message
}

const contentOf = (arrival: Arrival | null) => readFileSync(arrival!.path)

suite('A folder', () => {
  const old = new Date('2026-11-01T00:00:00Z')
  const put = (folder: string, name: string, content: string | Buffer = zip, at = old) => {
    writeFileSync(join(folder, name), content)
    utimesSync(join(folder, name), at, at)
  }
  const take = (path: string, known: string | null = null, within = limits) =>
    takeFromFolder({ kind: 'folder', path }, { known, folder: '/nowhere', limits: within })

  test('gives its newest zip, once', async () => {
    const folder = newFolder()
    put(folder, 'b.zip', zip, new Date('2026-11-03T00:00:00Z'))
    put(folder, 'a.ZIP', zip, new Date('2026-11-04T00:00:00Z'))
    put(folder, 'c.zip', zip, new Date('2026-11-02T00:00:00Z'))
    put(folder, 'd.zip.part', 'half', new Date())
    put(folder, '.e.zip', 'half', new Date())
    mkdirSync(join(folder, 'f.zip'))
    const arrival = await take(folder)
    assert.deepEqual([arrival?.name, arrival?.path], ['a.ZIP', join(folder, 'a.ZIP')])
    assert.equal(await take(folder, arrival!.mark), null)
    utimesSync(join(folder, 'c.zip'), new Date(), new Date())
    assert.equal((await take(folder, arrival!.mark))?.name, 'c.zip')
  })

  test('is a set itself if it holds CSV files that are newer than any zip in it', async () => {
    const folder = newFolder()
    for (const [name, content] of Object.entries(bulkFiles(newSchool(3)))) put(folder, name, content)
    put(folder, 'older.zip', zip, new Date('2026-10-01T00:00:00Z'))
    assert.equal((await take(folder))?.path, folder)
    put(folder, 'newer.zip', zip, new Date('2026-11-02T00:00:00Z'))
    assert.equal((await take(folder))?.name, 'newer.zip')
  })

  test('may be one zip, or lead to it by a link', async () => {
    const folder = newFolder()
    put(folder, 'roster.zip')
    assert.equal((await take(join(folder, 'roster.zip')))?.path, join(folder, 'roster.zip'))
    const other = newFolder()
    symlinkSync(join(folder, 'roster.zip'), join(other, 'linked.zip'))
    assert.equal((await take(other))?.name, 'linked.zip')
  })

  test('that is empty, is missing or holds something else is named for it', async () => {
    const folder = newFolder()
    assert.match(await refusal(take(folder)), /neither a zip nor a CSV file/)
    put(folder, 'readme.txt', 'hello')
    assert.match(await refusal(take(folder)), /neither a zip nor a CSV file/)
    assert.match(await refusal(take(join(folder, 'none'))), /folder does not exist/)
    assert.match(await refusal(take(join(folder, 'readme.txt'))), /neither a zip nor/)
  })

  test('where a set changes while it is read gives nothing', async () => {
    const folder = newFolder()
    put(folder, 'roster.zip')
    const arrival = await take(folder)
    await arrival!.verify()
    appendFileSync(join(folder, 'roster.zip'), 'more')
    assert.match(await refusal(arrival!.verify()), /changed while it was being read/)
  })
})

suite('A set that somebody is uploading', () => {
  const entry = (bytes: number, changedAt: number): Entry => ({ name: 'roster.zip', bytes, changedAt })
  const found = (one: Entry): FoundSet => newestSet([one])!
  /** Every pause lets a second pass; what is seen is a function of the time. */
  function world(seen: (now: number) => Entry) {
    let now = 1_000_000
    const time = {
      now: () => now,
      elapsed: () => now,
      async pause(ms: number) {
        now += ms
      },
    }
    const start = now
    const wait = () => atRest(async () => found(seen(now - start)), usualLimits, time)
    return { wait, passed: () => now - start }
  }

  test('is taken when it has not changed for ten seconds', async () => {
    const { wait, passed } = world((ms) => entry(Math.min(ms, 30_000), 1_000_000 + Math.min(ms, 30_000)))
    assert.equal((await wait()).files[0]!.bytes, 30_000)
    assert.equal(passed(), 40_000)
  })

  test('is taken at once if it is old', async () => {
    const { wait, passed } = world(() => entry(5, 900_000))
    await wait()
    assert.equal(passed(), 0)
  })

  test('is watched for ten seconds if the clock of the server is ahead', async () => {
    const { wait, passed } = world(() => entry(5, 9_000_000))
    await wait()
    assert.equal(passed(), 10_000)
  })

  test('is left alone if nobody finishes it within ten minutes', async () => {
    const { wait, passed } = world((ms) => entry(ms, 1_000_000 + ms))
    assert.match(await refusal(wait()), /roster\.zip is still being written/)
    assert.ok(passed() >= 600_000 && passed() < 660_000)
  })
})

test('The time of a file is a whole number of milliseconds, or the file is refused', () => {
  assert.equal(entryOf('a.zip', 1, 1_763_078_400_000.9).changedAt, 1_763_078_400_000)
  assert.throws(() => entryOf('a.zip', 1, Number.NaN), /does not say when/)
})

test('Of names that a server gives only plain ones are taken', () => {
  const named = (name: string) => newestSet([{ name, bytes: 1, changedAt: 1 }])
  for (const name of ['../evil.zip', '/evil.zip', '..\\evil.zip', 'a/b.zip', '.zip', 'a\0.zip', 'zip'])
    assert.equal(named(name), null, name)
  assert.equal(named('année 2026 (1).zip')?.zip, 'année 2026 (1).zip')
  const tables = Array.from({ length: 65 }, (_, i) => ({ name: `${i}.csv`, bytes: 1, changedAt: 1 }))
  assert.throws(() => newestSet(tables), /65 CSV files/)
})

suite('A web address', () => {
  const trusted = getCACertificates('default')
  const certificate = certificateFor('localhost')
  const asked: IncomingMessage[] = []
  let answer: RequestListener
  let port: number
  const servers: ReturnType<typeof createWebServer>[] = []

  async function startWeb(listener: RequestListener): Promise<number> {
    const server = createWebServer({ ...certificate }, listener)
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }

  before(async () => {
    setDefaultCACertificates([...trusted, certificate.cert])
    port = await startWeb((request, response) => {
      asked.push(request)
      answer(request, response)
    })
  })
  after(() => {
    setDefaultCACertificates(trusted)
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  })

  const web = (address: string, header: string | null = null): WebSource => {
    const source = parseSource({ source: address, header, hostKeys: [], keyFile: null })
    assert.ok('kind' in source && source.kind === 'web', JSON.stringify(source))
    return source
  }
  const here = () => `https://ada:${encodeURIComponent(secret)}@localhost:${port}/out/roster.zip?token=tok`
  const take = (known: string | null = null, within = limits, source = web(here())) =>
    takeFromWeb(source, { known, folder: newFolder(), limits: within })
  const sendZip = (response: ServerResponse, headers: Record<string, string> = {}) =>
    response.writeHead(200, { 'Content-Type': 'application/zip', ...headers }).end(zip)
  const basic = `Basic ${Buffer.from(`ada:${secret}`).toString('base64')}`

  test('gives its zip to whoever knows the password, and an unchanged one not twice', async () => {
    answer = (request, response) => {
      if (request.headers.authorization !== basic) response.writeHead(401).end()
      else if (request.headers['if-none-match'] === '"one"') response.writeHead(304).end()
      else sendZip(response, { ETag: '"one"' })
    }
    const arrival = await take()
    assert.deepEqual(contentOf(arrival), zip)
    assert.equal(arrival?.name, 'roster.zip')
    assert.equal(await take(arrival!.mark), null)
    assert.deepEqual(contentOf(await take('{"etag":"\\"other\\""}')), zip)
  })

  test('is asked by date if it gives no ETag, and always if it gives neither', async () => {
    const modified = 'Sun, 15 Nov 2026 02:00:00 GMT'
    answer = (request, response) => {
      if (request.headers['if-modified-since'] === modified) response.writeHead(304).end()
      else sendZip(response, { 'Last-Modified': modified })
    }
    const arrival = await take()
    assert.equal(await take(arrival!.mark), null)
    answer = (_request, response) => sendZip(response)
    assert.equal((await take())?.mark, null)
  })

  test('gets a header, with or beside a password', async () => {
    answer = (request, response) =>
      request.headers['x-api-key'] === 'k e y' ? sendZip(response) : response.writeHead(403).end()
    const source = web(`https://localhost:${port}/export`, 'X-Api-Key: k e y')
    const arrival = await take(null, limits, source)
    assert.deepEqual(contentOf(arrival), zip)
    assert.equal(arrival?.name, 'roster.zip', 'a path that is no file name is not shown')
    assert.equal(asked.at(-1)!.headers.authorization, undefined)
  })

  for (const [status, says] of [
    [401, /refuses access \(401\)/],
    [403, /refuses access \(403\)/],
    [404, /no file at this address \(404\)/],
    [500, /internal error \(500\)/],
    [503, /internal error \(503\)/],
    [304, /status 304/],
    [206, /status 206/],
  ] as const)
    test(`that answers ${status} is told plainly`, async () => {
      answer = (_request, response) => response.writeHead(status).end()
      assert.match(await refusal(take()), says)
    })

  test('is followed to another server, which never sees the password', async () => {
    const seen: IncomingMessage[] = []
    const other = await startWeb((request, response) => {
      seen.push(request)
      sendZip(response)
    })
    answer = (request, response) =>
      request.url === '/there'
        ? response.writeHead(307, { Location: `https://eve:x@localhost:${other}/roster.zip` }).end()
        : response.writeHead(302, { Location: '/there' }).end()
    const source = { ...web(here()), credentials: { Authorization: basic, 'X-Api-Key': 'key' } }
    assert.deepEqual(contentOf(await take(null, limits, source)), zip)
    const there = asked.at(-1)!.headers
    assert.deepEqual([there.authorization, there['x-api-key']], [basic, 'key'], 'the same server')
    const { authorization, 'x-api-key': key } = seen[0]!.headers
    assert.deepEqual([authorization, key], [undefined, undefined])
  })

  test('is not followed for ever, nor to where there is no https', async () => {
    answer = (_request, response) => response.writeHead(302, { Location: '/round' }).end()
    const before = asked.length
    assert.match(await refusal(take()), /redirects more than 5 times/)
    assert.equal(asked.length - before, 6)
    for (const location of ['http://localhost/', 'ftp://localhost/', 'http://127.0.0.1/', 'https://']) {
      answer = (_request, response) => response.writeHead(301, { Location: location }).end()
      assert.match(await refusal(take()), /to an address that is not https/, location)
    }
  })

  test('that hangs is given up, before its answer and within it', async () => {
    answer = () => {}
    assert.match(await refusal(take(null, hasty)), /did not answer within 0\.2 seconds/)
    answer = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/zip', 'Content-Length': String(zip.length) })
      response.write(zip.subarray(0, 10))
    }
    assert.match(await refusal(take(null, hasty)), /did not answer within 0\.2 seconds/)
  })

  test('that sends a little now and then is given up as well', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/zip' })
      const drip = setInterval(() => response.write('x'), 20)
      response.once('close', () => clearInterval(drip))
    }
    assert.match(await refusal(take(null, { ...limits, totalMs: 300 })), /took longer than/)
  })

  test('that breaks off is not believed', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/zip', 'Content-Length': String(zip.length) })
      response.write(zip.subarray(0, 100), () => response.destroy())
    }
    assert.match(await refusal(take()), /cut before the whole file had arrived/)
    answer = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/zip' })
      response.write(zip.subarray(0, 100), () => response.destroy())
    }
    assert.match(await refusal(take()), /cut before the whole file had arrived/)
  })

  test('that sends too much is stopped, whether it says so or not', async () => {
    const small = { ...limits, bytesMax: 1_024 }
    answer = (_request, response) => sendZip(response, { 'Content-Length': String(zip.length) })
    assert.match(await refusal(take(null, small), 3), /larger than/)
    answer = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/zip' })
      const flood = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      }
      response.on('drain', flood)
      flood()
    }
    assert.match(await refusal(take(null, small), 3), /larger than/)
  })

  test('that sends something other than a zip is named for it', async () => {
    const other = (headers: Record<string, string>) => {
      answer = (_request, response) => response.writeHead(200, headers).end('<html>')
      return refusal(take(), 3)
    }
    assert.match(
      await other({ 'Content-Type': 'text/html; charset=utf-8' }),
      /sent a web page .* sign-in page/,
    )
    assert.match(await other({ 'Content-Type': 'text/csv' }), /^the server sent text\/csv instead of a zip$/)
    assert.match(await other({ 'Content-Type': '<b>' }), /^the server sent something unknown/)
    assert.match(
      await other({ 'Content-Type': 'application/zip', 'Content-Encoding': 'gzip' }),
      /compresses the zip again/,
    )
  })

  test('with a certificate that is not trusted, or of another name, gets no password', async () => {
    const before = asked.length
    answer = (_request, response) => sendZip(response)
    const elsewhere = web(here().replace('localhost', '127.0.0.1'))
    assert.match(await refusal(take(null, limits, elsewhere)), /certificate is not trusted/)
    setDefaultCACertificates(trusted)
    assert.match(await refusal(take()), /certificate is not trusted \(self-signed/)
    setDefaultCACertificates([...trusted, certificate.cert])
    assert.equal(asked.length, before)
  })

  test('where nothing listens, or that nobody knows, is told plainly', async () => {
    assert.match(
      await refusal(take(null, limits, web('https://localhost:1/roster.zip'))),
      /nothing is listening there/,
    )
  })
})

suite('An SFTP server', () => {
  let server: SftpServer
  before(async () => {
    server = await startSftp({ password: secret })
  })
  after(() => server.close())

  const sftp = (more: Partial<SftpSource> = {}): SftpSource => ({
    kind: 'sftp',
    host: '127.0.0.1',
    port: server.port,
    user: 'ada',
    password: secret,
    keyFile: null,
    hostKeys: [server.fingerprint],
    path: '/out',
    ...more,
  })
  const take = (source = sftp(), known: string | null = null, within = limits) =>
    takeFromSftp(source, { known, folder: newFolder(), limits: within })
  const put = (name: string, content: Buffer, changedAt = 1_000) =>
    server.files.set(name, { content, changedAt })
  const only = (name: string, content: Buffer) => {
    server.files.clear()
    put(name, content)
  }

  test('gives its newest zip, once', async () => {
    only('old.zip', Buffer.from('old'))
    const large = Buffer.concat([zip, Buffer.alloc(300_000, 7)])
    put('new.zip', large, 2_000)
    const arrival = await take()
    assert.deepEqual(contentOf(arrival), large)
    assert.equal(arrival?.name, 'new.zip')
    assert.equal(await take(sftp(), arrival!.mark), null)
    put('newer.zip', zip, 3_000)
    assert.equal((await take(sftp(), arrival!.mark))?.name, 'newer.zip')
    assert.equal((await take(sftp({ path: '/out/old.zip' })))?.name, 'old.zip')
  })

  test('gives the CSV files of a folder', async () => {
    server.files.clear()
    const files = Object.entries(bulkFiles(newSchool(3)))
    for (const [name, content] of files) put(name, Buffer.from(content))
    const arrival = await take()
    for (const [name, content] of files)
      assert.equal(readFileSync(join(arrival!.path, name), 'utf8'), content.toString())
    assert.equal(arrival?.name, 'out')
  })

  test('writes nowhere but where it should, whatever its files are called', async () => {
    only('../escaped.zip', zip)
    assert.match(await refusal(take()), /neither a zip nor a CSV file/)
    assert.equal(existsSync(join(dirname(newFolder()), 'escaped.zip')), false)
  })

  test('lets somebody in with a private key', async () => {
    const key = newKey()
    const keyed = await startSftp({ publicKey: key.public })
    keyed.files.set('roster.zip', { content: zip, changedAt: 1 })
    const keyFile = freshPath('key')
    writeFileSync(keyFile, key.private)
    const source = sftp({ port: keyed.port, hostKeys: [keyed.fingerprint], password: null, keyFile })
    assert.deepEqual(contentOf(await take(source)), zip)
    writeFileSync(keyFile, newKey().private)
    assert.match(await refusal(take(source)), /refuses the user, password or key/)
    writeFileSync(keyFile, 'no key')
    assert.match(await refusal(take(source)), /must name a private key without a passphrase/)
    assert.match(await refusal(take({ ...source, keyFile: `${keyFile}.none` })), /cannot be read \(ENOENT\)/)
    await keyed.close()
  })

  test('whose key is not known, or has changed, gets no password, and its key is told', async () => {
    only('roster.zip', zip)
    const attempts = server.attempts.length
    const unknown = await refusal(take(sftp({ hostKeys: [] })))
    assert.ok(unknown.includes(`set CHIRON_ROSTER_HOST_KEY=${server.fingerprint}`), unknown)
    const before = fingerprintOf(newKey().public)
    const changed = await refusal(take(sftp({ hostKeys: [before] })))
    assert.match(changed, /the server's key has changed, so nothing was sent/)
    assert.ok(changed.includes(before) && changed.includes(server.fingerprint), changed)
    assert.equal(server.attempts.length, attempts)
    assert.deepEqual(contentOf(await take(sftp({ hostKeys: [before, server.fingerprint] }))), zip)
  })

  test('that refuses access, or has nothing there, is told plainly', async () => {
    only('readme.txt', zip)
    assert.match(await refusal(take(sftp({ password: 'other' }))), /refuses the user, password or key/)
    assert.match(await refusal(take()), /neither a zip nor a CSV file/)
    assert.match(await refusal(take(sftp({ path: '/none' }))), /no such file or folder/)
    assert.match(await refusal(take(sftp({ port: 1 }))), /nothing is listening there/)
  })

  test('that hangs is given up, wherever it does', async () => {
    only('roster.zip', zip)
    for (const where of ['sign-in', 'list', 'read'] as const) {
      server.hangs = where
      assert.match(await refusal(take(sftp(), null, hasty)), /did not answer within 0\.2 seconds/, where)
    }
    server.hangs = 'nothing'
    const mute = createServer(() => {})
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const { port } = mute.address() as AddressInfo
    assert.match(await refusal(take(sftp({ port }), null, hasty)), /did not answer within 0\.2 seconds/)
    mute.close()
  })

  test('whose file changes while it is fetched, or is too large, gives nothing', async () => {
    only('roster.zip', zip)
    server.onRead = () => put('roster.zip', Buffer.concat([zip, zip]), 1_001)
    assert.match(await refusal(take()), /changed while it was being read/)
    server.onRead = () => put('other.zip', zip, 2_000)
    only('roster.zip', zip)
    assert.match(await refusal(take()), /changed while it was being read/)
    server.onRead = () => {}
    assert.match(await refusal(take(sftp(), null, { ...limits, bytesMax: 1_024 }), 3), /larger than/)
  })

  test('that cuts the connection is told plainly', async () => {
    only('roster.zip', zip)
    const cutting = createServer((socket) => void socket.end('SSH-2.0-x\r\n'))
    await new Promise<void>((resolve) => cutting.listen(0, '127.0.0.1', resolve))
    const { port } = cutting.address() as AddressInfo
    assert.match(await refusal(take(sftp({ port }))), /cut/)
    cutting.close()
  })
})

test('A place is shown without anything that may be secret', () => {
  const shown = (source: string) => {
    const parsed = parseSource({ source, header: null, hostKeys: [], keyFile: null })
    return 'kind' in parsed ? placeOf(parsed) : parsed.why
  }
  assert.equal(shown('https://u:pw@sis.example:8443/t0ken/roster.zip?key=s3cret'), 'https://sis.example:8443')
  assert.equal(shown('sftp://u:pw@sis.example/out'), 'sftp://sis.example/out')
  assert.equal(shown('sftp://u:pw@[::1]:2222/~/out'), 'sftp://[::1]:2222/~/out')
  assert.equal(shown('/srv/roster'), '/srv/roster')
})
