/** Accessibility of the portal's error, confirmation and empty screens. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Browser, Locator } from 'playwright-core'
import { assertFit } from './support/axe.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { askForCode, codeField, newVisitor, openTab, originOf, signIn, signOut } from './support/visitor.ts'

const minute = 60_000

suite('The portal’s other screens', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { students: ['idle'] },
  )

  test('Every screen that refuses, asks back or is empty is fit for everybody on a narrow phone, light and dark', async () => {
    const page = await openTab(await newVisitor(browser), service)
    const look = async (name: string, shown: Locator) => {
      await shown.first().waitFor()
      await assertFit(page, `portal-${name}`, 320)
    }
    const pass = async (ms: number) => {
      service.clock.advance(ms)
      await page.clock.fastForward(ms)
    }
    const text = (words: string) => page.getByText(words)
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
    const goto = (place: string) => page.goto(`${originOf(service)}/#/${place}`)

    await press('Send me a code')
    await look('sign-in-no-role', text('Please choose “Veterinarian” or “Student”.'))
    await page.getByRole('radio', { name: 'Student' }).check()
    await page.getByLabel('E-mail address').fill('nonsense')
    await press('Send me a code')
    await look('sign-in-wrong', text('This does not look like an e-mail address.'))
    await goto('register')
    await press('Register and send me a code')
    await look('register-wrong', text('Please enter a name'))

    await goto('')
    await askForCode(page, 'Veterinarian', freshAddress('decoy'))
    for (const said of ['4 attempts', '3 attempts', '2 attempts', '1 attempt', 'no attempts']) {
      await codeField(page).fill('')
      await codeField(page).fill('123456')
      await page.getByRole('alert').getByText(`${said} left`).waitFor()
      if (said === '4 attempts') await look('code-wrong', text('That is not the right code.'))
      assert.equal(await page.getByText('Attempts left', { exact: true }).count(), 0)
    }
    await look('code-exhausted', page.getByRole('button', { name: 'Send a new code' }))
    await press('Send a new code')
    await look('code-renewed', text('A new code is on its way.'))
    await pass(10 * minute)
    await look('code-expired', text('This code has expired.'))

    await goto('')
    await signIn(page, service, 'Veterinarian', freshAddress('look'))
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    await page.context().setOffline(true)
    await look('offline', text('You are offline.'))
    await page.context().setOffline(false)
    await goto('sessions')
    await press('Sign out everywhere')
    await look('sessions-everywhere', page.getByRole('dialog'))
    await press('Cancel')

    await pass(11 * minute)
    await goto('close')
    const surname = page.getByRole('textbox', { name: 'type your last name' })
    await surname.fill('Somebody')
    await press('Close my account for good')
    await look('close-mismatch', text('This is not your last name.'))
    await surname.fill('Marsh')
    await press('Close my account for good')
    await look('close-fresh', text('You signed in a while ago.'))
    await press('Send me a code')
    await look('close-code', codeField(page))

    await page.route('**/portal/refresh', (route) => route.abort())
    await page.reload()
    await look('unreachable', text('The service cannot be reached.'))
    // Before it can be reached: the page also tries again by itself, and then the button is gone.
    await press('Try again')
    await page.unroute('**/portal/refresh')
    await signOut(page)
    await look('signed-out', text('You have signed out.'))

    const idle = 'idle@school.example'
    const mails = service.mail.received.filter(({ to }) => to === idle).length
    await goto('')
    await signIn(page, service, 'Student', idle, mails + 1)
    await look('student-none', text('You have no classes yet.'))
    await goto('classes/nothing')
    await look('class-unknown', text('Class not found'))
    await goto('calendar')
    await press('Subscribe to my classes')
    await page.getByRole('heading', { name: 'Shown only once' }).waitFor()
    for (let made = 1; made < 5; made++) {
      await page.getByLabel('Name (optional)').fill(`Place ${made}`)
      await press('Create another address')
      await page.getByRole('button', { name: `Revoke: Place ${made}` }).waitFor()
    }
    await look('calendar-full', text('You have 5 addresses, the maximum.'))
    await goto('')
    await goto('calendar')
    await look('calendar-made', text('Your calendar addresses'))
    for (const name of ['Calendar', 'Place 1', 'Place 2', 'Place 3', 'Place 4']) {
      await press(`Revoke: ${name}`)
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
      await page.getByRole('button', { name: `Revoke: ${name}` }).waitFor({ state: 'detached' })
    }
    // Wrong codes, the old sign-in and the call that was cut off.
    assert.deepEqual(
      page.faults.filter((fault) => !/40[13]|net::ERR_FAILED/.test(fault)),
      [],
    )
  })
})
