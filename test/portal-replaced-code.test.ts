/** A code that the service no longer takes although it should be good: the portal asks for another one, once. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import { focusOn, overflow, picture } from './support/browser.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { addStaff } from './support/staff.ts'
import { askForCode, type Look, newVisitor, openTab, signIn } from './support/visitor.ts'

const wrongFor = (code: string) => (code === '123456' ? 654321 : 123456)

suite('A code that is replaced', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite((parts) => {
    ;({ service, browser } = parts)
  })

  const visit = async (path = '/', look: Look = {}) => openTab(await newVisitor(browser, look), service, path)
  const field = (page: Page) => page.locator('input.code')
  /** The code of the mail with the reference that the page shows. */
  const codeOn = async (page: Page, email: string) => {
    const reference = await page.locator('.reference').innerText()
    return String((await service.mail.mailWith(email, reference)).code)
  }
  /** Somebody else uses up the attempts of the session that this page shows. Returns its code. */
  const exhaust = async (page: Page, email: string, role: 'veterinarian' | 'staff' = 'veterinarian') => {
    const { sessionId } = await page.evaluate<{ sessionId: string }>('history.state.challenge')
    const code = await codeOn(page, email)
    const answer = { email, otp_code: wrongFor(code), sessionId }
    const replies = await repeat(5, () => service.post(`/${role}/validate-otp`, answer, freshNetwork()), 1)
    assert.equal(replies.at(-1)!.json.attemptsLeft, 0)
    return code
  }
  /** An address with three open sessions gets eight digits in its next one. */
  const makeLong = (email: string, role: 'veterinarian' | 'staff' = 'veterinarian') =>
    repeat(3, () => service.post(`/${role}/send-otp`, { email }, freshNetwork()), 1)
  const noteSent = (page: Page) => {
    const sent: unknown[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/send-otp')) sent.push(request.postDataJSON())
    })
    return sent
  }

  test('A longer code is on its way, says the screen to eyes and ears, and it lets one in', async () => {
    const email = freshAddress('longer')
    // Until an address is confirmed, it gets three codes a day.
    await service.signIn(email, freshNetwork())
    const page = await visit()
    await askForCode(page, 'Veterinarian', email)
    const old = await exhaust(page, email)
    await makeLong(email)
    const sent = noteSent(page)
    await field(page).pressSequentially(old)
    await page.getByRole('alert').getByText('we are sending you a new code with 8 digits').waitFor()
    assert.equal(await page.getByRole('alert').filter({ hasText: /\S/ }).count(), 1)
    assert.ok(await field(page).evaluate((one) => one === one.ownerDocument.activeElement))
    assert.equal(await field(page).inputValue(), '')
    await page.getByText('The 8 digits from the mail').waitFor()
    assert.deepEqual(sent, [{ email }])
    assert.deepEqual(await accessFaults(page), [])
    await picture(page, 'portal-code-longer')
    assert.equal(await overflow(page, 320), 0)
    const code = await codeOn(page, email)
    assert.match(code, /^\d{8}$/)
    await field(page).pressSequentially(code)
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    assert.equal(sent.length, 1)
  })

  test('It happens once on a screen, also after a reload or a new code by hand; then there is a button', async () => {
    const email = freshAddress('once')
    await service.register(email)
    const page = await visit()
    await askForCode(page, 'Veterinarian', email)
    const sent = noteSent(page)
    await field(page).pressSequentially(await exhaust(page, email))
    await page.getByRole('alert').getByText('A new one is on its way.').waitFor()
    await page.reload()
    await field(page).waitFor()
    const over = page.getByRole('alert').getByText('This code can no longer be used.')
    await field(page).pressSequentially(await exhaust(page, email))
    await over.waitFor()
    assert.equal(sent.length, 1)
    await focusOn(page, 'Send a new code')
    await page.getByRole('button', { name: 'Send a new code' }).click()
    await field(page).waitFor()
    await field(page).pressSequentially(await exhaust(page, email))
    await over.waitFor()
    assert.equal(sent.length, 2)
  })

  test('If no new code can be sent, the screen says why and leaves a button', async () => {
    const email = freshAddress('refused')
    await service.register(email)
    const page = await visit()
    await askForCode(page, 'Veterinarian', email)
    const old = await exhaust(page, email)
    await repeat(4, () => service.post('/veterinarian/send-otp', { email }), 1)
    await field(page).pressSequentially(old)
    await page.getByText('Too many attempts in a short time.').waitFor()
    await page.getByText('This code can no longer be used.').waitFor()
    await page.getByRole('button', { name: 'Send a new code' }).waitFor()
    assert.deepEqual(await accessFaults(page), [])
  })

  test('It is the same in the console, and in French and Spanish', async () => {
    for (const [locale, words] of [
      ['fr-FR', 'nous vous envoyons un nouveau code à 8 chiffres'],
      ['es-ES', 'le enviamos un código nuevo de 8 cifras'],
    ] as const) {
      const { email } = await addStaff(service, ['support'])
      const page = await visit('/console', { locale })
      await page.locator('input[type=email]').fill(email)
      await page.locator('form button[type=submit]').click()
      await field(page).waitFor()
      const old = await exhaust(page, email, 'staff')
      await makeLong(email, 'staff')
      await field(page).pressSequentially(old)
      await page.getByRole('alert').getByText(words).waitFor()
      await picture(page, `console-code-longer-${locale}`)
      const code = await codeOn(page, email)
      assert.equal(code.length, 8)
      await field(page).fill(code)
      await page.locator('header nav').waitFor()
    }
  })

  test('A new address whose code was used up gets another one', async () => {
    const [before, after] = [freshAddress('before'), freshAddress('after')]
    const page = await visit()
    await signIn(page, service, 'Veterinarian', before)
    await page.getByRole('link', { name: 'Change my address' }).click()
    await page.getByLabel('New e-mail address').fill(after)
    const answered = page.waitForResponse((reply) => reply.url().endsWith('/veterinarian/me/email'))
    await page.getByRole('button', { name: 'Send me a code' }).click()
    const reply = await answered
    const token = reply.request().headers().authorization!.slice('Bearer '.length)
    const { sessionId } = await reply.json()
    await field(page).waitFor()
    const old = await codeOn(page, after)
    const wrong = { method: 'POST', token, body: { otp_code: wrongFor(old), sessionId } }
    await repeat(5, () => service.request('/veterinarian/me/email/confirm', wrong), 1)
    await field(page).pressSequentially(old)
    await page.getByRole('alert').getByText('A new one is on its way.').waitFor()
    await field(page).fill(await codeOn(page, after))
    await page.getByText(/Your address is now/).waitFor()
  })
})
