import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Service, startService } from './support/service.ts'

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Buffer
}

suite('Compression', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite', { env: { CHIRON_CORS_ORIGINS: 'https://app.example' } })
  })
  after(() => service.stop())

  /** The reply is returned as it comes over the wire. */
  const ask = (path: string, headers: Record<string, string>, method = 'GET') =>
    new Promise<Answer>((resolve, reject) => {
      const asked = request(`${service.url}${path}`, {
        method,
        headers: { ...freshNetwork(), ...headers },
        agent: false,
      })
      asked.on('response', async (reply) => {
        const bytes = Buffer.concat(await reply.toArray())
        const fields = Object.entries(reply.headers).map(([name, value]) => [name, value?.toString()])
        resolve({ status: reply.statusCode ?? 0, headers: Object.fromEntries(fields), bytes })
      })
      asked.on('error', reject)
      asked.end()
    })
  const varies = ({ headers }: Answer, name: string) =>
    (headers.vary ?? '').toLowerCase().split(', ').includes(name)

  const large = [
    '/openapi.json',
    '/problems',
    '/',
    '/llms.txt',
    '/docs',
    '/assets/docs.js',
    '/assets/theme.css',
  ]
  for (const path of large) {
    test(`${path} is compressed for whoever asks, and the same in each encoding`, async () => {
      const plain = await ask(path, {})
      assert.equal(plain.status, 200)
      assert.ok(plain.bytes.length >= 1024)
      assert.equal(plain.headers['content-encoding'], undefined)
      const br = await ask(path, { 'accept-encoding': 'gzip, deflate, br, zstd' })
      const gzip = await ask(path, { 'accept-encoding': 'gzip' })
      assert.equal(br.headers['content-encoding'], 'br')
      assert.equal(gzip.headers['content-encoding'], 'gzip')
      assert.ok(brotliDecompressSync(br.bytes).equals(plain.bytes))
      assert.ok(gunzipSync(gzip.bytes).equals(plain.bytes))
      for (const answer of [plain, br, gzip]) {
        assert.ok(varies(answer, 'accept-encoding'))
        assert.ok(varies(answer, 'origin'))
        const length = answer.headers['content-length']
        if (length !== undefined) assert.equal(Number(length), answer.bytes.length)
      }
    })

    test(`HEAD ${path} has the encoding of GET`, async () => {
      const headers = { 'accept-encoding': 'br' }
      const [whole, head] = [await ask(path, headers), await ask(path, headers, 'HEAD')]
      assert.equal(head.bytes.length, 0)
      for (const name of ['content-encoding', 'content-type', 'vary', 'etag'])
        assert.equal(head.headers[name], whole.headers[name], name)
    })
  }

  const choices: [accept: string, encoding: string | undefined][] = [
    ['br;q=0.5, gzip', 'gzip'],
    ['BR', 'br'],
    ['*', 'br'],
    ['*;q=0.1, br;q=0', 'gzip'],
    ['identity', undefined],
    ['br;q=0, gzip;q=0', undefined],
    ['deflate, zstd', undefined],
    ['', undefined],
    [';;,,q=', undefined],
  ]
  for (const [accept, encoding] of choices) {
    test(`Accept-Encoding: ${accept} gets ${encoding ?? 'it plain'}`, async () => {
      const reply = await ask('/openapi.json', { 'accept-encoding': accept })
      assert.equal(reply.status, 200)
      assert.equal(reply.headers['content-encoding'], encoding)
    })
  }

  test('Small replies, and those without a body, go out as they are', async () => {
    for (const path of ['/health/live', '/robots.txt', '/nowhere']) {
      const reply = await ask(path, { 'accept-encoding': 'br, gzip' })
      assert.equal(reply.headers['content-encoding'], undefined, path)
      assert.equal(Number(reply.headers['content-length']), reply.bytes.length, path)
      assert.ok(!varies(reply, 'accept-encoding'), path)
    }
    const { access } = await service.signIn(freshAddress())
    const headers = { 'accept-encoding': 'br', authorization: `Bearer ${access}` }
    const gone = await ask('/session', headers, 'DELETE')
    assert.deepEqual([gone.status, gone.headers['content-encoding']], [204, undefined])
  })

  test('What is personal is compressed as well, and stays unkept', async () => {
    const email = freshAddress()
    const { access } = await service.signIn(email)
    for (let i = 0; i < 3; i++) await service.signIn(email, freshNetwork())
    const headers = { 'accept-encoding': 'br', authorization: `Bearer ${access}` }
    const reply = await ask('/veterinarian/me/export', headers)
    assert.equal(reply.headers['content-encoding'], 'br')
    assert.equal(reply.headers['cache-control'], 'no-store')
    assert.equal(JSON.parse(brotliDecompressSync(reply.bytes).toString()).profile.email, email)
  })

  test('Files that were compressed when built are sent as they are', async () => {
    const page = (await ask('/', {})).bytes.toString()
    const script = /src="(\/web\/[^"]+\.js)"/.exec(page)![1]!
    const plain = await ask(script, {})
    const br = await ask(script, { 'accept-encoding': 'br' })
    for (const { headers } of [plain, br])
      assert.equal(headers.vary?.toLowerCase().split('accept-encoding').length, 2)
    assert.equal(br.headers['content-encoding'], 'br')
    assert.ok(brotliDecompressSync(br.bytes).equals(plain.bytes))
    assert.equal(Number(br.headers['content-length']), br.bytes.length)
  })

  for (const path of ['/openapi.json', '/docs', '/problems', '/problems/timeout']) {
    test(`${path} has an ETag, the same in each encoding, and answers 304 to it`, async () => {
      const [plain, br] = [await ask(path, {}), await ask(path, { 'accept-encoding': 'br' })]
      const etag = plain.headers.etag ?? ''
      assert.match(etag, /^W\/"[\w-]{22}"$/)
      assert.equal(br.headers.etag, etag)
      assert.equal(plain.headers['cache-control'], 'public, max-age=60')
      for (const match of [etag, etag.slice(2), '*', `"x", ${etag}`]) {
        for (const method of ['GET', 'HEAD']) {
          const again = await ask(path, { 'if-none-match': match, 'accept-encoding': 'br' }, method)
          assert.equal(again.status, 304)
          assert.equal(again.bytes.length, 0)
          assert.deepEqual([again.headers.etag, again.headers['content-encoding']], [etag, undefined])
        }
      }
      assert.equal((await ask(path, { 'if-none-match': '"x"' })).status, 200)
    })
  }
})
