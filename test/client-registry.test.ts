/** The registry of clients, as admins change it over HTTP and operators by command. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ClientKind } from '../src/identity/clients/kinds.ts'
import { redirectFault } from '../src/identity/clients/redirects.ts'
import { commandFolder } from './support/child.ts'
import { atLength } from './support/engines.ts'
import { run } from './support/roster-commands.ts'

suite('Redirect URIs', () => {
  const people = ['web', 'spa', 'native'] as const
  type Case = [uri: string, kinds: readonly ClientKind[], outsideProduction?: readonly ClientKind[]]
  const cases: readonly Case[] = [
    ['https://app.example.org/callback', people],
    ['https://app.example.org', people],
    ['https://app.example.org:8443/cb?x=1', people],
    ['https://app.example.org/a%20b', people],
    ['http://127.0.0.1/cb', ['native'], people],
    ['http://127.0.0.1:8080/cb', ['native'], people],
    ['http://[::1]/cb', ['native'], people],
    ['http://localhost:5173/', ['native'], people],
    ['org.example.app:/callback', ['native']],
    ['org.example.app://callback', ['native']],
    ['http://app.example.org/cb', []],
    ['http://127.0.0.1.example.org/cb', []],
    ['http://localhost.example.org/cb', []],
    ['http://10.0.0.1/cb', []],
    ['https://*.example.org/cb', []],
    ['https://app.example.org/*', []],
    ['https://app.example.org/cb#', []],
    ['https://app.example.org/cb#x', []],
    ['https://user@app.example.org/cb', []],
    ['https://user:secret@app.example.org/cb', []],
    ['https://@app.example.org/cb', []],
    ['http://user@127.0.0.1/cb', []],
    ['org.example.app://user@callback', []],
    ['https:app.example.org', []],
    ['https:///cb', []],
    ['https://app.example.org/a b', []],
    ['https://app.example.org\\@evil.example/', []],
    ['https://app.example.org/\ncb', []],
    [' https://app.example.org/cb', []],
    ['https://bücher.example/cb', []],
    ['//app.example.org/cb', []],
    ['/cb', []],
    ['', []],
    ['javascript:alert(1)', []],
    ['data:text/html,x', []],
    ['app:/callback', []],
    ['ORG.example.app:/callback', []],
    ['file:///etc/passwd', []],
    ['HTTPS://app.example.org/cb', []],
    [`https://app.example.org/${'x'.repeat(2_000)}`, []],
  ]
  for (const [uri, inProduction, outside = inProduction] of cases) {
    test(`${JSON.stringify(uri).slice(0, 60)} is for ${inProduction.join(', ') || 'nobody'}`, () => {
      const taking = (production: boolean) =>
        people.filter((kind) => redirectFault(uri, kind, production) === null)
      assert.deepEqual([taking(true), taking(false)], [inProduction, outside])
    })
  }
})

suite('chiron clients', atLength, () => {
  const folder = commandFolder()
  const env = folder.ownStore()
  const chiron = (...args: string[]) => run(folder.path, ['clients', ...args], env)
  const asJson = async (...args: string[]) => {
    const ran = await chiron(...args, '--json')
    assert.equal(ran.code, 0, ran.err)
    return ran.json[0]
  }
  const redirect = 'https://app.example.org/callback'

  test('adds, lists, shows, changes, rotates, disables, enables, signs out and removes', async () => {
    await run(folder.path, ['migrate'], env)
    assert.match((await chiron('list')).out, /There are no applications/)
    const added = await asJson('add', 'Moodle', '--redirect', redirect, '--without-pkce')
    assert.deepEqual(Object.keys(added), ['clientId', 'secret'])
    assert.match(added.secret, /^[\w-]{43}$/)
    const { clientId: id } = added
    const shown = await asJson('show', id)
    assert.deepEqual(
      [shown.name, shown.kind, shown.redirectUris, shown.scopes, shown.pkce, shown.consent, shown.subject],
      ['Moodle', 'web', [redirect], ['openid', 'profile', 'email'], false, 'never', 'public'],
    )
    assert.deepEqual(shown.roles, ['veterinarian', 'student', 'staff'])
    assert.match((await chiron('list')).out, /^id +name +kind +signed in +last used +state$/m)

    const changed = await asJson(
      ...['change', id, '--name', 'Moodle 5', '--with-pkce', '--claims-in-id-token', '--consent', 'once'],
      ...['--logout', 'https://app.example.org/out', '--backchannel', 'https://app.example.org/bc'],
      ...['--roles', 'staff,student', '--scopes', 'profile openid openid'],
      ...['--redirect', redirect, 'https://app.example.org/other'],
    )
    assert.deepEqual(
      [changed.name, changed.pkce, changed.claimsInIdToken, changed.consent, changed.logoutUris],
      ['Moodle 5', true, true, 'once', ['https://app.example.org/out']],
    )
    assert.deepEqual(
      [changed.backchannelUri, changed.roles, changed.scopes, changed.redirectUris],
      [
        'https://app.example.org/bc',
        ['student', 'staff'],
        ['openid', 'profile'],
        [redirect, 'https://app.example.org/other'],
      ],
    )
    const emptied = await asJson(
      ...['change', id, '--logout', 'none', '--backchannel', 'none', '--no-claims-in-id-token'],
    )
    assert.deepEqual(
      [emptied.logoutUris, emptied.backchannelUri, emptied.claimsInIdToken, emptied.pkce],
      [[], null, false, true],
    )

    const rotated = await asJson('rotate', id)
    assert.notEqual(rotated.secret, added.secret)
    const days = (Date.parse(rotated.formerSecretUntil) - Date.now()) / 86_400_000
    assert.ok(days > 6.9 && days <= 7, String(days))
    assert.equal((await asJson('rotate', id, '--overlap', '0')).formerSecretUntil, null)
    assert.match((await chiron('rotate', id, '--overlap', '36h')).out, /The former secret works until 20/)

    assert.equal((await asJson('disable', id)).enabled, false)
    assert.match((await chiron('list')).out, /disabled since/)
    assert.equal((await asJson('enable', id)).enabled, true)
    assert.deepEqual(await asJson('sign-out', id), { clientId: id, ended: 0 })
    assert.deepEqual(await asJson('remove', id), { clientId: id })
    assert.match((await chiron('show', id)).err, /^chiron: There is no such application\.$/m)
    const events = await run(folder.path, ['events', '--json'], env)
    assert.deepEqual(
      events.json.map(({ type, actor, data }) => [type, actor, data.clientId === id]),
      ['added', 'changed', 'changed', 'rotated', 'rotated', 'rotated', 'disabled', 'enabled', 'removed'].map(
        (name) => [`client.${name}`, 'operator', true],
      ),
    )
    assert.doesNotMatch(events.out, new RegExp(`${added.secret}|${rotated.secret}`))
  })

  test('gives a secret to servers and services alone', async () => {
    for (const [kind, has, ...more] of [
      ['web', true, '--redirect', redirect],
      ['spa', false, '--redirect', redirect],
      ['native', false, '--redirect', 'org.example.app:/callback', 'http://127.0.0.1/callback'],
      ['service', true],
    ] as const) {
      const { clientId, secret } = await asJson('add', kind, '--kind', kind, ...more)
      assert.equal(secret !== null, has, kind)
      const { code, err } = await chiron('rotate', clientId)
      assert.deepEqual(
        [code, err],
        has ? [0, ''] : [1, `chiron: A client of kind ${kind} has no secret.\n`],
        kind,
      )
    }
  })

  for (const [args, message] of [
    [['add', 'X'], /--redirect https:/],
    [['add', 'X', '--redirect', redirect, '--kind', 'wep'], /--kind has no "wep"; did you mean web\?/],
    [['add', 'X', '--redirect', redirect, '--scopes', 'openid emial'], /did you mean email\?/],
    [
      ['add', 'X', '--redirect', redirect, '--scopes', 'roster.read'],
      /--scopes has no "roster.read"; it can be/,
    ],
    [['add', 'X', '--redirect', redirect, '--roles', 'students'], /--roles .* did you mean student\?/],
    [['add', 'X', '--redirect', redirect, '--consent', 'always'], /--consent has no "always"/],
    [['add', 'X', '--redirect', redirect, '--subject', 'private'], /--subject has no "private"/],
    [
      ['add', 'X', '--redirect', redirect, '--backchannel', 'https://10.0.0.1/'],
      /--backchannel cannot be reached/,
    ],
    [['add', 'X', '--redirect', 'http://app.example.org/'], /--redirect must begin with https/],
    [['add', 'X', '--redirect', redirect, '--kind', 'spa', '--without-pkce'], /PKCE can be off only/],
    [['add', 'X', '--kind', 'service', '--redirect', redirect], /--redirect must be left out: a service/],
    [['add', 'X', '--kind', 'service', '--subject', 'pairwise'], /--subject must be left out: a service/],
    [['add', '', '--redirect', redirect], /the name must not be empty/],
    [['rotate', 'x', '--overlap', '31d'], /--overlap must be .* at most 30d/],
    [['rotate', 'x', '--overlap', 'soon'], /--overlap must be/],
    [['change', 'x'], /give the change/],
    [['show', 'nonsense'], /There is no such application/],
  ] as const)
    test(`refuses ${args.join(' ')}`, async () => {
      const { code, out, err } = await chiron(...args)
      assert.deepEqual([code, out], [1, ''])
      assert.match(err, message)
      assert.equal(err.split('\n').length, 2)
    })
})
