/** Passkeys in the console, with Chromium's own authenticator. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { minute } from '../src/platform/lib/clock.ts'
import { openConsole, signInAtConsole } from './support/console.ts'
import { addDevice, button } from './support/device.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { startRequiringPasskeys } from './support/passkeys.ts'
import { sharedBrowser } from './support/portal-suite.ts'
import { type Service, startService } from './support/service.ts'
import { addStaff } from './support/staff.ts'
import { newVisitor, openTab } from './support/visitor.ts'

suite('Passkeys in the console', inBrowser, () => {
  let service: Service
  let browser: Browser
  before(async () => {
    service = await startService('sqlite')
    browser = await sharedBrowser()
  })
  after(async () => {
    await service.stop()
  })

  test('An action under the 30-minute rule goes on after a passkey', async () => {
    const { page } = await openConsole(browser, service, ['admin'])
    const device = await addDevice(page)
    await page.evaluate("location.hash = '#/passkeys'")
    await button(page, 'Add a passkey').click()
    await page.getByText(/has been added/).waitFor()
    assert.equal((await device.credentials()).length, 1)
    service.clock.advance(31 * minute)
    await page.evaluate("location.hash = '#/staff'")
    await button(page, 'Add somebody…').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail address').fill(freshAddress('staff'))
    await dialog.getByLabel('First name').fill('Grace')
    await dialog.getByLabel('Last name').fill('Hopper')
    await dialog.getByLabel('Help desk').check()
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await dialog.getByRole('button', { name: 'Confirm with a passkey' }).click()
    await page.getByText('Grace Hopper can sign in now.').waitFor()
  })
})

suite('The console where staff must use a passkey', inBrowser, () => {
  let service: Service
  let browser: Browser
  let stop: () => Promise<void>
  before(async () => {
    const started = await startRequiringPasskeys('sqlite')
    service = started.service
    stop = started.stop
    browser = await sharedBrowser()
  })
  after(async () => {
    await stop()
  })

  const required = 'The console opens with a passkey only.'
  const overview = (page: Page) => page.getByRole('link', { name: 'Go to the roster' })
  const newMember = async () => {
    const { email } = await addStaff(service, ['admin'])
    const page = await openTab(await newVisitor(browser), service, '/console')
    await addDevice(page)
    await signInAtConsole(page, service, email)
    await page.getByText(required).waitFor()
    return { page, email }
  }

  test('A code leads to adding a passkey, also after a reload, and the passkey opens the console', async () => {
    const { page } = await newMember()
    await page.reload()
    await page.getByText(required).waitFor()
    assert.equal(await page.locator('.notice.bad').count(), 0)
    await button(page, 'Add a passkey').click()
    await button(page, 'Confirm with a passkey').waitFor()
    assert.equal(await button(page, 'Add a passkey').count(), 0)
    await page.reload()
    await button(page, 'Confirm with a passkey').click()
    await overview(page).waitFor()
    await page.reload()
    await overview(page).waitFor()
    assert.equal(await page.getByText(required).count(), 0)
  })

  test('Who waited too long to add the first passkey is asked to sign in again', async () => {
    const { page, email } = await newMember()
    service.clock.advance(11 * minute)
    await button(page, 'Add a passkey').click()
    await button(page, 'Sign in again').click()
    await signInAtConsole(page, service, email)
    await button(page, 'Add a passkey').click()
    await button(page, 'Confirm with a passkey').click()
    await overview(page).waitFor()
  })

  test('A browser without WebAuthn says why the console stays closed', async () => {
    const { email } = await addStaff(service, ['admin'])
    const visitor = await newVisitor(browser)
    await visitor.addInitScript('delete window.PublicKeyCredential')
    const page = await openTab(visitor, service, '/console')
    await signInAtConsole(page, service, email)
    await page.getByText('This browser cannot use passkeys.').waitFor()
    assert.equal(await button(page, 'Add a passkey').count(), 0)
  })
})
