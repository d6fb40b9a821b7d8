/** Applications of other sites that send people to the portal, to sign in and out. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { personScopes } from '../src/identity/clients/kinds.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { second } from '../src/platform/lib/clock.ts'
import { addClient, type ClientOptions, signInAt, type TestClient } from './support/applications.ts'
import { type Parameters, requestOf } from './support/authorize.ts'
import { assertFit } from './support/axe.ts'
import { firstTab, focusOn, type NotingPage, noteFaults, picture } from './support/browser.ts'
import { type ClientPage, startClientPage } from './support/client-page.ts'
import { addDevice, button } from './support/device.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { sharedBrowser } from './support/portal-suite.ts'
import { type Service, startService } from './support/service.ts'
import { addStaff } from './support/staff.ts'
import { askForCode, codeField, type Look, newVisitor, openTab, originOf, signIn } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

suite('Applications', inBrowser, () => {
  let service: Service
  let browser: Browser
  let site: ClientPage
  before(async () => {
    service = await startService('sqlite')
    browser = await sharedBrowser()
    site = await startClientPage()
  })
  after(async () => {
    await site.close()
    await service.stop()
  })

  const newClient = (options: ClientOptions = {}) =>
    addClient(service, { redirectUris: [site.callback], logoutUris: [site.afterLogout], ...options })
  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })
  const authorizeUrl = ({ id, redirectUri }: TestClient, changes: Parameters = {}) =>
    `${originOf(service)}/oauth/authorize?${requestOf(id, { redirect_uri: redirectUri, ...changes })}`

  async function openSite(visitor: BrowserContext, to: string): Promise<NotingPage> {
    const page = await noteFaults(await visitor.newPage(), originOf(service))
    await page.clock.install({ time: service.clock.now() })
    await page.goto(`${site.url}/#${encodeURIComponent(to)}`)
    return page
  }

  /** Opens the application's page and follows its link to the portal. */
  async function comeFrom(visitor: BrowserContext, to: string): Promise<NotingPage> {
    const page = await openSite(visitor, to)
    await page.getByRole('link', { name: 'Go' }).click()
    return page
  }

  /** The same with the application's form. */
  async function postFrom(visitor: BrowserContext, to: string): Promise<NotingPage> {
    const page = await openSite(visitor, to)
    await button(page, 'Post').click()
    return page
  }

  /** What the application gets. */
  async function backAt(page: Page, path = '/callback'): Promise<Record<string, string>> {
    await heading(page, 'Welcome back').waitFor()
    const { url, headers } = site.visits.at(-1)!
    assert.equal(url.pathname, path)
    assert.equal(headers.referer, undefined)
    assert.equal(new URL(page.url()).origin, site.url)
    return Object.fromEntries(url.searchParams)
  }

  const signedIn = async (look: Look = {}) => {
    const email = freshAddress()
    const visitor = await newVisitor(browser, look)
    const portal = await openTab(visitor, service)
    await signIn(portal, service, 'Veterinarian', email)
    return { visitor, portal, email }
  }
  const ownFaults = ({ faults }: NotingPage) => faults.filter((fault) => !fault.includes(site.url))

  async function enterCode(page: Page, email: string, nth: number): Promise<void> {
    const { code } = await service.mail.mailTo(email, nth)
    await codeField(page).fill(String(code))
  }

  test('Somebody who is not signed in does so on the way, and is back with a code', async () => {
    const email = freshAddress()
    await service.register(email)
    const page = await comeFrom(
      await newVisitor(browser),
      authorizeUrl(await newClient(), { login_hint: email, state: 'ü &=' }),
    )
    await heading(page, 'Sign in to continue to Moodle').waitFor()
    assert.equal(await page.getByLabel('E-mail address').inputValue(), email)
    await page.getByRole('radio', { name: 'Veterinarian' }).check()
    await button(page, 'Send me a code').click()
    await heading(page, 'Enter your code').waitFor()
    await enterCode(page, email, 1)
    const { code, ...answer } = await backAt(page)
    assert.match(code!, /^[\w-]{43}$/)
    assert.deepEqual(answer, { state: 'ü &=', iss: originOf(service) })
    assert.deepEqual(ownFaults(page), [])
    assert.ok(!service.log.join('').includes(email))
  })

  test('Who is signed in passes through without seeing a form, though the link is on another site', async () => {
    const { visitor } = await signedIn()
    await visitor.addInitScript(`new MutationObserver(() => {
      if (location.pathname === '/oauth/authorize' && document.querySelector('h1, form, input')) noteFault('flash')
    }).observe(document, { childList: true, subtree: true })`)
    const page = await comeFrom(visitor, authorizeUrl(await newClient()))
    assert.ok((await backAt(page)).code)
    assert.deepEqual(ownFaults(page), [])
    // The portal's page is not part of the history.
    await page.goBack()
    await heading(page, 'Moodle').waitFor()
  })

  test('A request that the application posts is answered as one in the address', async () => {
    const { visitor } = await signedIn()
    const client = await newClient({ consent: 'once' })
    const page = await postFrom(visitor, authorizeUrl(client, { state: 'ü &=' }))
    await heading(page, 'Sign in to Moodle?').waitFor()
    await page.reload()
    await button(page, 'Allow').click()
    const { code, ...answer } = await backAt(page)
    assert.ok(code)
    assert.deepEqual(answer, { state: 'ü &=', iss: originOf(service) })
    assert.deepEqual(ownFaults(page), [])
  })

  for (const [name, changes, expected] of [
    ['a code', {}, ['code', 'state', 'iss']],
    ['an error', { prompt: 'none', max_age: '0' }, ['error', 'error_description', 'state', 'iss']],
    [
      'a fault of the request',
      { scope: 'openid roster.read' },
      ['error', 'error_description', 'state', 'iss'],
    ],
  ] as const)
    test(`With response_mode=form_post the page posts ${name} to the application`, async () => {
      const { visitor } = await signedIn()
      const asking = { response_mode: 'form_post', state: 'ü "&=', ...changes }
      const page = await comeFrom(visitor, authorizeUrl(await newClient(), asking))
      assert.deepEqual(await backAt(page), {})
      const { body, headers } = site.visits.at(-1)!
      assert.equal(headers['content-type'], 'application/x-www-form-urlencoded')
      const form = new URLSearchParams(body)
      assert.deepEqual([...form.keys()].sort(), [...expected].sort())
      assert.deepEqual([form.get('state'), form.get('iss')], ['ü "&=', originOf(service)])
      assert.equal(page.url(), site.callback)
      assert.deepEqual(ownFaults(page), [])
    })

  test('With prompt=select_account who is signed in goes on, or uses another account', async () => {
    const { visitor, email } = await signedIn()
    service.clock.advance(second)
    const to = authorizeUrl(await newClient(), { prompt: 'select_account' })
    const page = await comeFrom(visitor, to)
    await page.getByRole('region', { name: 'You are signed in as' }).getByText(email).waitFor()
    await button(page, 'Use another account').click()
    await heading(page, 'Sign in to continue to Moodle').waitFor()
    const other = freshAddress()
    await service.register(other)
    await askForCode(page, 'Veterinarian', other)
    await enterCode(page, other, 1)
    assert.ok((await backAt(page)).code)
  })

  test('An ID token of somebody else asks for that account, and offers no way on with this one', async () => {
    const client = await newClient()
    const expected = freshAddress()
    const { idToken } = await signInAt(service, await service.signIn(expected), client)
    const { visitor, email } = await signedIn()
    const page = await comeFrom(visitor, authorizeUrl(client, { id_token_hint: idToken }))
    await heading(page, 'Moodle expects another account').waitFor()
    await page.getByRole('region', { name: 'You are signed in as' }).getByText(email).waitFor()
    assert.equal(await button(page, 'Allow').count(), 0)
    await assertFit(page, 'authorize-other-account', 320, 1280)
    await button(page, 'Use another account').click()
    await heading(page, 'Sign in to continue to Moodle').waitFor()
    await askForCode(page, 'Veterinarian', expected)
    await enterCode(page, expected, 2)
    assert.ok((await backAt(page)).code)

    const silent = await comeFrom(
      (await signedIn()).visitor,
      authorizeUrl(client, { id_token_hint: idToken, prompt: 'none' }),
    )
    assert.equal((await backAt(silent)).error, 'login_required')
  })

  test('A sign-in in another tab is enough', async () => {
    const email = freshAddress()
    const visitor = await newVisitor(browser)
    const page = await comeFrom(visitor, authorizeUrl(await newClient()))
    await heading(page, 'Sign in to continue to Moodle').waitFor()
    await signIn(await openTab(visitor, service), service, 'Veterinarian', email)
    assert.ok((await backAt(page)).code)
  })

  test('Who cancels is back with access_denied', async () => {
    const page = await comeFrom(await newVisitor(browser), authorizeUrl(await newClient()))
    await button(page, 'Cancel').click()
    assert.equal((await backAt(page)).error, 'access_denied')
  })

  test('prompt=none shows nothing and returns login_required', async () => {
    const page = await comeFrom(
      await newVisitor(browser),
      authorizeUrl(await newClient(), { prompt: 'none' }),
    )
    assert.equal((await backAt(page)).error, 'login_required')
  })

  test('The page asks before it signs in at an application with consent, and says what that may do', async () => {
    const client = await newClient({ consent: 'once' })
    const { visitor, email } = await signedIn()
    const to = authorizeUrl(client, { scope: 'openid profile email offline_access' })
    const page = await comeFrom(visitor, to)
    await heading(page, 'Sign in to Moodle?').waitFor()
    const items = await page.getByRole('main').getByRole('listitem').allTextContents()
    assert.deepEqual(items.slice(0, 4), [
      'recognise your account',
      'see your name and your role; for students also the student number, year and school; for veterinarians also whether the school has verified them',
      'see your e-mail address',
      'stay signed in after you have signed out here',
    ])
    await page.getByRole('region', { name: 'You are signed in as' }).getByText(email).waitFor()
    assert.equal(await page.getByRole('navigation').count(), 0)
    await assertFit(page, 'authorize-confirm', 320, 1280)
    await page.emulateMedia({ forcedColors: 'active' })
    await picture(page, 'authorize-confirm-forced-colours')
    await page.emulateMedia({ forcedColors: 'none' })
    await button(page, 'Decline').click()
    assert.equal((await backAt(page)).error, 'access_denied')

    const again = await comeFrom(visitor, to)
    await heading(again, 'Sign in to Moodle?').waitFor()
    // With the keyboard alone.
    await firstTab(again)
    await focusOn(again, 'Skip to the content')
    for (const name of ['Chiron, start page', 'Use another account', 'Allow']) {
      await again.keyboard.press('Tab')
      await focusOn(again, name)
    }
    await again.keyboard.press('Enter')
    assert.ok((await backAt(again)).code)
    assert.deepEqual(ownFaults(again), [])
    assert.ok((await backAt(await comeFrom(visitor, to))).code)
  })

  test('It asks as well if the device has forgotten that somebody is signed in', async () => {
    const { visitor, portal, email } = await signedIn()
    await portal.evaluate('localStorage.clear()')
    await portal.close()
    const page = await comeFrom(visitor, authorizeUrl(await newClient({ consent: 'once' })))
    await heading(page, 'Sign in to Moodle?').waitFor()
    await page.getByText(email).waitFor()
  })

  test('It names the host to which the person goes on', async () => {
    const { visitor } = await signedIn()
    const elsewhere = { consent: 'once', redirectUris: ['https://moodle.example/back'] } as const
    const page = await comeFrom(visitor, authorizeUrl(await newClient(elsewhere)))
    await page.getByText('You will go on to moodle.example.').waitFor()
  })

  test('Another account can be used', async () => {
    const { visitor, portal } = await signedIn()
    const page = await comeFrom(visitor, authorizeUrl(await newClient({ consent: 'once' })))
    await button(page, 'Use another account').click()
    await heading(page, 'Sign in to continue to Moodle').waitFor()
    await button(portal, 'Send me a code').waitFor()
    const email = freshAddress()
    await service.register(email)
    await askForCode(page, 'Veterinarian', email)
    await enterCode(page, email, 1)
    await heading(page, 'Sign in to Moodle?').waitFor()
    await page.getByText(email).waitFor()
  })

  test('An app on a device is confirmed each time, and the page leads on to it', async () => {
    const { visitor } = await signedIn()
    const client = await newClient({ kind: 'native', redirectUris: ['org.example.app:/back'] })
    const page = await comeFrom(visitor, authorizeUrl(client))
    await page.getByText('only if you have just opened Moodle on this device yourself').waitFor()
    await button(page, 'Allow').click()
    await heading(page, 'Back to the app').waitFor()
    const link = page.getByRole('link', { name: 'Open the app' })
    assert.match((await link.getAttribute('href'))!, /^org\.example\.app:\/back\?code=[\w-]{43}&state=/)
    await assertFit(page, 'authorize-app', 320, 1280)
  })

  test('A new proof is asked for in place, with a code', async () => {
    const { visitor, email } = await signedIn()
    service.clock.advance(second)
    const page = await comeFrom(visitor, authorizeUrl(await newClient(), { prompt: 'login' }))
    await heading(page, 'Confirm that it is you').waitFor()
    await page.getByText('Moodle asks you to confirm again that it is you.').waitFor()
    await assertFit(page, 'authorize-step-up', 320, 1280)
    await button(page, 'Send me a code').click()
    await codeField(page).waitFor()
    await enterCode(page, email, 2)
    assert.ok((await backAt(page)).code)
  })

  test('A new proof is asked for in place, with a passkey', async () => {
    const portal = await openTab(await newVisitor(browser), service)
    await addDevice(portal)
    await signIn(portal, service, 'Veterinarian', freshAddress())
    await button(portal, 'Add a passkey').click()
    await portal.getByText('Next time you can sign in with your passkey').waitFor()
    service.clock.advance(second)
    await portal.evaluate(
      `location.href = ${JSON.stringify(
        authorizeUrl(await newClient(), { acr_values: 'urn:chiron:passkey', state: 'passkey' }),
      )}`,
    )
    await heading(portal, 'Confirm that it is you').waitFor()
    await button(portal, 'Confirm with a passkey').click()
    assert.ok((await backAt(portal)).code)
  })

  test('The form offers the roles that the application serves, staff too', async () => {
    const roles = async (served: string) => {
      const page = await comeFrom(await newVisitor(browser), authorizeUrl(await newClient({ roles: served })))
      await heading(page, 'Sign in to continue to Moodle').waitFor()
      return { page, names: await page.locator('.choice label').allTextContents() }
    }
    const all = await roles('veterinarian student staff')
    assert.deepEqual(all.names, ['Veterinarian', 'Student', 'Member of staff'])
    await button(all.page, 'Send me a code').click()
    await all.page.getByText('Please choose one.').waitFor()
    await assertFit(all.page, 'authorize-sign-in', 320, 1280)
    const students = await roles('student')
    assert.deepEqual(students.names, [])
    assert.equal(await students.page.getByText('Register as a veterinarian').count(), 0)

    const { email } = await addStaff(service, ['support'])
    const { page } = await roles('staff')
    await page.getByLabel('E-mail address').fill(email)
    await button(page, 'Send me a code').click()
    await codeField(page).waitFor()
    await enterCode(page, email, 1)
    assert.ok((await backAt(page)).code)
  })

  test('A veterinarian whom nobody has verified reads why, and can use another account or go back', async () => {
    const client = await newClient({ unverifiedVeterinarians: false })
    const { visitor, email } = await signedIn()
    const page = await comeFrom(visitor, authorizeUrl(client))
    await heading(page, 'You cannot sign in to Moodle').waitFor()
    await page.getByText('it has not verified you yet').waitFor()
    await page.getByText(email).waitFor()
    await assertFit(page, 'authorize-not-admitted', 320, 1280)
    await button(page, 'Use another account').click()
    await heading(page, 'Sign in to continue to Moodle').waitFor()
    await page.getByText('only those whom the school has verified').waitFor()
    assert.equal(await page.getByText('Register as a veterinarian').count(), 0)
    await askForCode(page, 'Veterinarian', email)
    await enterCode(page, email, 2)
    await heading(page, 'You cannot sign in to Moodle').waitFor()
    await button(page, 'Back to Moodle').click()
    assert.equal((await backAt(page)).error, 'access_denied')
    assert.deepEqual(ownFaults(page), [])
    const [person] = await service.rows<{ id: string }>('select id from person where email = $1', [email])
    await service.app.parts.support.verify(person!.id, 'came with a passport', byOperator)
    assert.ok((await backAt(await comeFrom(visitor, authorizeUrl(client)))).code)
  })

  test('Somebody of another role reads that the application is not for them', async () => {
    const { visitor } = await signedIn()
    const page = await comeFrom(visitor, authorizeUrl(await newClient({ roles: 'student' })))
    await heading(page, 'You cannot sign in to Moodle').waitFor()
    await page.getByText('Moodle is not open to accounts like yours.').waitFor()
    await button(page, 'Back to Moodle').click()
    assert.equal((await backAt(page)).error, 'access_denied')
  })

  test('Nothing is allowed that is not shown, even if the page does not know the scope yet', async () => {
    const client = await newClient({ consent: 'once' })
    const { visitor } = await signedIn()
    await visitor.route('**/portal/authorize', async (route) => {
      const response = await route.fetch()
      const { scopes, ...json } = await response.json()
      await route.fulfill({ response, json: { ...json, scopes: ['library.loans', ...scopes.reverse()] } })
    })
    const page = await comeFrom(visitor, authorizeUrl(client, { scope: personScopes.join(' ') }))
    await heading(page, 'Sign in to Moodle?').waitFor()
    const items = await page.locator('main > ul > li').allTextContents()
    assert.equal(items.length, personScopes.length + 1)
    assert.deepEqual(
      items.filter((item) => /^[a-z_.]+$/.test(item)),
      ['library.loans'],
    )
    assert.equal(new Set(items).size, items.length)
  })

  for (const [locales, title] of [
    ['it fr-CA', 'Connectez-vous pour continuer vers Moodle'],
    ['es', 'Inicie sesión para continuar en Moodle'],
    ['de', 'Melden Sie sich an, um zu Moodle zu gelangen'],
    ['it', 'Sign in to continue to Moodle'],
  ] as const)
    test(`It is shown in the language of ui_locales=${locales}`, async () => {
      const page = await comeFrom(
        await newVisitor(browser),
        authorizeUrl(await newClient(), { ui_locales: locales }),
      )
      await heading(page, title).waitFor()
    })

  test('A request that cannot be right shows a page, and leads nowhere', async () => {
    const page = await comeFrom(
      await newVisitor(browser),
      authorizeUrl(await newClient(), { redirect_uri: `${site.url}/elsewhere` }),
    )
    await heading(page, 'You cannot sign in this way').waitFor()
    await assertFit(page, 'authorize-refused', 320, 1280)
  })

  test('The offline worker neither keeps these pages nor answers for them', async () => {
    const { visitor, portal } = await signedIn({ serviceWorkers: 'allow' })
    await portal.evaluate('navigator.serviceWorker.ready.then(() => {})')
    await portal.reload()
    await eventually('a worker in charge', () =>
      portal.evaluate<boolean>('navigator.serviceWorker.controller !== null'),
    )
    const client = await newClient({ consent: 'once' })
    const page = await comeFrom(visitor, authorizeUrl(client))
    await heading(page, 'Sign in to Moodle?').waitFor()
    const kept = await page.evaluate<string[]>(`caches.keys().then((names) => Promise.all(names.map((name) =>
      caches.open(name).then((cache) => cache.keys())))).then((lists) => lists.flat().map(({ url }) => url))`)
    assert.ok(kept.length > 0)
    assert.deepEqual(
      kept.filter((url) => /oauth\/|client_id|code=/.test(url)),
      [],
    )
    await visitor.setOffline(true)
    await assert.rejects(page.goto(authorizeUrl(client)), /ERR_INTERNET_DISCONNECTED/)
    await assert.rejects(page.goto(`${originOf(service)}/oauth/logout`), /ERR_INTERNET_DISCONNECTED/)
  })

  const logoutUrl = (parameters: Record<string, string>) =>
    `${originOf(service)}/oauth/logout?${new URLSearchParams(parameters)}`
  /** The portal's session, as the token endpoint needs it. */
  const sessionOf = async (email: string) => {
    const [row] = await service.rows<{ id: string; person_id: string }>(
      `select s.id, s.person_id from session s join person p on p.id = s.person_id
       where p.email_key = $1 and s.client_id is null and s.ended_at is null`,
      [email],
    )
    return { sessionId: row!.id, userId: row!.person_id }
  }

  test('An application with its ID token signs out at once, in all tabs, and gets the person back', async () => {
    const { visitor, portal, email } = await signedIn()
    const client = await newClient()
    const { idToken } = await signInAt(service, await sessionOf(email), client)
    const parameters = { id_token_hint: idToken, post_logout_redirect_uri: site.afterLogout, state: 'x y' }
    const page = await comeFrom(visitor, logoutUrl(parameters))
    assert.deepEqual(await backAt(page, '/bye'), { state: 'x y' })
    await portal.getByText('You signed out in another window.').waitFor()
    assert.deepEqual(ownFaults(page), [])
  })

  test('A posted request to sign out is answered as one in the address', async () => {
    const { visitor, email } = await signedIn()
    const { idToken } = await signInAt(service, await sessionOf(email), await newClient())
    const parameters = { id_token_hint: idToken, post_logout_redirect_uri: site.afterLogout, state: 'x y' }
    const page = await postFrom(visitor, logoutUrl(parameters))
    assert.deepEqual(await backAt(page, '/bye'), { state: 'x y' })
    assert.deepEqual(ownFaults(page), [])
  })

  test('Without one, the page asks; who stays is still signed in', async () => {
    const { visitor, portal } = await signedIn()
    const { id } = await newClient()
    const parameters = { client_id: id, post_logout_redirect_uri: site.afterLogout }
    const page = await comeFrom(visitor, logoutUrl(parameters))
    await heading(page, 'Sign out?').waitFor()
    await page.getByText('Moodle asks to sign you out here.').waitFor()
    await assertFit(page, 'logout-confirm', 320, 1280)
    await page.getByRole('link', { name: 'Stay signed in' }).click()
    await page.locator('.account').waitFor({ state: 'attached' })

    const again = await comeFrom(visitor, logoutUrl({ client_id: id }))
    await button(again, 'Sign out').click()
    await heading(again, 'You are signed out').waitFor()
    await assertFit(again, 'logout-done', 320, 1280)
    await portal.getByText('You signed out in another window.').waitFor()
  })

  test('The list of devices shows applications by name below, and signs them out', async () => {
    const { portal, email } = await signedIn()
    const who = await sessionOf(email)
    const hub = await newClient({ name: 'JupyterHub' })
    await signInAt(service, who, await newClient())
    await signInAt(service, who, hub)
    await signInAt(service, who, await newClient({ name: 'Phone app' }), { scope: 'openid offline_access' })
    await portal.evaluate("location.hash = '#/sessions'")
    const below = portal.getByRole('list', { name: 'Applications' })
    await below.getByText('JupyterHub').waitFor()
    assert.equal(await below.getByRole('listitem').count(), 2)
    await heading(portal, 'Phone app').waitFor()
    await portal.getByText('Stays signed in after you sign out here').waitFor()
    await assertFit(portal, 'sessions-applications', 320, 1280)
    await button(portal, 'Sign out there: JupyterHub').click()
    await portal.getByText('JupyterHub is signed out.').waitFor()
    assert.equal(await below.getByRole('listitem').count(), 1)
    const open = await service.rows('select 1 from session where client_id = $1 and ended_at is null', [
      hub.id,
    ])
    assert.deepEqual(open, [])
  })

  test('A consent can be withdrawn, which signs the application out', async () => {
    const { visitor, portal, email } = await signedIn()
    const client = await newClient({ consent: 'once', name: 'Grafana' })
    const page = await comeFrom(visitor, authorizeUrl(client))
    await button(page, 'Allow').click()
    await backAt(page)
    await signInAt(service, await sessionOf(email), client)
    await portal.evaluate("location.hash = '#/sessions'")
    await heading(portal, 'Applications that you have allowed').waitFor()
    await portal.getByRole('list', { name: 'Applications' }).waitFor()
    await assertFit(portal, 'sessions-consents', 320, 1280)
    await button(portal, 'Withdraw: Grafana').click()
    await portal.getByText('Grafana is signed out and has to ask you again.').waitFor()
    await eventually('the application is gone', async () => {
      return (await portal.getByRole('list', { name: 'Applications' }).count()) === 0
    })
    await heading(await comeFrom(visitor, authorizeUrl(client)), 'Sign in to Grafana?').waitFor()
  })
})
