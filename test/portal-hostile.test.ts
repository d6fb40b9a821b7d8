/** The portal against a malicious page in the browser of a signed-in person. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { Browser, BrowserContext } from 'playwright-core'
import type { NotingPage } from './support/browser.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { newVisitor, openTab, originOf, signIn } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

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

  async function signedIn(): Promise<{ visitor: BrowserContext; victim: NotingPage }> {
    const visitor = await newVisitor(browser)
    const victim = await openTab(visitor, service)
    await signIn(victim, service, 'Veterinarian', freshAddress('victim'))
    return { visitor, victim }
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

    test(`Forms of ${which} cannot refresh or sign out`, async () => {
      const { visitor, victim } = await signedIn()
      const cookies = await visitor.cookies()
      for (const path of ['/portal/refresh', '/portal/sign-out'])
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
      for (const path of ['/', '/#/close', `/v/${'A'.repeat(22)}`, '/docs', '/problems']) {
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
      const opened = visitor.waitForEvent('page')
      await page.evaluate(`void (window.prey = open('${portal}/'))`)
      const prey = await opened
      await prey.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
      assert.equal(await prey.evaluate('opener'), null)
      assert.equal(await page.evaluate('prey.closed'), true)
      await assertUnharmed(victim)
    })
  }

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
    await page.reload()
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByText('Last used').waitFor()
    assert.equal(secrets.length, 8)
    const found = await page.evaluate<string>(`(async () => JSON.stringify([
      { ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases(), await caches.keys(),
      location.href, document.referrer, history.state, name, performance.getEntries().map((entry) => entry.name),
      document.documentElement.outerHTML,
    ]))()`)
    for (const secret of secrets) assert.ok(!found.includes(secret))
    assert.deepEqual(page.faults, [])
  })
})
