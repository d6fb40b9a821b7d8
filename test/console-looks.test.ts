/** Every screen of the console: fit for everybody, light and dark, on a narrow phone and on a desk. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Browser, Locator } from 'playwright-core'
import { minute } from '../src/platform/lib/clock.ts'
import { places } from '../web/src/console/navigation.ts'
import { assertFit } from './support/axe.ts'
import { overflow } from './support/browser.ts'
import { dialog, openConsole, place } from './support/console.ts'
import { deliveredAs } from './support/deliveries.ts'
import { inBrowser } from './support/engines.ts'
import { freshNetwork } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { newVisitor, openTab } from './support/visitor.ts'

suite('The console’s screens', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    {
      env: { CHIRON_LIMITS: 'off' },
      students: [],
      mail: () =>
        startMailServer({
          onRcptTo({ address }, _session, callback) {
            const refused = Object.assign(new Error('5.1.1 No such user here'), { responseCode: 550 })
            callback(address.endsWith('@gone.example') ? refused : null)
          },
        }),
    },
  )
  before(async () => {
    for (let i = 0; i < 3; i++) {
      await service.signIn(`vet${i}@clinic.example`, freshNetwork())
      service.clock.advance(50 * minute)
    }
    await service.post('/veterinarian/send-otp', { email: 'nobody@gone.example' }, freshNetwork())
    await deliveredAs(service, 'nobody@gone.example', 'failed')
  })

  test('Every screen of the console is fit for everybody on a narrow phone, light and dark', async () => {
    const stranger = await openTab(await newVisitor(browser), service, '/console')
    await stranger.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
    await assertFit(stranger, 'console-sign-in', 360)

    const { page } = await openConsole(browser, service, ['admin'])
    const looked = new Set<string>()
    const look = async (name: string, shown: Locator) => {
      await shown.first().waitFor()
      looked.add(await page.evaluate<string>('location.hash'))
      await assertFit(page, `console-${name}`, 360)
    }
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()

    await look('overview', page.getByRole('heading', { name: /^Wrong: / }))
    await place(page, '#/people')
    await look('people', page.getByRole('table', { name: 'People' }))
    await page.getByLabel('Find somebody').fill('marsh')
    await look('people-found', page.locator('.results a'))
    await page.getByLabel('Find somebody').fill('nobody@gone.example')
    await page.getByText('Nobody has this address.').waitFor()
    await look('people-unknown-address', page.getByText('5.1.1 No such user here'))
    await page.getByLabel('Find somebody').fill('vet1@clinic.example')
    await page
      .getByRole('row', { name: /vet1@clinic/ })
      .getByRole('link')
      .click()
    await look('person', page.getByText('The code arrived and was entered.'))
    await press('Close the account…')
    await look('person-close', dialog(page))
    await dialog(page).getByRole('button', { name: 'Close permanently' }).click()
    await look('person-close-refused', page.getByText('Please give a reason.'))
    await press('Cancel')
    await press('Change the address…')
    await look('person-address', dialog(page))
    await press('Cancel')
    await place(page, '#/people/nobody')
    await look('person-unknown', page.getByText('Person not found'))
    await place(page, '#/mail')
    await look('mail', page.locator('.deliveries .card'))
    await place(page, '#/events')
    await look('events', page.locator('.log li'))
    await place(page, '#/webhooks')
    await look('webhooks', page.getByText('No webhooks yet.'))
    await press('Add a webhook…')
    await look('webhooks-add', dialog(page))
    await dialog(page).getByLabel('URL (https)').fill('https://hooks.example.org/')
    await dialog(page).getByRole('button', { name: 'Add' }).click()
    await look('webhooks-secret', dialog(page).getByLabel('The secret, shown only once'))
    await press('I have copied it')
    await look('webhooks-one', page.getByText('https://hooks.example.org/'))
    await page.getByRole('button', { name: /^Remove/ }).click()
    await dialog(page).getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No webhooks yet.').waitFor()
    await place(page, '#/applications')
    await look('applications', page.getByText('No applications yet.'))
    await press('Add an application…')
    await look('applications-add', dialog(page))
    await dialog(page).getByText('More settings').click()
    await dialog(page).getByRole('button', { name: 'Add' }).click()
    await look('applications-add-refused', dialog(page).getByText('Please give at least one address.'))
    await dialog(page).getByLabel('Redirect URIs').fill('https://moodle.example.org/admin/oauth2callback.php')
    await dialog(page).getByLabel('Back-channel logout URI').fill('https://moodle.example.org/logout')
    await dialog(page).getByRole('button', { name: 'Add' }).click()
    await look('applications-paste', dialog(page).getByLabel('Client secret'))
    await press('I have copied it')
    await look('applications-one', page.getByRole('link', { name: /^Moodle/ }))
    await page.getByRole('link', { name: /^Moodle/ }).click()
    await look('application', page.getByText('Nobody is signed in there.'))
    await press('New secret…')
    await look('application-rotate', dialog(page))
    await press('Cancel')
    await press('Remove…')
    await look('application-remove', dialog(page))
    await dialog(page).getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No applications yet.').waitFor()
    await place(page, '#/applications/nonsense')
    await look('application-unknown', page.getByText('Application not found'))
    await place(page, '#/staff')
    await look('staff', page.getByText('(you)'))
    await press('Add somebody…')
    await dialog(page).getByRole('button', { name: 'Add' }).click()
    await look('staff-add', page.getByText('Please choose at least one.'))
    await press('Cancel')
    for (const name of Object.keys(places).filter((name) => !looked.has(`#/${name}`))) {
      await place(page, `#/${name}`)
      await look(name, page.getByRole('heading', { level: 1 }))
    }
    await place(page, '#/nonsense')
    await look('nowhere', page.getByText('Page not found'))

    service.clock.advance(31 * minute)
    await page.clock.fastForward(31 * minute)
    await place(page, '#/staff')
    await page
      .getByRole('button', { name: /^Remove/ })
      .first()
      .click()
    await press('Remove')
    await look('fresh-code', dialog(page).getByText('You signed in a while ago.'))
    await press('Send me a code')
    await look('fresh-code-sent', page.getByRole('textbox', { name: 'Code' }))
    assert.deepEqual(
      page.faults.filter((fault) => !/40[134]/.test(fault)),
      [],
    )
  })

  test('Wide letters and forced colours leave everything in its place', async () => {
    const { page } = await openConsole(browser, service, ['admin'])
    await page.emulateMedia({ forcedColors: 'active' })
    await page.evaluate('document.documentElement.style.fontSize = "200%"')
    for (const hash of Object.keys(places).map((name) => `#/${name}`)) {
      await place(page, hash)
      await page.getByRole('heading', { level: 1 }).waitFor()
      assert.equal(await overflow(page, 720), 0, hash)
    }
  })
})
