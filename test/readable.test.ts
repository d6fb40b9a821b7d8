/** What an application's token reads: a reply has only what its scopes say, whatever the route. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { Type } from '../src/platform/http/type.ts'
import { identifying, readable, readablePart, readableWith } from '../src/platform/lib/readable.ts'
import { addClient, type ClientOptions, signInAt } from './support/applications.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { signInStudent } from './support/roster-world.ts'
import type { Service, SignedIn } from './support/service.ts'
import { schoolOfSuite } from './support/student-school.ts'

suite('The readable part of a reply', () => {
  const schema = Type.Object({
    id: readableWith('openid', identifying(Type.String())),
    name: Type.Optional(readableWith('profile', Type.String())),
    email: readableWith('email', Type.String()),
    internal: Type.String(),
  })
  const value = { id: 'a', name: 'Ada', email: 'ada@example.org', internal: 'x', undescribed: 'y' }
  const cases: [scope: string | null, knowsIds: boolean | undefined, keys: string[]][] = [
    ['openid profile email', true, ['id', 'name', 'email']],
    ['openid profile email', false, ['name', 'email']],
    ['openid profile email', undefined, ['name', 'email']],
    ['email', true, ['email']],
    ['openid_profile emails', true, []],
    ['', true, []],
    [null, true, []],
  ]
  for (const [scope, knowsIds, keys] of cases)
    test(`has ${keys.join(', ') || 'nothing'} for ${scope}, ${knowsIds}`, () => {
      assert.deepEqual(
        Object.keys(readable(schema, value, { scope, ...(knowsIds !== undefined && { knowsIds }) })),
        keys,
      )
    })

  test('requires nothing, and has no field that no scope reads', () => {
    const part = readablePart(schema)
    assert.deepEqual(Object.keys(part.properties), ['id', 'name', 'email'])
    assert.equal('required' in part, false)
  })
})

for (const engine of engines) {
  suite(`Replies to applications on ${engine}`, () => {
    let service: Service
    let vet: SignedIn
    schoolOfSuite(engine, [], (served) => {
      ;({ service } = served)
    })
    before(async () => {
      vet = await service.signIn(freshAddress('vet'), freshNetwork())
    })

    const everything = 'openid profile email classes account'
    const at = async (who: SignedIn, scope: string, options: ClientOptions = {}) =>
      (await signInAt(service, who, await addClient(service, options), { scope })).access
    const rename = async (token: string, body: object = { firstname: 'Ada' }) => {
      const reply = await service.request('/veterinarian/me', { method: 'PATCH', token, body })
      assert.equal(reply.status, 200, reply.text)
      return Object.keys(reply.json).sort()
    }
    const userinfo = async (token: string, method = 'GET') => {
      const reply = await service.request('/oauth/userinfo', { method, token })
      assert.equal(reply.status, 200, reply.text)
      return Object.keys(reply.json).sort()
    }
    const names = ['firstname', 'lastname', 'updatedAt', 'verified']
    const pairwise = { subjectSalt: 'a salt' }

    test('A name that was changed comes back without what the scopes do not read', async () => {
      assert.deepEqual(await rename(await at(vet, 'account')), [])
      assert.deepEqual(await rename(await at(vet, 'openid account')), ['userId'])
      assert.deepEqual(await rename(await at(vet, 'profile account')), names)
      assert.deepEqual(await rename(await at(vet, 'email account')), ['email'])
      assert.deepEqual(await rename(await at(vet, everything)), [...names, 'email', 'userId'].sort())
      const own = await rename(vet.access)
      for (const field of ['status', 'confirmed', 'createdAt', 'email', 'userId'])
        assert.ok(own.includes(field))
    })

    test('A refusal says no more either', async () => {
      const token = await at(vet, 'account', pairwise)
      const reply = await service.request('/veterinarian/me', { method: 'PATCH', token, body: {} })
      assert.equal(reply.json.code, 'invalid-request')
      assert.ok(!reply.text.includes(vet.userId))
    })

    test('An application with ids of its own never gets one that another has, too', async () => {
      assert.deepEqual(await rename(await at(vet, everything, pairwise)), [...names, 'email'].sort())
      const student = await signInStudent(service, 'ada.byron@school.example')
      for (const [who, method] of [
        [vet, 'GET'],
        [student, 'GET'],
        [student, 'POST'],
      ] as const) {
        const claims = await userinfo(await at(who, everything, pairwise), method)
        assert.ok(claims.includes('name') && claims.includes('email'))
        for (const claim of ['preferred_username', 'student_number'])
          assert.ok(!claims.includes(claim), claim)
      }
      const claims = await userinfo(await at(student, everything))
      for (const claim of ['preferred_username', 'student_number']) assert.ok(claims.includes(claim), claim)
    })

    test('Nothing that such an application gets has the person’s id or student number', async () => {
      const student = await signInStudent(service, 'ada.byron@school.example')
      const profile = (await service.request('/student/me', { token: student.access })).json
      const client = await addClient(service, { ...pairwise, claimsInIdToken: true })
      const one = await signInAt(service, student, client, { scope: everything })
      const replies = await Promise.all(
        ['/oauth/userinfo', '/student/me/classes?when=all'].map((path) =>
          service.request(path, { token: one.access }),
        ),
      )
      const tokens = [one.access, one.idToken].map((token) =>
        Buffer.from(token.split('.')[1]!, 'base64url').toString(),
      )
      for (const text of [...replies.map((reply) => reply.text), ...tokens, one.refresh]) {
        assert.ok(!text.includes(student.userId))
        assert.ok(!text.includes(`"${profile.studentNumber}"`))
      }
      assert.match(tokens[1]!, /"given_name"/)
      assert.equal(replies[1]!.status, 200)
    })

    test('Userinfo and the ID token have the claims of the scopes', async () => {
      const client = await addClient(service, { claimsInIdToken: true })
      const profile = [
        ...['family_name', 'given_name', 'locale', 'name', 'preferred_username', 'roles', 'updated_at'],
        'verified',
      ]
      const email = ['email', 'email_verified']
      for (const [scope, claims] of [
        ['openid', []],
        ['openid profile', profile],
        ['openid email', email],
        ['openid profile email', [...email, ...profile]],
      ] as const) {
        const { access, idToken } = await signInAt(service, vet, client, { scope })
        assert.deepEqual(await userinfo(access), [...claims, 'sub'].sort(), scope)
        const inToken = JSON.parse(Buffer.from(idToken.split('.')[1]!, 'base64url').toString())
        const protocol = ['iss', 'aud', 'exp', 'iat', 'sid', 'auth_time', 'acr', 'amr', 'nonce', 'jti']
        const given = Object.keys(inToken).filter((name) => !protocol.includes(name))
        assert.deepEqual(given.sort(), [...claims, 'sub'].sort(), scope)
      }
    })

    test('Classes are whole, for the person and for an application', async () => {
      const student = await signInStudent(service, 'ada.byron@school.example')
      const read = async (token: string) =>
        (await service.request('/student/me/classes?when=all', { token })).json
      const own = await read(student.access)
      assert.ok(own.classes.length > 0)
      assert.deepEqual(await read(await at(student, 'classes', pairwise)), own)
    })
  })
}
