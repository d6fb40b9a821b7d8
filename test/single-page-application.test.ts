/** The single-page application of docs/applications.md, made with oidc-client-ts, on an origin of its own. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { UserManager } from 'oidc-client-ts'
import type { Browser, Page } from 'playwright-core'
import { addClient, type TestClient } from './support/applications.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { sharedBrowser } from './support/portal-suite.ts'
import { sampleIn } from './support/samples.ts'
import { type Service, startService } from './support/service.ts'
import { codeField, newVisitor, originOf, signIn } from './support/visitor.ts'

/** The page of the application, which shows what it knows. */
const page = `<!doctype html><title>App</title><h1>App</h1><output></output>
<script type="importmap">{"imports": {"oidc-client-ts": "/oidc-client-ts.js"}}</script>
<script type="module">
  import { signOut, users, whoIsThere } from '/sample.js'
  Object.assign(window, { signOut, users })
  const user = location.pathname === '/bye' ? null : await whoIsThere()
  if (user) document.querySelector('output').textContent = user.profile.name + ' ' + user.profile.email
</script>`

/** The build that needs no other package, as a module. */
const library = () => {
  const file = new URL('../browser/oidc-client-ts.js', import.meta.resolve('oidc-client-ts'))
  return `${readFileSync(file, 'utf8')}\nexport const { UserManager } = oidc`
}

/** What the page has. */
declare const users: UserManager
declare const signOut: () => Promise<void>

suite('A single-page application', inBrowser, () => {
  let service: Service
  let browser: Browser
  let client: TestClient
  let server: Server
  let origin: string

  before(async () => {
    service = await startService('sqlite')
    service.clock.advance(Date.now() - service.clock.now())
    browser = await sharedBrowser()
    const files: Record<string, () => string> = {
      '/oidc-client-ts.js': library,
      '/sample.js': () =>
        sampleIn('docs/applications.md', 'ts', 'UserManager')
          .replace('http://localhost:3000', originOf(service))
          .replace('CLIENT_ID', client.id)
          .replace(/(post_logout.*)\/`/, '$1/bye`'),
    }
    server = createServer((request, response) => {
      const file = files[request.url ?? '']
      response.setHeader('Content-Type', file ? 'text/javascript' : 'text/html')
      response.end(file?.() ?? page)
    })
    // Also at 127.0.0.2, which is another origin.
    await new Promise<void>((resolve) => server.listen(0, resolve))
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    client = await addClient(service, {
      kind: 'spa',
      redirectUris: [`${origin}/callback`],
      logoutUris: [`${origin}/bye`],
    })
  })
  after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await service.stop()
  })

  /** Opens the application, and signs in on the portal's page to which it sends the browser. */
  const signedIn = async () => {
    const email = freshAddress()
    await service.register(email)
    const visitor = await newVisitor(browser)
    const app = await visitor.newPage()
    await app.goto(origin)
    await app.getByRole('radio', { name: 'Veterinarian' }).check()
    await app.getByLabel('E-mail address').fill(email)
    await app.getByRole('button', { name: 'Send me a code' }).click()
    const { code } = await service.mail.mailTo(email)
    await codeField(app).fill(String(code))
    await app.getByText(`Ada Marsh ${email}`).waitFor()
    return { app, visitor, email }
  }
  const status = (app: Page) =>
    app.evaluate(async () => {
      const user = await users.getUser()
      const { authority } = users.settings
      const headers = { Authorization: `Bearer ${user?.access_token}` }
      return (await fetch(`${authority}/oauth/userinfo`, { headers })).status
    })

  test('signs somebody in and reads who it is, with the code gone from its address', async () => {
    const { app } = await signedIn()
    assert.equal(app.url(), `${origin}/`)
    assert.equal(await status(app), 200)
  })

  test('renews its tokens with the refresh token', async () => {
    const { app } = await signedIn()
    const [before, after] = await app.evaluate(async () => {
      const first = await users.getUser()
      const second = await users.signinSilent()
      return [first, second].map((user) => user?.refresh_token)
    })
    assert.ok(before && after && before !== after)
    assert.equal(await status(app), 200)
  })

  test('passes through for somebody who is signed in at the portal', async () => {
    const email = freshAddress()
    const visitor = await newVisitor(browser)
    const portal = await visitor.newPage()
    await portal.goto(originOf(service))
    await signIn(portal, service, 'Veterinarian', email)
    const app = await visitor.newPage()
    await app.goto(origin)
    await app.getByText(`Ada Marsh ${email}`).waitFor()
  })

  test('revokes its tokens, which ends its session at once', async () => {
    const { app } = await signedIn()
    const token = await app.evaluate(async () => (await users.getUser())?.access_token)
    await app.evaluate(() => users.revokeTokens(['refresh_token']))
    assert.equal((await service.request('/oauth/userinfo', { token: token! })).status, 401)
  })

  test('signs out at the portal, and is back', async () => {
    const { app, visitor } = await signedIn()
    const token = await app.evaluate(async () => (await users.getUser())?.access_token)
    await Promise.all([app.waitForURL(`${origin}/bye`), app.evaluate(() => void signOut())])
    assert.equal((await service.request('/oauth/userinfo', { token: token! })).status, 401)
    const cookies = await visitor.cookies(originOf(service))
    assert.ok(!cookies.some(({ name }) => name.includes('refresh')))
  })

  test('cannot be imitated by a page of another origin', async () => {
    const { app } = await signedIn()
    const token = await app.evaluate(async () => (await users.getUser())?.access_token)
    const visitor = await newVisitor(browser)
    const foreign = await visitor.newPage()
    await foreign.goto(`${origin.replace('127.0.0.1', '127.0.0.2')}/bye`)
    const tried = await foreign.evaluate(
      async ([url, bearer]) => {
        const headers = { Authorization: `Bearer ${bearer}` }
        return fetch(`${url}/oauth/userinfo`, { headers }).then(
          (reply) => reply.status,
          () => 'refused',
        )
      },
      [originOf(service), token],
    )
    assert.equal(tried, 'refused')
  })
})
