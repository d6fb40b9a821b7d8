/** Signing in with a school account in Chromium. The provider is another site: 127.0.0.1, not localhost. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { byOperator } from '../src/platform/lib/by.ts'
import { hour, second } from '../src/platform/lib/clock.ts'
import { addClient } from './support/applications.ts'
import { callback, requestOf } from './support/authorize.ts'
import { assertFit } from './support/axe.ts'
import { dialog, openConsole, place } from './support/console.ts'
import { button } from './support/device.ts'
import { inBrowser } from './support/engines.ts'
import { sharedBrowser } from './support/portal-suite.ts'
import { startProvider, type TestProvider } from './support/provider.ts'
import { addUser, bulk, emptySchool } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { type Service, startService } from './support/service.ts'
import { newVisitor, openTab, signOut } from './support/visitor.ts'

const name = 'University account'

const parts = (env: Record<string, string> = {}) => {
  const all = {} as { service: Service; browser: Browser; provider: TestProvider; providerId: string }
  before(async () => {
    all.service = await startService('sqlite', { env })
    all.provider = await startProvider(() => all.service.clock.now())
    all.provider.shows = 'page'
    const school = emptySchool()
    for (const one of ['ada', 'bea', 'cleo']) addUser(school, one, 'student', { identifier: `N-${one}` })
    await rosterOf(all.service).import(bulk(school))
    const { issuer, clientId, secret } = all.provider
    const fields = { name, kind: 'oidc', roles: ['student', 'staff'], numberClaim: 'student_number' }
    const added = await all.service.app.parts.providers.add(
      { ...fields, issuer, clientId, secret },
      byOperator,
    )
    all.providerId = added.providerId
    all.browser = await sharedBrowser()
  })
  after(async () => {
    await all.service.stop()
    await all.provider.stop()
  })
  return all
}

/** Presses the button, and the link on the provider's page. */
async function throughProvider(page: Page): Promise<void> {
  await button(page, `Sign in with ${name}`).click()
  await page.getByRole('link', { name: 'Go on' }).click()
}

suite('School accounts in the portal', inBrowser, () => {
  const all = parts()
  const student = async (path = '/') => {
    const page = await openTab(await newVisitor(all.browser), all.service, path)
    await page.getByRole('radio', { name: 'Student' }).check()
    return page
  }

  test('A student comes back from the other site signed in, at the page they wanted, and stays so', async () => {
    all.provider.claims = { sub: 'ada', student_number: 'N-ada' }
    const page = await student('/#/sessions')
    await throughProvider(page)
    await page.getByText('With a school account').waitFor()
    assert.match(page.url(), /localhost:\d+\/#\/sessions$/)
    await page.reload()
    await page.getByText('With a school account').waitFor()
  })

  test('A refused sign-in says so without a reason, also after a reload, and leads back', async () => {
    all.provider.claims = { sub: 'stranger' }
    const page = await student()
    await throughProvider(page)
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    await assertFit(page, 'school-refused', 320, 1280)
    await page.getByText(/[A-Z]{3}-[A-Z]{3}-[A-Z]{3}/).waitFor()
    await page.getByRole('link', { name: 'Back to the sign-in' }).click()
    await button(page, `Sign in with ${name}`).waitFor()
  })

  test('A refusal on the way to an application keeps its request, and another account signs in there', async () => {
    const client = await addClient(all.service, { redirectUris: [callback], scopes: 'openid profile' })
    const page = await openTab(
      await newVisitor(all.browser),
      all.service,
      `/oauth/authorize?${requestOf(client.id)}`,
    )
    await page.route(`${callback}**`, (route) => route.fulfill({ body: 'the application' }))
    await page.getByRole('radio', { name: 'Student' }).check()
    all.provider.claims = { sub: 'private' }
    await throughProvider(page)
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    assert.match(page.url(), /\/oauth\/authorize\?client_id=/)
    await page.getByRole('link', { name: 'Back to the sign-in' }).click()
    await button(page, `Sign in with ${name}`).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    all.provider.claims = { sub: 'bea-2', student_number: 'N-bea' }
    await button(page, 'Use another account').click()
    await page.getByRole('link', { name: 'Go on' }).click()
    await page.getByText('the application').waitFor()
    assert.equal(all.provider.asked.get('prompt'), 'select_account')
    assert.match(page.url(), /[?&]code=/)
  })

  test('A long request of an application is kept; one that is too long says so before the click', async () => {
    const client = await addClient(all.service, { redirectUris: [callback], scopes: 'openid profile' })
    const visit = async (changes: Record<string, string>) => {
      const path = `/oauth/authorize?${requestOf(client.id, changes)}`
      const page = await openTab(await newVisitor(all.browser), all.service, path)
      await page.getByRole('radio', { name: 'Student' }).check()
      return page
    }
    const state = `{"back":"${randomBytes(1_000).toString('base64')}"}`.padEnd(2_000, '{}')
    const page = await visit({ state })
    assert.ok(page.url().length > 3_500, `${page.url().length}`)
    await page.route(`${callback}**`, (route) => route.fulfill({ body: 'the application' }))
    all.provider.claims = { sub: 'ada', student_number: 'N-ada' }
    await throughProvider(page)
    await page.getByText('the application').waitFor()
    assert.equal(new URL(page.url()).searchParams.get('state'), state)

    const other = await visit({ more: randomBytes(3_000).toString('base64url') })
    const said = 'The application’s request is too long for signing in with the school’s account.'
    await other.getByText(`${said} Use a code or a passkey instead.`).waitFor()
    assert.equal(await button(other, `Sign in with ${name}`).count(), 0)
    await assertFit(other, 'school-too-long', 320, 1280)
  })

  test('Somebody who is a veterinarian sees no button', async () => {
    const page = await student()
    await button(page, `Sign in with ${name}`).waitFor()
    await page.getByRole('radio', { name: 'Veterinarian' }).check()
    await button(page, `Sign in with ${name}`).waitFor({ state: 'detached' })
  })

  test('A provider that is down: the page says which way is closed, and a code works', async () => {
    all.service.clock.advance(hour)
    all.provider.broken.set('/.well-known/openid-configuration', 'fails')
    const page = await student()
    await button(page, `Sign in with ${name}`).click()
    await page
      .getByText(`${name} does not answer at the moment. You can sign in with a code instead.`)
      .waitFor()
    await page.getByLabel('E-mail address').fill('bea@school.example')
    await button(page, 'Send me a code').click()
    await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
    all.provider.broken.clear()
    all.service.clock.advance(11 * second)
  })

  test('A student sees the connected account, and disconnects it', async () => {
    all.provider.claims = { sub: 'cleo', student_number: 'N-cleo' }
    const page = await student()
    await throughProvider(page)
    await page.locator('.account').waitFor({ state: 'attached' })
    await page.getByRole('link', { name: 'School account' }).click()
    await page.getByRole('heading', { name }).waitFor()
    await assertFit(page, 'school-links', 320, 1280)
    await button(page, `Disconnect: ${name}`).click()
    await dialog(page).getByRole('button', { name: 'Disconnect', exact: true }).click()
    await page.getByText(`“${name}” is no longer connected.`).waitFor()
    await button(page, `Connect ${name}`).click()
    await page.getByRole('link', { name: 'Go on' }).click()
    await page.getByRole('heading', { name }).waitFor()
    await signOut(page)
  })
})

suite('School accounts where codes are closed', inBrowser, () => {
  const all = parts({ CHIRON_STUDENT_SIGN_IN: 'school' })

  test('A student has the button alone, and the page says why', async () => {
    const page = await openTab(await newVisitor(all.browser), all.service)
    await page.getByRole('radio', { name: 'Student' }).check()
    await page.getByText('Codes by e-mail are not used here').waitFor()
    assert.equal(await page.getByLabel('E-mail address').count(), 0)
    all.provider.claims = { sub: 'ada', student_number: 'N-ada' }
    await throughProvider(page)
    await page.locator('.account').waitFor({ state: 'attached' })
    assert.equal(await page.getByRole('link', { name: 'Passkeys' }).count(), 0)
  })
})

suite('School accounts in the console', inBrowser, () => {
  const all = parts()

  test('An admin connects the account, signs in with it, and tests, changes and sees the provider', async () => {
    const { page } = await openConsole(all.browser, all.service, ['admin'])
    all.provider.claims = { sub: 'admin' }
    await place(page, '#/school-links')
    for (const width of [900, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      const boxes = await Promise.all(
        (await page.locator('header .account > *:visible').all()).map((one) => one.boundingBox()),
      )
      assert.equal(boxes.length, 4)
      for (const [i, box] of boxes.slice(1).entries())
        assert.ok(box!.x - boxes[i]!.x - boxes[i]!.width >= 8, `the account's parts touch at ${width}`)
    }
    await button(page, `Connect ${name}`).click()
    await page.getByRole('link', { name: 'Go on' }).click()
    await page.getByRole('heading', { name }).waitFor()
    await button(page, 'Sign out').click()
    await throughProvider(page)
    await page.locator('header nav').waitFor()

    await place(page, '#/providers')
    await button(page, `Test… ${name}`).click()
    await dialog(page).getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('The test went well.').waitFor()
    await page.getByText('the provider knows the client id and the secret').waitFor()
    await assertFit(page, 'console-providers', 320, 1280)
    await button(page, `Change… ${name}`).click()
    await dialog(page).getByLabel('Name on the button').fill('Campus account')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Campus account' }).waitFor()
    await all.service.app.parts.providers.change(all.providerId, { name }, byOperator)
  })

  test('An admin adds a provider; what is wrong is said at its field', async () => {
    const { page } = await openConsole(all.browser, all.service, ['admin'])
    await place(page, '#/providers')
    await button(page, 'Add a provider…').click()
    const form = dialog(page)
    await assertFit(page, 'console-provider-form', 360)
    await form.getByLabel('Kind').selectOption('oidc')
    await form.getByLabel('Name on the button').fill('Second')
    await form.getByLabel('Issuer').fill('http://login.example.org')
    await form.getByLabel('Client ID').fill('chiron')
    await form.getByLabel('Client secret').fill('a-secret')
    await form.getByRole('button', { name: 'Add', exact: true }).click()
    await form.getByText('Please check this.').waitFor()
    await form.getByLabel('Issuer').fill(all.provider.issuer)
    await form.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('The provider is added.').waitFor()
    await button(page, 'Remove… Second').click()
    await dialog(page).getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByRole('heading', { name: 'Second' }).waitFor({ state: 'detached' })
  })

  test('The help desk sees why a sign-in was refused, and disconnects an account', async () => {
    const visitor = await openTab(await newVisitor(all.browser), all.service)
    const enter = async (claims: TestProvider['claims']) => {
      all.provider.claims = claims
      await visitor.goto(visitor.url().replace(/#.*/, ''))
      await visitor.getByRole('radio', { name: 'Student' }).check()
      await throughProvider(visitor)
    }
    await enter({ sub: 'bea', student_number: 'N-bea' })
    await visitor.locator('.account').waitFor({ state: 'attached' })
    await signOut(visitor)
    await visitor.getByRole('radio', { name: 'Student' }).waitFor()
    await enter({ sub: 'another', student_number: 'N-bea' })
    await visitor.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    const rows = await all.service.rows<{ person_id: string }>(
      "select person_id from event where type = 'school.refused'",
    )
    const { page } = await openConsole(all.browser, all.service, ['support'])
    await place(page, '#/people')
    await page.getByRole('link', { name: 'Refused school accounts' }).click()
    await page.getByText('N-bea').first().waitFor()
    await assertFit(page, 'console-refusals', 320, 1280)
    await page.getByLabel('Reference, student number or address').fill('N-bea')
    await button(page, 'Search').click()
    await page.getByText('another account is connected already').waitFor()
    await page.getByRole('link', { name: 'Show the person' }).click()
    await page.getByRole('link', { name: /^[A-Z]{3}-[A-Z]{3}-[A-Z]{3}$/ }).waitFor()
    await place(page, `#/people/${rows.at(-1)!.person_id}`)
    await page.getByText('another account is connected already').waitFor()
    await button(page, `Disconnect: ${name}`).click()
    await dialog(page).getByRole('button', { name: 'Disconnect', exact: true }).click()
    await page.getByText(`“${name}” is no longer connected.`).waitFor()
  })
})
