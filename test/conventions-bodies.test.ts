import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Service, startService } from './support/service.ts'
import { rowsHolding } from './support/tables.ts'
import { type WireRequest, wire } from './support/wire.ts'

const path = '/veterinarian/register'
const json = 'application/json'

function nested(depth: number): string {
  return `{"firstname":"Ada","lastname":"Marsh","email":"nested@clinic.example","deep":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
}

function padded(bytes: number): string {
  const start = '{"firstname":"Ada","lastname":"Marsh","email":"padded@clinic.example"'
  return `${start}${' '.repeat(bytes - start.length - 1)}}`
}

suite('Bodies', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  const post = (request: WireRequest) =>
    wire(service.url, path, {
      method: 'POST',
      ...request,
      headers: { ...freshNetwork(), ...request.headers },
    })
  const good = () =>
    JSON.stringify({ firstname: 'Ada', lastname: 'Marsh', email: freshAddress('content.type') })

  const accepted = [
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'Application/JSON',
  ]
  for (const type of accepted) {
    test(`A body of type ${type} is read`, async () => {
      const reply = await post({ headers: { 'content-type': type }, body: good() })
      assert.equal(reply.status, 202)
      assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8')
    })
  }

  const refusedTypes: [name: string, type: string | undefined][] = [
    ['no type', undefined],
    ['plain text', 'text/plain'],
    ['a form', 'application/x-www-form-urlencoded'],
    ['multipart', 'multipart/form-data; boundary=x'],
    ['a longer name', 'application/jsonx'],
    ['another JSON type', 'application/merge-patch+json'],
    ['text/json', 'text/json'],
    ['no media type at all', 'garbage'],
    ['JSON in UTF-16', 'application/json; charset=utf-16'],
    ['JSON in Latin-1', 'application/json; charset=iso-8859-1'],
  ]
  for (const [name, type] of refusedTypes) {
    test(`A body with ${name} is 415 with an Accept reply header`, async () => {
      const reply = await post({ headers: type ? { 'content-type': type } : {}, body: good() })
      assert.equal(reply.status, 415)
      assert.equal(reply.json.code, 'unsupported-media-type')
      assert.equal(reply.headers.get('accept'), json)
    })
  }

  test('A body without type is 415 when it comes in chunks, too', async () => {
    const reply = await post({ body: good(), chunked: true })
    assert.equal(reply.status, 415)
    assert.equal(reply.headers.get('accept'), json)
  })

  test('A body in chunks is read like any other', async () => {
    const reply = await post({ headers: { 'content-type': json }, body: good(), chunked: true })
    assert.equal(reply.status, 202)
  })

  const sizes: [name: string, body: string, chunked: boolean, status: number][] = [
    ['of 16 KiB', padded(16 * 1024), false, 202],
    ['of 16 KiB in chunks', padded(16 * 1024), true, 202],
    ['of 16 KiB and one byte', padded(16 * 1024 + 1), false, 413],
    ['of 16 KiB and one byte in chunks', padded(16 * 1024 + 1), true, 413],
    ['of 60 KiB', padded(60 * 1024), false, 413],
  ]
  for (const [name, body, chunked, status] of sizes) {
    test(`A body ${name} is ${status}`, async () => {
      const reply = await post({ headers: { 'content-type': json }, body, chunked })
      assert.equal(reply.status, status)
      if (status === 413) assert.equal(reply.json.code, 'body-too-large')
    })
  }

  const member = '"firstname":"Ada","lastname":"Marsh","email":"m@clinic.example"'
  const malformed: [name: string, body: string | Uint8Array][] = [
    ['only spaces', '   '],
    ['a truncated object', '{"firstname":"Ada"'],
    ['a truncated string', '{"firstname":"Ada'],
    ['a trailing comma', `{${member},}`],
    ['single quotes', "{'firstname':'Ada'}"],
    ['two values', `{${member}} {}`],
    ['a comment', `{${member} /* hello */}`],
    ['NaN', '{"firstname":NaN}'],
    ['a number with a leading zero', '{"firstname":01}'],
    ['a control character in a string', '{"firstname":"A\u0001da"}'],
    ['a duplicate member name', `{${member},"email":"other@clinic.example"}`],
    ['a duplicate of an unknown member name', `{${member},"x":1,"x":1}`],
    ['a duplicate member name in an inner object', `{${member},"x":{"y":[{"z":1,"z":2}]}}`],
    ['a duplicate member name spelt with an escape', '{"a":1,"\\u0061":2}'],
    ['a duplicate member name spelt with an escape in capitals', '{"\\u006A":1,"\\u006a":2}'],
    ['a duplicate member name before white space', '{"a" :1,"a"\n:2}'],
    ['a duplicate empty member name', '{"":1,"":2}'],
    ['__proto__', `{${member},"__proto__":{"status":"active"}}`],
    ['__proto__ in an inner object', `{${member},"x":{"__proto__":1}}`],
    ['__proto__ spelt with an escape', `{${member},"\\u005f_proto__":1}`],
    [
      'invalid UTF-8',
      Buffer.concat([Buffer.from('{"firstname":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    ],
    [
      'an overlong UTF-8 sequence',
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    ],
    [
      'a surrogate in UTF-8',
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ['UTF-16', Buffer.from(`{${member}}`, 'utf16le')],
    ['nesting of 33', nested(33)],
    ['nesting of 5000', `${'['.repeat(5000)}${']'.repeat(5000)}`],
  ]
  for (const [name, body] of malformed) {
    test(`A body with ${name} is 400 malformed-json`, async () => {
      const reply = await post({ headers: { 'content-type': json }, body })
      assert.equal(reply.status, 400)
      assert.equal(reply.json.code, 'malformed-json')
    })
  }

  const wellFormed: [name: string, body: string][] = [
    ['nesting of 32', nested(32)],
    ['the same member name in two objects', `{${member},"x":{"a":1},"y":{"a":1}}`],
    ['a member name that is also a value', `{${member},"x":["x","x","email"]}`],
    ['braces and quotes inside strings', `{${member},"x":"{\\"a\\":1,\\"a\\":2}[[[["}`],
    ['members named like properties of every object', `{${member},"constructor":1,"toString":2}`],
    ['member names that differ in case', `{${member},"Email":1,"EMAIL":2}`],
    ['white space around it', ` \r\n\t{${member}} \n`],
  ]
  for (const [name, body] of wellFormed) {
    test(`A body with ${name} is read`, async () => {
      const reply = await post({ headers: { 'content-type': json }, body })
      assert.equal(reply.status, 202)
    })
  }

  const wrongShapes: [name: string, body: string][] = [
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"hello"'],
    ['a number', '1'],
    ['true', 'true'],
  ]
  for (const [name, body] of wrongShapes) {
    test(`A body that is ${name} is 400 invalid-request`, async () => {
      const reply = await post({ headers: { 'content-type': json }, body })
      assert.equal(reply.status, 400)
      assert.equal(reply.json.code, 'invalid-request')
    })
  }

  test('A call without the body it needs is 400', async () => {
    const reply = await post({})
    assert.equal(reply.status, 400)
    assert.equal(reply.json.code, 'invalid-request')
  })

  test('Unknown members are ignored and never stored', async () => {
    const email = freshAddress('unknown.members')
    const signedIn = await service.signIn(email)
    const extra = {
      nickname: 'Xanthippe-unknown',
      status: 'suspended-unknown',
      role: 'student-unknown',
      userId: 'Xanthippe-unknown',
      constructor: 'Xanthippe-unknown',
    }
    const calls = [
      await service.post(path, { firstname: 'Ada', lastname: 'Marsh', email: freshAddress(), ...extra }),
      await service.post('/veterinarian/send-otp', { email: freshAddress(), ...extra }),
      await service.post('/session/refresh', { refresh_token: signedIn.refresh, ...extra }),
      await service.request('/veterinarian/me', {
        method: 'PATCH',
        token: signedIn.access,
        body: { firstname: 'Ada', ...extra },
      }),
    ]
    assert.deepEqual(
      calls.map((reply) => reply.status),
      [202, 202, 200, 200],
    )
    for (const reply of calls) assert.doesNotMatch(reply.text, /unknown"/)
    assert.deepEqual(await rowsHolding(service, 'Xanthippe', '-unknown'), [])
    assert.equal(calls[3]!.json.status, 'active')
    assert.equal(calls[3]!.json.userId, signedIn.userId)
  })

  test('Every missing or wrong member is named by its pointer', async () => {
    const missing = await service.post(path, {})
    assert.deepEqual(missing.json.errors.map((error: { pointer: string }) => error.pointer).sort(), [
      '#/email',
      '#/firstname',
      '#/lastname',
    ])
    const wrong = await service.post(path, { firstname: 1, lastname: null, email: ['a@b.example'] })
    assert.deepEqual(wrong.json.errors.map((error: { pointer: string }) => error.pointer).sort(), [
      '#/email',
      '#/firstname',
      '#/lastname',
    ])
    const broken = await service.post(path, { firstname: ' ', lastname: '\u0007', email: 'nobody' })
    assert.deepEqual(broken.json.errors.map((error: { pointer: string }) => error.pointer).sort(), [
      '#/email',
      '#/firstname',
      '#/lastname',
    ])
    for (const { errors } of [missing.json, wrong.json, broken.json])
      for (const error of errors) assert.ok(typeof error.detail === 'string' && error.detail.length > 0)
  })
})
