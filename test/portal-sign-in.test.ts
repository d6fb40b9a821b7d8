/** The portal's sign-in and registration forms: choices, messages, and the form before any script has arrived. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { accessFaults, coloursSettle } from './support/axe.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { everyLanguage, portalText } from './support/texts.ts'
import {
  askForCode,
  codeField,
  type Look,
  newVisitor,
  openTab,
  originOf,
  scriptArrived,
  signIn,
  signOut,
} from './support/visitor.ts'
import { soon } from './support/wait.ts'

suite('The portal’s sign-in form', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' }, students: ['idle'] },
  )
  const visit = async (look: Look = {}, path = '/') => openTab(await newVisitor(browser, look), service, path)
  const mailsTo = (address: string) =>
    service.mail.received.filter(({ to }) => to.toLowerCase() === address).length

  test('Nobody is taken for a veterinarian: nothing is chosen at first, and the choice is remembered, the address not', async () => {
    const page = await visit()
    const chosen = page.getByRole('radio', { checked: true })
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.equal(await chosen.count(), 0)
    await page.getByLabel('E-mail address').fill('somebody@school.example')
    await page.getByRole('button', { name: 'Send me a code' }).click()
    await page.getByText('Please choose “Veterinarian” or “Student”.').waitFor()
    await soon(() => page.evaluate<string>('document.activeElement.name'), 'role')
    await page.getByRole('radio', { name: 'Student' }).check()
    await page.reload()
    await scriptArrived(page)
    await page.getByRole('radio', { name: 'Student', checked: true }).waitFor()
    assert.equal(await page.getByLabel('E-mail address').inputValue(), '')
    assert.doesNotMatch(await page.evaluate('JSON.stringify({ ...localStorage })'), /@/)
  })

  test('Who chose the wrong role is told the right one by mail, and nothing on the screen', async () => {
    const veterinarian = freshAddress('vet')
    await service.signIn(veterinarian)
    const screens: string[] = []
    for (const [role, email, said] of [
      [
        'Veterinarian',
        'idle@school.example',
        /the school’s roster lists it as a student’s[\s\S]*choose “Student”/,
      ],
      ['Student', veterinarian, /belongs to a veterinarian account[\s\S]*choose “Veterinarian”/],
    ] as const) {
      const page = await visit()
      const nth = mailsTo(email) + 1
      await askForCode(page, role, email)
      screens.push((await page.locator('.lead').innerText()).replace(email, ''))
      const { mail } = await service.mail.mailTo(email, nth)
      assert.match(mail.text ?? '', said)
    }
    const page = await visit()
    await askForCode(page, 'Student', freshAddress('nobody'))
    screens.push((await page.locator('.lead').innerText()).replace(/\S+@\S+(?=,)/, ''))
    assert.equal(new Set(screens).size, 1)
  })

  test('After registering, the screen says that a code is sent, not that there may be an account', async () => {
    const page = await visit({}, '/#/register')
    const email = freshAddress('new')
    await page.getByLabel('First name').fill('Ada')
    await page.getByLabel('Last name').fill('Marsh')
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('button', { name: 'Register and send me a code' }).click()
    await page.getByText(`We are sending a code to ${email}.`).waitFor()
    assert.equal(await page.getByText('If there is an account').count(), 0)
    await page.reload()
    await page.getByText(`We are sending a code to ${email}.`).waitFor()
  })

  test('An address is gone from the form after sign-out and after closing', async () => {
    const page = await visit()
    const typed = () => page.getByLabel('E-mail address').inputValue()
    await signIn(page, service, 'Veterinarian', freshAddress('gone'))
    await signOut(page)
    await page.getByText('You have signed out.').waitFor()
    assert.equal(await typed(), '')
    await signIn(page, service, 'Veterinarian', freshAddress('gone'))
    await page.goto(`${originOf(service)}/#/close`)
    await page.getByRole('textbox', { name: 'type your last name' }).fill('Marsh')
    await page.getByRole('button', { name: 'for good' }).click()
    await page.getByText('Your account is closed').waitFor()
    assert.equal(await typed(), '')
    await page.getByRole('link', { name: 'Register' }).click()
    await page.getByRole('heading', { name: 'Register' }).waitFor()
    assert.equal(await typed(), '')
  })

  test('Too few digits are said, and a wrong code marks the field', async () => {
    const page = await visit()
    await askForCode(page, 'Student', freshAddress('few'))
    await codeField(page).pressSequentially('123')
    await codeField(page).press('Enter')
    await page.getByRole('alert').getByText('The code has 6 digits. Some are missing.').waitFor()
    assert.equal(await codeField(page).getAttribute('aria-invalid'), 'true')
    await codeField(page).pressSequentially('456')
    await page.getByRole('alert').getByText('4 attempts left').waitFor()
    assert.equal(await codeField(page).getAttribute('aria-invalid'), 'true')
    assert.equal(await page.getByText('Attempts left', { exact: true }).count(), 0)
    await page.reload()
    await page.getByText('Attempts left', { exact: true }).waitFor()
  })

  test('The form is there before any script, and what was typed into it stays', async () => {
    for (const locale of everyLanguage) {
      const { signIn, fields } = await portalText(locale)
      const visitor = await newVisitor(browser, { locale })
      const page = await visitor.newPage()
      let arrive = () => {}
      const script = new Promise<void>((resolve) => {
        arrive = resolve
      })
      await page.route(/\/web\/index-.*\.js$/, async (route) => {
        await script
        await route.continue()
      })
      await page.goto(`${originOf(service)}/`, { waitUntil: 'commit' })
      await page.getByRole('heading', { name: signIn.title, exact: true }).waitFor()
      const field = page.getByLabel(fields.email)
      await field.fill('early@vets.example')
      await page.locator('.static input[value=veterinarian]').check()
      assert.deepEqual(await accessFaults(page), [])
      await field.focus()
      const top = async () => (await page.getByRole('heading', { level: 1 }).boundingBox())!.y
      const before = await top()
      arrive()
      await page.locator('form').waitFor()
      assert.equal(await field.inputValue(), 'early@vets.example')
      await soon(() => page.evaluate<string>('document.activeElement.value'), 'early@vets.example')
      assert.equal(await page.locator('form input[value=veterinarian]').isChecked(), true)
      assert.ok(Math.abs((await top()) - before) < 2)
      await visitor.close()
    }
  })

  test('What is typed in the moment when the script takes the form over stays too', async () => {
    const visitor = await newVisitor(browser)
    // Somebody who types between any two tasks of the page.
    await visitor.addInitScript(`{
      const { port1, port2 } = new MessageChannel()
      let times = 0
      port1.onmessage = () => {
        const field = document.querySelector('.static [type=email]')
        if (field) window.typed = field.value = ++times + '@vets.example'
        if (field || times === 0) port2.postMessage(null)
      }
      port2.postMessage(null)
    }`)
    const page = await openTab(visitor, service)
    const typed = await page.evaluate<string>('window.typed')
    assert.match(typed, /@vets.example$/)
    assert.equal(await page.getByLabel('E-mail address').inputValue(), typed)
  })

  test('Somebody who is signed in, and other pages, do not see that form while they load', async () => {
    const page = await visit()
    await signIn(page, service, 'Veterinarian', freshAddress('known'))
    await page.route(/\/web\/index-.*\.js$/, () => {})
    for (const path of ['/', '/#/register', `/v/${'A'.repeat(22)}`]) {
      await page.goto('about:blank')
      await page.goto(`${originOf(service)}${path}`, { waitUntil: 'commit' })
      await page.locator('.brand').waitFor()
      assert.equal(await page.locator('.static').count(), 0, path)
    }
  })

  test('A busy button keeps its words readable under the pointer', async () => {
    const page = await visit()
    await page.getByRole('radio', { name: 'Student' }).check()
    await page.getByLabel('E-mail address').fill(freshAddress('busy'))
    await page.route('**/student/send-otp', () => {})
    const button = page.getByRole('button', { name: 'Send me a code' })
    await button.click()
    await page.locator('[aria-busy=true]').waitFor()
    await button.hover()
    // axe passes over what is disabled.
    await button.evaluate((one) => one.removeAttribute('aria-busy'))
    await coloursSettle(page)
    const [ink, ground] = await button.evaluate((one) => {
      const { color, backgroundColor } = one.ownerDocument.defaultView!.getComputedStyle(one)
      return [color, backgroundColor]
    })
    assert.ok(contrast(ink!, ground!) >= 4.5, `${ink} on ${ground}`)
  })
})

/** WCAG 2.2 §1.4.3. */
function contrast(a: string, b: string): number {
  const light = (colour: string) => {
    const [r, g, blue] = colour.match(/\d+/g)!.map((part) => {
      const share = Number(part) / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * blue! + 0.05
  }
  const [one, two] = [light(a), light(b)]
  return Math.max(one, two) / Math.min(one, two)
}
