/** The portal when the service is down or refuses, or part of the page does not load. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import { picture } from './support/browser.ts'
import { inBrowser, migratedStore } from './support/engines.ts'
import { freshAddress, repeat } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import { freePort } from './support/postgres.ts'
import { type Service, startService } from './support/service.ts'
import { askForCode, codeField, newVisitor, openTab, signIn } from './support/visitor.ts'

suite('The portal in trouble', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite((parts) => {
    ;({ service, browser } = parts)
  })

  const visit = async (path = '/') => openTab(await newVisitor(browser), service, path)

  test('A service that is stopped and started again: said, nothing lost, and going on without a new sign-in', async (t) => {
    const store = await migratedStore('sqlite')
    const env = { CHIRON_PORT: String(await freePort()) }
    t.after(store.remove)
    const first = await startService('sqlite', { databaseUrl: store.url, env })
    let stopFirst = () => first.stop()
    t.after(() => stopFirst())
    const page = await openTab(await newVisitor(browser), first)
    await signIn(page, first, 'Veterinarian', freshAddress('restart'))
    await page.getByRole('button', { name: 'Change my name' }).click()
    await page.getByLabel('First name').fill('Grace')
    await page.getByRole('button', { name: 'Hide it' }).waitFor()
    await stopFirst()
    stopFirst = async () => {}
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The service cannot be reached.').waitFor()
    assert.equal(await page.getByLabel('First name').inputValue(), 'Grace')
    await picture(page, 'portal-away')
    assert.deepEqual(await accessFaults(page), [])
    const second = await startService('sqlite', { databaseUrl: store.url, env, clock: first.clock })
    t.after(() => second.stop())
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Grace Marsh' }).waitFor()
  })

  test('While the service is down there is one message, and it disappears when the service is back', async (t) => {
    const store = await migratedStore('sqlite')
    const env = { CHIRON_PORT: String(await freePort()) }
    t.after(store.remove)
    const first = await startService('sqlite', { databaseUrl: store.url, env })
    const page = await openTab(await newVisitor(browser), first)
    await signIn(page, first, 'Veterinarian', freshAddress('down'))
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByText('Last used').waitFor()
    await page.getByRole('link', { name: 'Profile' }).click()
    await first.stop()
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByText(/^As of/).waitFor()
    assert.equal(await page.locator('.notice').count(), 1)
    assert.deepEqual(await accessFaults(page), [])
    await picture(page, 'portal-down')
    const second = await startService('sqlite', { databaseUrl: store.url, env, clock: first.clock })
    t.after(() => second.stop())
    await page.clock.fastForward(6_000)
    await page.getByText(/^As of/).waitFor({ state: 'detached' })
    assert.equal(await page.locator('.notice').count(), 0)
  })

  test('A part of the page that does not arrive leaves words and a way on, not a blank page', async () => {
    const email = freshAddress('part')
    await service.register(email)
    const page = await visit()
    await page.route(/\/web\/veterinarian-/, (route) => route.abort())
    await askForCode(page, 'Veterinarian', email)
    await codeField(page).fill(String((await service.mail.mailTo(email)).code))
    await page.getByRole('heading', { name: 'Something went wrong' }).waitFor()
    assert.deepEqual(await accessFaults(page), [])
    await page.unroute(/\/web\/veterinarian-/)
    await page.getByRole('button', { name: 'Reload the page' }).click()
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
  })

  test('Too many codes: the wait is counted down, the button waits, and then it works', async () => {
    const email = freshAddress('often')
    const sent = await repeat(5, () => service.post('/veterinarian/send-otp', { email }), 1)
    for (const { status } of sent) assert.equal(status, 202)
    const page = await visit()
    await page.getByRole('radio', { name: 'Veterinarian' }).check()
    await page.getByLabel('E-mail address').fill(email)
    const send = page.getByRole('button', { name: 'Send me a code' })
    await send.click()
    await page.getByText('Too many attempts in a short time.').waitFor()
    await page.getByText(/You can try again in \d+:\d\d/).waitFor()
    assert.equal(await send.getAttribute('aria-disabled'), 'true')
    await picture(page, 'portal-too-often')
    assert.deepEqual(await accessFaults(page), [])
    service.clock.advance(16 * 60_000)
    await page.clock.fastForward(16 * 60_000)
    await send.click()
    await codeField(page).waitFor()
  })

  test('A right code whose reply was lost is given again and lets one in, also after a reload', async () => {
    for (const reload of [false, true]) {
      const email = freshAddress('lost')
      await service.register(email)
      const page = await visit()
      await askForCode(page, 'Veterinarian', email)
      const { code } = await service.mail.mailTo(email)
      await page.route('**/portal/veterinarian/validate-otp', async (route) => {
        await route.fetch()
        await route.abort()
      })
      await codeField(page).fill(String(code))
      await page.getByText('The service cannot be reached.').waitFor()
      await page.unroute('**/portal/veterinarian/validate-otp')
      if (reload) {
        await page.reload()
        await codeField(page).fill(String(code))
      } else await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    }
  })

  test('A session that was ended elsewhere says so and asks to sign in again', async () => {
    const email = freshAddress('ended')
    const page = await visit()
    await signIn(page, service, 'Veterinarian', email)
    const elsewhere = await service.signIn(email)
    assert.equal(
      (await service.request('/session/all', { method: 'DELETE', token: elsewhere.access })).status,
      204,
    )
    await page.evaluate("location.hash = '#/sessions'")
    await page.getByText('Your session has ended.').waitFor()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  test('A slow service is said after a moment, and not before', async () => {
    const page = await visit()
    await signIn(page, service, 'Veterinarian', freshAddress('slow'))
    let answer = () => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route('**/session', async (route) => {
      await held
      await route.continue()
    })
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByRole('heading', { name: 'Where you are signed in' }).waitFor()
    await page.getByText('One moment…').waitFor()
    answer()
    await page.getByText('Last used').waitFor()
    assert.equal(await page.getByText('One moment…').count(), 0)
  })
})
