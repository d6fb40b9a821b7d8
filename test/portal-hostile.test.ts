/** The portal against a malicious page in the browser of a signed-in person. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { Browser, BrowserContext } from 'playwright-core'
import { byOperator } from '../src/platform/lib/by.ts'
import { second } from '../src/platform/lib/clock.ts'
import { addClient, signInAt } from './support/applications.ts'
import { requestOf } from './support/authorize.ts'
import { type NotingPage, overflow } from './support/browser.ts'
import { button } from './support/device.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { newVisitor, openTab, originOf, signIn } from './support/visitor.ts'
import { eventually, soon } from './support/wait.ts'

suite('The portal beside a hostile page', inBrowser, () => {
  let service: Service
  let browser: Browser
  let trap: Server
  let portal: string
  portalOfSuite((parts) => {
    ;({ service, browser } = parts)
    portal = originOf(service)
  })
  before(async () => {
    trap = createServer((_request, reply) => {
      reply.setHeader('content-type', 'text/html').end('<!doctype html><title>Win a pony</title><body>')
    })
    await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve))
  })
  after(() => {
    trap.close()
    trap.closeAllConnections()
  })

  async function signedIn(): Promise<{ visitor: BrowserContext; victim: NotingPage; email: string }> {
    const visitor = await newVisitor(browser)
    const victim = await openTab(visitor, service)
    const email = freshAddress('victim')
    await signIn(victim, service, 'Veterinarian', email)
    return { visitor, victim, email }
  }

  async function assertUnharmed(victim: NotingPage): Promise<void> {
    await victim.reload()
    await victim.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    await victim.getByRole('link', { name: 'Devices' }).click()
    await victim.getByText('Last used').waitFor()
    assert.deepEqual(victim.faults, [])
  }

  // A browser sends a Strict cookie with requests of another port, which is the same site, and not with those of 127.0.0.1.
  for (const [host, which] of [
    ['localhost', 'the same site'],
    ['127.0.0.1', 'another site'],
  ] as const) {
    const openTrap = async (visitor: BrowserContext) => {
      const page = await visitor.newPage()
      await page.goto(`http://${host}:${(trap.address() as AddressInfo).port}/`)
      return page
    }

    test(`Scripts of ${which} cannot refresh, sign out or read with the visitor’s cookie`, async () => {
      const { visitor, victim } = await signedIn()
      const cookies = await visitor.cookies()
      assert.deepEqual(cookies.map(({ name }) => name).sort(), ['chiron_device', 'chiron_refresh'])
      const page = await openTrap(visitor)
      const calls = ['cors', 'no-cors'].flatMap((mode) => [
        ['/portal/refresh', { method: 'POST', mode }],
        ['/portal/sign-out', { method: 'POST', mode }],
        ['/portal/sign-out', { method: 'POST', mode, body: '{}' }],
        ['/portal/authorize', { method: 'POST', mode, body: '{}' }],
        ['/portal/logout', { method: 'POST', mode, body: '{}' }],
        ['/session', { mode }],
        ['/veterinarian/me', { mode }],
        ['/veterinarian/me/export', { mode }],
        ['/', { mode }],
      ])
      const outcomes = await page.evaluate<string[]>(
        `Promise.all(${JSON.stringify(calls)}.map(([path, init]) =>
          fetch(${JSON.stringify(portal)} + path, { ...init, credentials: 'include' }).then(
            (reply) => path + ' ' + reply.type + ' ' + reply.status,
            () => 'kept from it')))`,
      )
      assert.deepEqual([...new Set(outcomes)], ['kept from it'])
      assert.deepEqual(await visitor.cookies(), cookies)
      await assertUnharmed(victim)
    })

    test(`Forms of ${which} cannot refresh, sign out or allow an application`, async () => {
      const { visitor, victim } = await signedIn()
      const cookies = await visitor.cookies()
      for (const path of ['/portal/refresh', '/portal/sign-out', '/portal/authorize', '/portal/logout'])
        for (const kind of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']) {
          const page = await openTrap(visitor)
          const answered = page.waitForResponse(`${portal}${path}`)
          await page.evaluate(
            `document.body.append(Object.assign(document.createElement('form'),
              { method: 'post', enctype: '${kind}', action: '${portal}${path}' }));
            document.forms[0].submit()`,
          )
          assert.equal((await answered).status(), 403, `${path} ${kind}`)
          await page.close()
        }
      assert.deepEqual(await visitor.cookies(), cookies)
      await assertUnharmed(victim)
    })

    test(`A page of ${which} cannot frame the portal, nor hold on to a window of it`, async () => {
      const { visitor, victim } = await signedIn()
      const page = await openTrap(visitor)
      const { id, redirectUri: redirect_uri } = await addClient(service)
      const asking = (changes = {}) => `/oauth/authorize?${requestOf(id, { redirect_uri, ...changes })}`
      for (const path of [
        '/',
        '/#/close',
        '/#/school-links',
        '/console',
        `/v/${'A'.repeat(22)}`,
        '/docs',
        '/problems',
        asking(),
        asking({ prompt: 'none' }),
        asking({ redirect_uri: 'https://elsewhere.example/' }),
        `/oauth/logout?client_id=${id}`,
      ]) {
        await page.evaluate(
          `new Promise((resolve) => document.body.replaceChildren(Object.assign(
            document.createElement('iframe'), { src: '${portal}${path}', onload: () => resolve() })))`,
        )
        const shown = () =>
          page
            .frames()
            .find((frame) => frame !== page.mainFrame())
            ?.url()
        const url = await eventually('a frame with an address', () => shown() || undefined)
        assert.equal(url, 'chrome-error://chromewebdata/', path)
      }
      assert.deepEqual(await service.rows('select 1 from authorization_code where client_id = $1', [id]), [])
      const opened = visitor.waitForEvent('page')
      await page.evaluate(`void (window.prey = open('${portal}/'))`)
      const prey = await opened
      await prey.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
      assert.equal(await prey.evaluate('opener'), null)
      assert.equal(await page.evaluate('prey.closed'), true)
      await assertUnharmed(victim)
    })
  }

  for (const [kind, name] of [
    ['markup', '<img src=x onerror=noteFault("ran")></h1><script>noteFault("ran")</script>'],
    ['a hundred letters without a space', 'W'.repeat(100)],
    ['another direction', 'مختبر الطب البيطري'],
  ] as const)
    test(`Names of applications and providers with ${kind} are shown as text`, async () => {
      const { clients, providers } = service.app.parts
      const { visitor, victim, email } = await signedIn()
      const redirect_uri = 'https://app.example/back'
      const added = await clients.add(
        { name, consent: 'once', redirectUris: [redirect_uri], unverifiedVeterinarians: true },
        byOperator,
      )
      const { providerId } = await providers.add(
        {
          name,
          kind: 'oidc',
          issuer: 'https://login.example',
          clientId: 'c',
          secret: 's',
          roles: ['student'],
        },
        byOperator,
      )
      const asking = (changes = {}) =>
        `/oauth/authorize?${requestOf(added.clientId, { redirect_uri, ...changes })}`
      const assertText = async (page: NotingPage, text: string, screen: string) => {
        await page.getByText(text).first().waitFor()
        assert.equal(await page.locator('main :is(img, script, b)').count(), 0, screen)
        assert.equal(await overflow(page, 320), 0, screen)
        assert.deepEqual(page.faults, [], screen)
      }

      const stranger = await newVisitor(browser)
      const hint = `"><img/src=x/onerror=noteFault("ran")>@example.org`
      const signingIn = await openTab(stranger, service, asking({ login_hint: hint, state: name }))
      await assertText(signingIn, `Sign in to continue to ${name}`, 'sign-in')
      await signingIn.getByRole('radio', { name: 'Student' }).check()
      await assertText(signingIn, `Sign in with ${name}`, 'school-button')
      await providers.remove(providerId, byOperator)

      const confirming = await openTab(visitor, service, asking())
      await assertText(confirming, `Sign in to ${name}?`, 'confirm')
      service.clock.advance(second)
      const proving = await openTab(visitor, service, asking({ prompt: 'login' }))
      await assertText(proving, `${name} asks you to confirm again that it is you.`, 'step-up')
      const leaving = await openTab(visitor, service, `/oauth/logout?client_id=${added.clientId}`)
      await assertText(leaving, `${name} asks to sign you out here.`, 'logout')

      const [session] = await service.rows<{ sessionId: string; userId: string }>(
        `select s.id as "sessionId", s.person_id as "userId" from session s join person p on p.id = s.person_id
         where p.email_key = $1`,
        [email],
      )
      const { clientId: id, secret } = added
      await signInAt(service, session!, { id, secret, redirectUri: redirect_uri })
      await assertText(await openTab(visitor, service, '/#/sessions'), name, 'devices')
      await clients.remove(id, byOperator)
      await assertUnharmed(victim)
    })

  test('The page goes to no address that is a script, even if one were registered', async () => {
    const { visitor } = await signedIn()
    const redirect_uri = 'javascript:noteFault("ran")//'
    const { id } = await addClient(service, { redirectUris: [redirect_uri], logoutUris: [redirect_uri] })
    const asking = await openTab(visitor, service, `/oauth/authorize?${requestOf(id, { redirect_uri })}`)
    await asking.getByText('Something went wrong').first().waitFor()
    assert.deepEqual(asking.faults, [])
    const query = new URLSearchParams({ client_id: id, post_logout_redirect_uri: redirect_uri })
    const leaving = await openTab(visitor, service, `/oauth/logout?${query}`)
    await button(leaving, 'Sign out').click()
    await leaving.getByText('Something went wrong').first().waitFor()
    assert.deepEqual(leaving.faults, [])
  })

  test('No token is anywhere that a script, a history or an onlooker could find it', async () => {
    const visitor = await newVisitor(browser)
    const page = await openTab(visitor, service)
    const secrets: string[] = []
    page.on('response', async (reply) => {
      if (!/\/portal\/(refresh|veterinarian\/validate-otp)$/.test(reply.url())) return
      const { access_token } = await reply.json()
      const [cookie] = await visitor.cookies(`${portal}/portal/refresh`)
      secrets.push(access_token, ...access_token.split('.').slice(1), cookie!.value)
    })
    await signIn(page, service, 'Veterinarian', freshAddress('secret'))
    // A reload would take the reply away while it is read.
    await eventually('the first reply', () => secrets.length === 4)
    await page.reload()
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByText('Last used').waitFor()
    await soon(async () => secrets.length, 8)
    const found = await page.evaluate<string>(`(async () => JSON.stringify([
      { ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases(), await caches.keys(),
      location.href, document.referrer, history.state, name, performance.getEntries().map((entry) => entry.name),
      document.documentElement.outerHTML,
    ]))()`)
    for (const secret of secrets) assert.ok(!found.includes(secret))
    assert.deepEqual(page.faults, [])
  })
})
