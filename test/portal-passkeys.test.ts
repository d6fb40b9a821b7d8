/** Passkeys in the portal, with Chromium's own authenticator. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { minute } from '../src/platform/lib/clock.ts'
import { addDevice, button } from './support/device.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { sharedBrowser } from './support/portal-suite.ts'
import { type Service, startService } from './support/service.ts'
import { codeField, newVisitor, openTab, signIn, signOut } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

suite('Passkeys in the portal', inBrowser, () => {
  let service: Service
  let browser: Browser
  before(async () => {
    service = await startService('sqlite')
    browser = await sharedBrowser()
  })
  after(async () => {
    await service.stop()
  })

  /** Somebody who signed in with a code on a device with an authenticator. */
  const signedIn = async ({ autofills = true } = {}) => {
    const email = freshAddress()
    const visitor = await newVisitor(browser)
    if (!autofills)
      await visitor.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')
    const page = await openTab(visitor, service)
    const device = await addDevice(page)
    await signIn(page, service, 'Veterinarian', email)
    return { page, device, email }
  }

  test('After a sign-in with a code, a passkey is offered once, and signs in next time', async () => {
    const { page, device } = await signedIn()
    await page.getByRole('heading', { name: 'Next time without a code' }).waitFor()
    await button(page, 'Add a passkey').click()
    await page.getByText('Next time you can sign in with your passkey').waitFor()
    assert.equal((await device.credentials()).length, 1)
    // The field offers it, and this authenticator answers at once.
    const answered = page.waitForResponse('**/portal/passkey/validate')
    await signOut(page)
    await answered
    await page.locator('.account').waitFor({ state: 'attached' })
    assert.equal(await page.getByRole('heading', { name: 'Next time without a code' }).count(), 0)
    await page.evaluate("location.hash = '#/sessions'")
    await page.getByText('With a passkey').waitFor()
  })

  test('The button signs in where the field offers nothing; who declines stays where they are', async () => {
    const { page, device } = await signedIn({ autofills: false })
    await button(page, 'Add a passkey').click()
    await page.getByText('Next time you can sign in with your passkey').waitFor()
    await signOut(page)
    await device.answers(false)
    await page.evaluate(`(() => {
      const { get } = CredentialsContainer.prototype
      CredentialsContainer.prototype.get = function (...given) {
        const answer = get.apply(this, given)
        answer.catch(() => { window.isDeclined = true })
        return answer
      }
    })()`)
    await button(page, 'Sign in with a passkey').click()
    await eventually('the device declines', () => page.evaluate<boolean>('window.isDeclined === true'))
    await button(page, 'Send me a code').waitFor()
    await device.answers(true)
    await button(page, 'Sign in with a passkey').click()
    await page.locator('.account').waitFor({ state: 'attached' })
  })

  test('A sign-in with a passkey in one tab signs in the others', async () => {
    const { page } = await signedIn({ autofills: false })
    await button(page, 'Add a passkey').click()
    await page.getByText('Next time you can sign in with your passkey').waitFor()
    await signOut(page)
    const other = await openTab(page.context(), service)
    await button(other, 'Send me a code').waitFor()
    await page.bringToFront()
    await button(page, 'Sign in with a passkey').click()
    await page.locator('.account').waitFor({ state: 'attached' })
    await other.locator('.account').waitFor({ state: 'attached' })
  })

  test('The page of passkeys adds one, renames it and removes it, and asks to confirm if the sign-in is old', async () => {
    const { page, device, email } = await signedIn()
    await page.evaluate("location.hash = '#/passkeys'")
    await page.getByText('You have no passkeys yet.').waitFor()
    await button(page, 'Add a passkey').click()
    await page.getByText(/has been added/).waitFor()
    assert.equal((await device.credentials()).length, 1)
    service.clock.advance(11 * minute)
    await page.getByRole('button', { name: /^Rename: / }).click()
    await page.getByLabel('Name', { exact: true }).fill('My phone')
    await button(page, 'Rename').click()
    await page.getByText('The passkey is now called “My phone”.').waitFor()
    await page.getByRole('button', { name: 'Remove: My phone' }).click()
    await button(page, 'Remove').click()
    await button(page, 'Confirm with a passkey').click()
    await page.getByText(/has been removed/).waitFor()
    await page.getByText('You have no passkeys yet.').waitFor()
    service.clock.advance(11 * minute)
    await button(page, 'Add a passkey').click()
    await button(page, 'Send me a code').click()
    const reference = await page.locator('.reference').textContent()
    const { code } = await service.mail.mailWith(email, reference!)
    await codeField(page).fill(String(code))
    await page.getByText(/has been added/).waitFor()
  })

  test('A passkey that the service no longer knows is refused, and a code still works', async () => {
    const { page, email } = await signedIn()
    await page.evaluate("location.hash = '#/passkeys'")
    // The first page has a button of this name too.
    await page.getByText('You have no passkeys yet.').waitFor()
    await button(page, 'Add a passkey').click()
    await page.getByText(/has been added/).waitFor()
    await service.app.parts.db.run('delete from passkey')
    await service.mail.mailTo(email, 2)
    await signOut(page)
    await page.getByText('This passkey cannot be used. Please sign in with a code.').waitFor()
    await signIn(page, service, 'Veterinarian', email, 3)
  })

  test('A device that does not verify its user leaves everything as it was', async () => {
    const { page, device } = await signedIn()
    await page.evaluate("location.hash = '#/passkeys'")
    await page.getByText('You have no passkeys yet.').waitFor()
    await device.answers(false)
    await button(page, 'Add a passkey').click()
    await page.locator('[aria-busy]').waitFor({ state: 'detached' })
    await page.getByText(/^No passkey was added/).waitFor()
    await page.getByText('You have no passkeys yet.').waitFor()
    assert.deepEqual(await device.credentials(), [])
  })

  test('An old sign-in closes the account after a passkey, in place', async () => {
    const { page, email } = await signedIn()
    await button(page, 'Add a passkey').click()
    await page.getByText('Next time you can sign in with your passkey').waitFor()
    service.clock.advance(11 * minute)
    await page.evaluate("location.hash = '#/close'")
    await page.locator('main form input').fill('Marsh')
    await page.locator('main form button[type=submit]').click()
    await button(page, 'Confirm with a passkey').click()
    await page.locator('.account').waitFor({ state: 'detached' })
    assert.deepEqual(await service.rows('select id from person where email = $1', [email]), [])
  })

  test('An old sign-in changes the address after a passkey, in place', async () => {
    const { page } = await signedIn()
    await button(page, 'Add a passkey').click()
    await page.getByText('Next time you can sign in with your passkey').waitFor()
    service.clock.advance(11 * minute)
    await page.evaluate("location.hash = '#/email'")
    const moved = freshAddress('moved')
    await page.locator('main form input').fill(moved)
    await page.locator('main form button[type=submit]').click()
    await button(page, 'Confirm with a passkey').click()
    const { code } = await service.mail.mailTo(moved)
    await codeField(page).fill(String(code))
    await page.locator('.notice.good').getByText(moved).waitFor()
  })

  test('The passkey of a suspended person is refused', async () => {
    const { page, email } = await signedIn({ autofills: false })
    await button(page, 'Add a passkey').click()
    await page.getByText('Next time you can sign in with your passkey').waitFor()
    await signOut(page)
    await service.app.parts.db.run("update person set status = 'suspended' where email = $1", [email])
    await button(page, 'Sign in with a passkey').click()
    await page.getByText('This passkey cannot be used. Please sign in with a code.').waitFor()
    assert.equal(await page.locator('.account').count(), 0)
  })

  test('Who says "Not now" is not asked again', async () => {
    const { page, email } = await signedIn()
    await button(page, 'Not now').click()
    await signOut(page)
    await signIn(page, service, 'Veterinarian', email, 2)
    await page.evaluate("location.hash = '#/passkeys'")
    await page.getByText('You have no passkeys yet.').waitFor()
    await page.evaluate("location.hash = '#/'")
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Next time without a code' }).count(), 0)
  })

  test('Without WebAuthn nothing is shown of passkeys but the empty page', async () => {
    const visitor = await newVisitor(browser)
    await visitor.addInitScript('delete window.PublicKeyCredential')
    const page = await openTab(visitor, service)
    await button(page, 'Send me a code').waitFor()
    assert.equal(await button(page, 'Sign in with a passkey').count(), 0)
    await signIn(page, service, 'Veterinarian', freshAddress())
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Next time without a code' }).count(), 0)
  })
})
