/**
 * School accounts through SATOSA, which passes on the word of a SAML identity provider (pysaml2). SATOSA runs with the settings
 * in docs/school-sign-in.md. Needs Python 3.11, xmlsec1, openssl and Chromium, and the network once, so it is not part of
 * `npm test`.
 *
 *   npm run build && npx node test/satosa/run.ts
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { startBrowser } from '../support/browser.ts'
import { endProcesses, newFolder, startProcess } from '../support/child.ts'
import { ok } from '../support/passkeys.ts'
import { freePort } from '../support/postgres.ts'
import { run } from '../support/roster-commands.ts'
import { addUser, bulk, emptySchool } from '../support/roster-school.ts'
import { rosterOf } from '../support/roster-world.ts'
import { sampleIn } from '../support/samples.ts'
import { comeBack, Jar, newVisit, startSignIn, whoAmI } from '../support/school-account.ts'
import { startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const page = 'docs/school-sign-in.md'
const venv = join(homedir(), '.cache', 'chiron-satosa')
const secret = 'the-secret-of-chiron~1'

const folder = newFolder()
const inFolder = (name: string) => join(folder.path, name)

function done(program: string, ...args: string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'pipe'] })
  if (error) throw error
  assert.equal(status, 0, program)
}

if (!existsSync(venv)) {
  done('python3', '-m', 'venv', `${venv}.new`)
  done(`${venv}.new/bin/python`, '-m', 'pip', 'install', '-q', '-r', join(here, 'requirements.txt'))
  renameSync(`${venv}.new`, venv)
}
const python = join(venv, 'bin/python')
for (const name of ['saml', 'tls', 'idp', 'impostor']) {
  const files = ['-keyout', inFolder(`${name}.key`), '-out', inFolder(`${name}.crt`)]
  const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1']
  done('openssl', 'req', '-x509', '-newkey', 'rsa:3072', '-nodes', ...names, ...files)
}
done('openssl', 'genrsa', '-out', inFolder('openid.key'), '3072')
const trusted = inFolder('tls.crt')
setDefaultCACertificates([...getCACertificates(), readFileSync(trusted, 'utf8')])

const newHost = async () => `127.0.0.1:${await freePort()}`
// SATOSA does not start without https.
const proxy = `https://${await newHost()}`
const [idp, impostor] = [`http://${await newHost()}`, `http://${await newHost()}`]

const code = (school: string, number: string) => `urn:schac:personalUniqueCode:int:esi:${school}:${number}`
const person = (name: string, ...codes: string[]) => ({
  'subject-id': `${name}@example.edu`,
  mail: `${name}@example.edu`,
  schacPersonalUniqueCode: codes,
})
const people = {
  ada: person('ada', code('example.edu', '1001')),
  bea: person('bea', code('other.example', '1001'), code('example.edu', '1002')),
  cleo: person('cleo', code('example.edu', '9999')),
  dora: person('dora', code('other.example', '1001')),
  elsa: person('elsa', code('example.edu', '1001'), code('example.edu', '1002')),
  flora: { ...person('flora', code('example.edu', '1003')), 'subject-id': [] },
}

/** Both use the name of the school's identity provider, but not the same key. */
const startIdp = (origin: string, name: string) => {
  const [key, certificate] = [inFolder(`${name}.key`), inFolder(`${name}.crt`)]
  const metadata = `${proxy}/school/metadata`
  const { port } = new URL(origin)
  const args = [join(here, 'idp.py'), port, idp, metadata, key, certificate, JSON.stringify(people)]
  return startProcess(python, args, { cwd: folder.path, env: { REQUESTS_CA_BUNDLE: trusted } })
}

/** A browser, which types this name at the identity provider. Returns the path of the callback. */
async function signIn(location: string, username: string, idpAt: string): Promise<string> {
  const jars = new Map<string, Jar>()
  let next: { url: URL; form: URLSearchParams | null } = { url: new URL(location), form: null }
  for (let step = 0; step < 10; step++) {
    const { url, form } = next
    if (url.pathname === '/sign-in/school/callback') return url.pathname + url.search
    const origin = url.origin === idp ? idpAt : url.origin
    const jar = jars.get(origin) ?? new Jar()
    jars.set(origin, jar)
    const reply = await fetch(origin + url.pathname + url.search, {
      redirect: 'manual',
      headers: { cookie: jar.header() },
      ...(form && { method: 'POST', body: form }),
    })
    const text = await reply.text()
    assert.ok(
      reply.ok || reply.status === 303,
      `${url.origin}${url.pathname} answered ${reply.status}: ${text}`,
    )
    jar.note(reply)
    const location = reply.headers.get('location')
    next = location === null ? formIn(text, username, url) : { url: new URL(location, url), form: null }
  }
  throw new Error('the browser was never sent back')
}

function formIn(html: string, username: string, page: URL): { url: URL; form: URLSearchParams } {
  const action = /<form [^>]*action="([^"]+)"/.exec(html)?.[1]
  assert.ok(action, `no form at ${page.href}: ${html}`)
  const hidden = [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)]
  const fields =
    hidden.length === 0 ? [['username', username]] : hidden.map(([, name, value]) => [name!, value!])
  return { url: new URL(action.replaceAll('&amp;', '&'), page), form: new URLSearchParams(fields) }
}

const service = await startService('sqlite')
try {
  service.clock.jump(Date.now() - service.clock.now())
  const school = emptySchool()
  for (const [name, identifier] of [
    ['ada', '1001'],
    ['bea', '1002'],
    ['flora', '1003'],
  ] as const)
    addUser(school, name, 'student', { identifier })
  await rosterOf(service).import(bulk(school))

  startIdp(idp, 'idp')
  startIdp(impostor, 'impostor')
  const metadata = await eventually('the identity provider answers', async () =>
    fetch(`${idp}/metadata`).then(
      (reply) => reply.text(),
      () => undefined,
    ),
  )
  const { port } = new URL(service.url)
  writeFileSync(inFolder('idp.xml'), metadata)
  const settings = sampleIn(page, 'yaml').replaceAll('https://proxy.example.edu', proxy)
  writeFileSync(inFolder('proxy_conf.yaml'), settings)
  const clients = sampleIn(page, 'json')
    .replace('A-LONG-RANDOM-SECRET', secret)
    .replace('https://access.example.edu', `http://localhost:${port}`)
  writeFileSync(inFolder('clients.json'), clients)
  writeFileSync(inFolder('secret.txt'), secret)
  const gunicorn = ['-m', 'gunicorn', '--workers', '1', '--threads', '8', '--bind', new URL(proxy).host]
  const tls = ['--certfile', trusted, '--keyfile', inFolder('tls.key')]
  const satosa = startProcess(python, [...gunicorn, ...tls, 'satosa.wsgi:app'], {
    cwd: folder.path,
    // gunicorn keeps a socket in the home folder.
    env: { SATOSA_STATE_ENCRYPTION_KEY: 'another-secret', HOME: folder.path },
  })
  let hasEnded = false
  satosa.exited.then(() => {
    hasEnded = true
  })
  process.on('exit', (status) => {
    if (status !== 0) process.stderr.write(satosa.output.err.slice(-10_000))
  })
  await eventually('SATOSA answers', async () => {
    assert.ok(!hasEnded, 'SATOSA ended')
    const reply = await fetch(`${proxy}/.well-known/openid-configuration`).catch(() => null)
    return reply?.ok
  })

  const chiron = (...args: string[]) =>
    run(folder.path, ['providers', ...args], {
      CHIRON_DATABASE_URL: service.databaseUrl,
      CHIRON_SECRET: 'a secret for tests that is long enough',
      CHIRON_PORT: port,
      NODE_EXTRA_CA_CERTS: trusted,
    })
  const added = await chiron(
    ...['add', 'University account', '--kind', 'oidc', '--issuer', proxy, '--client-id', 'chiron'],
    ...['--secret-file', 'secret.txt', '--roles', 'student', '--number-claim', 'student_number', '--json'],
  )
  assert.equal(added.code, 0, added.err)
  const { providerId } = added.json[0]

  const says = (what: string) => process.stdout.write(`ok: ${what}\n`)
  const enter = async (username: string, idpAt = idp) => {
    const visit = newVisit()
    const { location } = ok(await startSignIn(service, providerId, visit))
    const reply = await comeBack(service, await signIn(location, username, idpAt), visit)
    return { location: reply.headers.get('location'), ...(await whoAmI(service, visit)) }
  }
  const isRefused = async (username: string, reason: string, idpAt = idp) => {
    const { location, access } = await enter(username, idpAt)
    assert.deepEqual([location?.split('?')[0], access], ['/#/school-refused', undefined])
    const events = await service.rows<{ data: string }>(
      "select data from event where type = 'school.refused' order by at, id",
    )
    assert.equal(JSON.parse(events.at(-1)!.data).reason, reason)
  }
  const emailOf = async (access: string) =>
    (await service.request('/student/me', { token: access })).json.email

  const tested = await chiron('test', 'University account')
  assert.equal(tested.code, 0, tested.out)
  says('chiron providers test finds nothing wrong')

  const ada = await enter('ada')
  assert.equal(ada.location, '/')
  assert.equal(await emailOf(ada.access!), 'ada@school.example')
  const [link] = await service.rows<object>('select subject, student_number from school_link')
  assert.deepEqual({ ...link! }, { subject: 'ada@example.edu', student_number: '1001' })
  says('a student signs in by the last part of schacPersonalUniqueCode, and subject-id is the subject')
  assert.equal((await enter('ada')).userId, ada.userId)
  says('and again, as the same person')
  assert.equal(await emailOf((await enter('bea')).access!), 'bea@school.example')
  says('a code of another school does not count beside that of this school')
  await isRefused('cleo', 'nobody')
  says('a number that is not on the roster is refused')
  await isRefused('dora', 'nobody')
  says('a number of the roster in a code of another school is refused')
  await isRefused('elsa', 'ambiguous-claims')
  says('two numbers are refused')
  await isRefused('ada', 'provider-refused', impostor)
  says('an assertion that another key signed is refused')
  await assert.rejects(enter('flora'), /school\/acs answered 500/)
  says('an account without subject-id ends at SATOSA')

  const browser = await startBrowser()
  try {
    const tab = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage()
    await tab.goto(`http://localhost:${port}/#/sessions`)
    await tab.getByRole('radio', { name: 'Student' }).check()
    await tab.getByRole('button', { name: 'Sign in with University account' }).click()
    await tab.locator('[name=username]').fill('ada')
    await tab.locator('[name=username]').press('Enter')
    await tab.getByText('With a school account').first().waitFor()
  } finally {
    await browser.close()
  }
  says('a student signs in with Chromium, whose cookies survive the way over other sites')
} finally {
  await service.stop()
  endProcesses()
  folder.remove()
}
