/** The samples in the documentation compile under `strict`, and work against a running service. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, suite, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { addClient, signInAt } from './support/applications.ts'
import { Authenticator } from './support/authenticator.ts'
import { cookieFor } from './support/authorize.ts'
import { newFolder, type ServingChild, serveChild, startProcess } from './support/child.ts'
import { atLength } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { programOf } from './support/install.ts'
import { freePort } from './support/postgres.ts'
import { startReceiver } from './support/receiver.ts'
import { browse } from './support/relying-parties.ts'
import { sampleIn, samples } from './support/samples.ts'
import { type Service, startService } from './support/service.ts'
import { eventually } from './support/wait.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** A folder where packages are found as in the project. */
function sampleFolder() {
  const folder = newFolder()
  symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'))
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'esnext',
    module: 'nodenext',
    types: ['node'],
  }
  writeFileSync(join(folder.path, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder.path, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const write = (name: string, text: string) => {
    const file = join(folder.path, name)
    writeFileSync(file, text)
    return file
  }
  return { ...folder, write }
}

suite('Samples in the documentation', atLength, () => {
  const folder = sampleFolder()
  let service: Service
  before(async () => {
    const port = String(await freePort())
    const env = {
      CHIRON_WEBHOOK_ALLOW: '127.0.0.1',
      CHIRON_PORT: port,
      CHIRON_PUBLIC_URL: `http://127.0.0.1:${port}`,
    }
    service = await startService('sqlite', { env })
  })
  // Receivers look at the time of a signature, and jose at that of a token.
  beforeEach(() => service.clock.advance(Date.now() - service.clock.now()))
  after(async () => {
    await service.stop()
    folder.remove()
  })

  test('are in languages that are tried here', () => {
    const languages = new Set(samples.map(({ language }) => language))
    // Samples for JavaScript, Python, Apache, oauth2-proxy and Keycloak in docs/applications.md are tried by
    // test/relying-parties/run.ts, those in YAML and JSON in docs/school-sign-in.md by test/satosa/run.ts. That in C#
    // says that it was not tried.
    const known = ['', 'apache', 'csharp', 'js', 'json', 'python', 'sh', 'toml', 'ts', 'yaml']
    assert.deepEqual([...languages].sort(), known)
  })

  test('in TypeScript compile under strict, and would not if something were wrong', () => {
    const compile = () => {
      const tsc = join(root, 'node_modules/.bin/tsc')
      const { status, stdout } = spawnSync(tsc, ['-p', folder.path], { encoding: 'utf8' })
      return { status, stdout }
    }
    for (const [i, { text }] of samples.filter(({ language }) => language === 'ts').entries())
      folder.write(`sample${i}.ts`, text)
    assert.deepEqual(compile(), { status: 0, stdout: '' })
    folder.write(
      'sample0.ts',
      `${samples.find(({ language }) => language === 'ts')!.text}\nconst n: number = ''\n`,
    )
    assert.match(compile().stdout, /TS2322/)
  })

  test('check a token in another service', async () => {
    const file = folder.write(
      'checks.ts',
      sampleIn('docs/integrating.md', 'ts', 'jose').replace('https://access.example.org', service.url),
    )
    const { callerOf } = await import(pathToFileURL(file).href)
    const { access, userId, sessionId } = await service.signIn(freshAddress(), freshNetwork())
    assert.deepEqual(await callerOf(access), { userId, sessionId, roles: ['veterinarian'] })
    await assert.rejects(callerOf(`${access.slice(0, -4)}AAAA`))
    const scope = 'openid classes'
    const atClient = await signInAt(service, { userId, sessionId }, await addClient(service), { scope })
    await assert.rejects(callerOf(atClient.access), /issued to an application/)
  })

  test('use passkeys in a front end', async (t) => {
    const sample = sampleIn('docs/integrating.md', 'ts', 'navigator')
    assert.ok(sample.split('\n').length <= 31, 'it is short')
    const file = folder.write('passkeys.ts', sample.replace('https://access.example.org', service.url))
    const { addPasskey, signIn } = await import(pathToFileURL(file).href)
    const device = new Authenticator(service.url)
    // What a browser has and Node has not.
    const same = (options: object) => options
    Object.assign(globalThis, {
      PublicKeyCredential: { parseCreationOptionsFromJSON: same, parseRequestOptionsFromJSON: same },
    })
    Object.assign(navigator, {
      credentials: {
        create: async ({ publicKey }: { publicKey: object }) => ({ toJSON: () => device.create(publicKey) }),
        get: async ({ publicKey }: { publicKey: object }) => ({ toJSON: () => device.get(publicKey) }),
      },
    })
    t.after(() => Reflect.deleteProperty(globalThis, 'PublicKeyCredential'))
    const { access, userId } = await service.signIn(freshAddress(), freshNetwork())
    assert.ok((await addPasskey(access)).passkeyId)
    assert.equal((await signIn()).user.userId, userId)
    await service.request('/session/all', { method: 'DELETE', token: access })
    await assert.rejects(addPasskey(access), { code: 'session-ended' })
  })

  const applications = 'docs/applications.md'
  const someone = async () => {
    const who = await service.signIn(freshAddress(), freshNetwork())
    return { ...who, cookie: cookieFor(who) }
  }

  test('sign people in at a web application, and out again', async (t) => {
    const port = await freePort()
    const home = `http://localhost:${port}`
    const text = sampleIn(applications, 'ts', 'createServer(async').replaceAll('8080', String(port))
    const file = folder.write('web.ts', text)
    const redirectUris = [`${home}/callback`]
    const { id, secret } = await addClient(service, { redirectUris, logoutUris: [`${home}/`] })
    const env = { ISSUER: service.url, CLIENT_ID: id, CLIENT_SECRET: secret! }
    const child = startProcess(process.execPath, [file], { cwd: folder.path, env })
    t.after(() => child.end())
    let visit = ''
    const get = async (url: string | URL) => {
      const reply = await fetch(url, { headers: { cookie: visit }, redirect: 'manual' })
      visit = reply.headers.getSetCookie()[0]?.split(';')[0] ?? visit
      return { location: reply.headers.get('location')!, text: await reply.text(), status: reply.status }
    }
    await eventually('it listens', () => get(home).catch(() => undefined))
    const who = await someone()
    const back = await browse(service, new URL((await get(home)).location), who)
    const forged = new URL(back)
    forged.searchParams.set('state', 'x')
    assert.match((await get(forged)).text, /^The sign-in failed/)
    assert.equal((await get(back)).location, home)
    assert.equal((await get(home)).text, 'Hello Ada Marsh')
    const logout = new URL((await get(`${home}/sign-out`)).location)
    const body = { query: logout.search.slice(1) }
    const reply = await service.request('/portal/logout', { body, headers: { cookie: who.cookie } })
    assert.equal(reply.json.location, `${home}/`)
    assert.equal((await get(home)).status, 303)
  })

  test('sign people in at a native app', async (t) => {
    const file = folder.write('native.ts', sampleIn(applications, 'ts', 'You can close this window'))
    const { id } = await addClient(service, { kind: 'native', redirectUris: ['http://127.0.0.1/callback'] })
    const child = startProcess(process.execPath, [file], {
      cwd: folder.path,
      env: { ISSUER: service.url, CLIENT_ID: id },
    })
    t.after(() => child.end())
    await eventually('it asks', () => child.output.out.startsWith('Open ') && child.output.out.endsWith('\n'))
    const url = new URL(child.output.out.slice('Open '.length).trim())
    const back = await browse(service, url, { ...(await someone()), confirmed: true })
    assert.equal(await (await fetch(back)).text(), 'You can close this window.')
    assert.deepEqual(await child.exited, { code: 0, signal: null })
    assert.match(child.output.out, /^Hello Ada Marsh$/m)
  })

  test('see that a session has ended, once', async (t) => {
    const file = folder.write(
      'logout.ts',
      sampleIn(applications, 'ts', 'logoutToken').replace('https://access.example.org', service.url),
    )
    const { sessionToEnd } = await import(pathToFileURL(file).href)
    const receiver = await startReceiver()
    t.after(() => receiver.close())
    const client = await addClient(service, { backchannelUri: receiver.url })
    const who = await someone()
    const { sessionId, idToken } = await signInAt(service, who, client)
    await service.request('/session', { method: 'DELETE', token: who.access })
    const { body } = (await receiver.until(1))[0]!
    const token = new URLSearchParams(body).get('logout_token')
    await assert.rejects(sessionToEnd(token, 'another client'))
    assert.equal(await sessionToEnd(token, client.id), sessionId)
    await assert.rejects(sessionToEnd(token, client.id), /not a logout token/)
    await assert.rejects(sessionToEnd(idToken, client.id))
  })

  const receivers: [language: string, name: string, command: () => string][] = [
    ['ts', 'hook.ts', () => process.execPath],
    ['python', 'hook.py', () => programOf('python3')],
  ]
  for (const [language, name, command] of receivers)
    test(`receive webhooks, in ${language}: genuine ones, once, and no others`, async (t) => {
      const port = await freePort()
      const file = folder.write(name, sampleIn('docs/webhooks.md', language).replace('8080', String(port)))
      const url = `http://127.0.0.1:${port}/hook`
      const { webhooks } = service.app.parts
      const { id, secret } = await webhooks.add({ url, events: ['session.started'] })
      const child = startProcess(command(), [file], { cwd: folder.path, env: { HOOK_KEY: secret } })
      t.after(async () => {
        await webhooks.remove(id)
        await child.end()
      })
      await eventually('it listens', () => fetch(url, { method: 'POST', body: '{}' }).catch(() => undefined))
      const by = { actor: 'operator', requestId: null, network: null }
      const { status, error } = await webhooks.test(id, by)
      assert.deepEqual([status, error], [204, null])
      service.clock.advance(1)
      const since = service.clock.now()
      const { userId, sessionId } = await service.signIn(freshAddress(), freshNetwork())
      const lines = () => child.output.out.split('\n').filter((line) => line !== '')
      await eventually('two lines', () => lines().length === 2)
      assert.match(lines()[0]!, /^webhook\.test test\.\S+ (null|None)$/)
      assert.equal(lines()[1], `session.started started.${sessionId} ${userId}`)

      // After a rotation there are two signatures; a repetition is taken and not handled again.
      await webhooks.rotate(id)
      const delivered = async () =>
        (await webhooks.deliveries(id)).filter(({ state }) => state === 'delivered')
      assert.equal(await webhooks.replay(id, since), 1)
      await eventually('it is delivered again', async () => (await delivered()).length === 1)
      assert.equal(lines().length, 2)

      const forged = { 'webhook-id': 'x', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' }
      const now = String(Math.floor(Date.now() / 1000))
      for (const headers of [{}, forged, { ...forged, 'webhook-timestamp': now }])
        assert.equal((await fetch(url, { method: 'POST', headers, body: '{}' })).status, 400)
    })

  test('of a request show what arrives', async (t) => {
    const receiver = await startReceiver()
    const { webhooks } = service.app.parts
    const { id } = await webhooks.add({ url: receiver.url, events: ['session.started'] })
    t.after(async () => {
      await webhooks.remove(id)
      await receiver.close()
    })
    await service.signIn(freshAddress(), freshNetwork())
    const [one] = await receiver.until(1)
    const [head, shown] = sampleIn('docs/webhooks.md', '').split('\n\n') as [string, string]
    const namesIn = (value: unknown): unknown =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([name, each]) => [name, namesIn(each)])
        : typeof value
    assert.deepEqual(namesIn(JSON.parse(shown)), namesIn(JSON.parse(one!.body)))
    for (const line of head.split('\n').slice(1)) {
      const name = line.split(':')[0]!.toLowerCase()
      assert.ok(one!.headers[name] !== undefined, name)
    }
  })
})

suite('Samples for the shell', atLength, () => {
  const folder = newFolder()
  let service: ServingChild
  before(async () => {
    service = await serveChild({ cwd: folder.path })
  })
  after(async () => {
    await service.end()
    folder.remove()
  })

  test('sign in with curl, refresh and sign out, as README.md and docs/integrating.md say', () => {
    programOf('curl')
    const blocks = ['README.md', 'docs/integrating.md'].map((page) =>
      samples.filter((one) => one.page === page && one.language === 'sh').map(({ text }) => text),
    )
    const [readme, integrating] = blocks as [string[], string[]]
    // The session must live while the other page's block refreshes it.
    const script = [...readme.slice(0, -1), ...integrating, ...readme.slice(-1)]
      .join('\n')
      .replaceAll('http://localhost:3000', service.url)
    const out = execFileSync('sh', ['-e'], { input: script, encoding: 'utf8' })
    assert.match(out, /^\{"email":"ada\d+@example\.org","confirmBefore":/)
    assert.match(out, /^code: \d{6}$/m)
    assert.match(out, /"firstname":"Ada"/)
    assert.match(out, /"access_token":"[^"]+","token_type":"Bearer"/)
    assert.match(out, /Bearer\n204\n$/)
  })
  test('register applications, and read the roster as a service, as docs/applications.md says', () => {
    const blocks = samples.filter(
      ({ page, language }) => page === 'docs/applications.md' && language === 'sh',
    )
    // The token that is looked at is made further down the page.
    const asked = blocks.findIndex(({ text }) => text.includes('introspect'))
    const texts = [...blocks.toSpliced(asked, 1), blocks[asked]!].map(({ text }) => text)
    const out = execFileSync('sh', ['-e'], {
      input: texts.join('\n').replaceAll('http://localhost:3000', service.url),
      encoding: 'utf8',
      cwd: folder.path,
      env: { PATH: `${join(root, 'bin')}:${process.env.PATH}` },
    })
    assert.match(out, /^Case log is registered, with the scopes openid profile email\.$/m)
    assert.match(out, /^Moodle is registered/m)
    assert.equal(out.match(/^Its secret, which is not shown again: [\w-]{43}$/gm)?.length, 2)
    assert.match(out, /\{"students":\[\{"userId":/)
    assert.match(out, /\{"active":true,"token_type":"Bearer","scope":"roster\.read"/)
  })
})
