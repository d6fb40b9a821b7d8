/** The console in a real Chromium, as the help desk and administrators use it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import type { Browser, Page, Request } from 'playwright-core'
import { byOperator, bySystem } from '../src/platform/lib/by.ts'
import { day, minute } from '../src/platform/lib/clock.ts'
import { newId } from '../src/platform/lib/random.ts'
import { rights } from '../src/roles.ts'
import { isInBar, type PageName, places } from '../web/src/console/navigation.ts'
import { addClient, secretWorks } from './support/applications.ts'
import { accessFaults, assertFit } from './support/axe.ts'
import { firstTab, focused, focusOn, overflow } from './support/browser.ts'
import { type AtConsole, dialog, openConsole, place, signInAtConsole } from './support/console.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { addStaff } from './support/staff.ts'
import { newVisitor, openTab, originOf, signIn } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

suite('The console', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' }, students: [] },
  )

  const open = (...may: Parameters<typeof openConsole>[2][number][]) => openConsole(browser, service, may)
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const pass = async (page: Page, ms: number) => {
    service.clock.advance(ms)
    await page.clock.fastForward(ms)
  }
  /** A veterinarian of this name who has signed in. */
  async function veterinarian(firstname: string, lastname: string): Promise<string> {
    const email = freshAddress('vet')
    await service.register(email, { firstname, lastname })
    const { sessionId, code } = await service.code(email, freshNetwork())
    const answer = { email, otp_code: code, sessionId }
    const { json } = await service.post('/veterinarian/validate-otp', answer, freshNetwork())
    return json.user.userId
  }
  async function search(page: Page, text: string): Promise<void> {
    await place(page, '#/people')
    await page.getByLabel('Find somebody').fill(text)
  }

  for (const right of rights)
    test(`With the right "${right}" one sees the pages it opens, and no others`, async () => {
      const { page } = await open(right)
      const hashes = Object.entries(places)
        .filter(([, needed]) => right === 'admin' || needed === 'any' || needed === right)
        .filter(([name]) => isInBar(name as PageName))
        .map(([name]) => `#/${name}`)
      const shown = await page.locator('header nav a').all()
      assert.deepEqual(await Promise.all(shown.map((link) => link.getAttribute('href'))), hashes)
      await page.locator('.overview .card').first().waitFor()
      const linked = async (where: string) =>
        Promise.all((await page.locator(`${where} a`).all()).map((link) => link.getAttribute('href')))
      const may = await linked('header nav')
      for (const link of await linked('.overview')) assert.ok(may.includes(link), String(link))
      if (right !== 'admin') {
        await place(page, '#/staff')
        await page.getByText('Your rights do not cover this page.').waitFor()
      }
      assert.deepEqual(page.faults, [])
    })

  test('The help desk finds somebody, suspends and reactivates them, and sees who did it and why', async () => {
    await veterinarian('Ottilie', 'Zimmermann')
    const { page } = await open('support')
    await page.getByRole('link', { name: 'People' }).click()
    await page.getByLabel('Find somebody').fill('zimmer otti')
    await page.getByRole('link', { name: /Ottilie Zimmermann/ }).click()
    await page.getByRole('heading', { name: 'Ottilie Zimmermann' }).waitFor()
    await page.getByText('Node.js').waitFor()

    service.clock.advance(1)
    await button(page, 'Suspend…').click()
    await dialog(page).getByText('Every device is signed out at once.').waitFor()
    await dialog(page).getByRole('button', { name: 'Suspend' }).click()
    await dialog(page).getByText('Please give a reason.').waitFor()
    await dialog(page).locator('input:focus').waitFor()
    await dialog(page).getByLabel('Reason').fill('Lost her <b>phone</b>')
    await dialog(page).getByRole('button', { name: 'Suspend' }).click()
    await page.getByText('The account is suspended.').waitFor()
    await page.getByText('Not signed in anywhere.').waitFor()
    await page.locator('.notice').getByText('Lost her <b>phone</b>').waitFor()
    await page.locator('.log').getByText('Lost her <b>phone</b>').waitFor()
    assert.equal(await page.locator('.lead .state').textContent(), 'suspended')
    await page.locator('.log li').filter({ hasText: 'Veterinarian suspended by you' }).waitFor()
    // The button is gone.
    await focusOn(page, 'Ottilie Zimmermann')

    await button(page, 'Reactivate…').click()
    await dialog(page).getByRole('button', { name: 'Reactivate' }).click()
    await page.getByText('The account is active again.').waitFor()
    await button(page, 'Verify…').click()
    await dialog(page).getByLabel('How was it checked?').fill('Passport')
    await dialog(page).getByRole('button', { name: 'Verify' }).click()
    await page.getByText('The school has checked who this is').waitFor()
    await page.goBack()
    assert.equal(await page.getByLabel('Find somebody').inputValue(), 'zimmer otti', 'the search is kept')
    assert.deepEqual(page.faults, [])
  })

  test('Who changed the name after being verified is shown until the help desk has looked again', async () => {
    const { support, veterinarians } = service.app.parts
    const change = async (userId: string, firstname: string) => {
      await support.verify(userId, 'Passport', byOperator)
      service.clock.advance(1)
      const person = await veterinarians.findAccount((await support.show(userId)).profile.email)
      await veterinarians.rename(person!, { firstname }, { ...byOperator, actor: 'self' })
    }
    const [one, two] = [await veterinarian('Rosa', 'Lang'), await veterinarian('Berta', 'Kurz')]
    await change(one, 'Rosalind')
    await change(two, 'Bertha')
    const { page } = await open('support')
    await page
      .getByText('2 veterinarians were verified, but the name or address has changed since.')
      .waitFor()
    await page.getByRole('link', { name: 'People' }).click()
    const list = page.getByRole('region', { name: 'To verify again' })
    await list.getByRole('link', { name: /Bertha Kurz/ }).waitFor()
    await list.getByRole('link', { name: /Rosalind Lang.*verify again/ }).click()
    await page.getByText(/Verify again: .* the name changed on 15 November 2026/).waitFor()
    await page
      .locator('.log li')
      .filter({ hasText: /Verification withdrawn/ })
      .getByText('the name changed')
      .waitFor()

    await button(page, 'Verify…').click()
    await dialog(page).getByLabel('How was it checked?').fill('Marriage certificate')
    await veterinarians.rename(
      (await veterinarians.findAccount((await support.show(one)).profile.email))!,
      { lastname: 'Kafka' },
      byOperator,
    )
    await dialog(page).getByRole('button', { name: 'Verify' }).click()
    await dialog(page).getByText('That is not possible now.').waitFor()
    await button(page, 'Cancel').click()
    await page.reload()
    await button(page, 'Verify…').click()
    await dialog(page).getByLabel('How was it checked?').fill('Marriage certificate')
    await dialog(page).getByRole('button', { name: 'Verify' }).click()
    await page.getByText('The school has checked who this is').waitFor()

    await place(page, `#/people/${two}`)
    await button(page, 'Leave unverified…').click()
    await dialog(page).getByRole('button', { name: 'Leave unverified' }).click()
    await page.getByText('Not checked by the school').waitFor()
    await place(page, '#/people')
    await page.getByRole('table', { name: 'People' }).waitFor()
    await list.waitFor({ state: 'detached' })
    assert.deepEqual(
      page.faults.filter((fault) => !/409/.test(fault)),
      [],
    )
  })

  test('Changing an address and closing an account say what they do; closing is said to be final', async () => {
    const userId = await veterinarian('Clara', 'Immerwahr')
    const { page } = await open('support')
    await place(page, `#/people/${userId}`)
    await button(page, 'Change the address…').click()
    await dialog(page).getByLabel('New e-mail address').fill('nonsense')
    await dialog(page).getByLabel('Reason').fill('Married')
    await button(page, 'Change the address').click()
    await dialog(page).getByText('This e-mail address cannot be used.').waitFor()
    const email = freshAddress('new')
    await dialog(page).getByLabel('New e-mail address').fill(email)
    await button(page, 'Change the address').click()
    await page.getByText('The address has been changed.').waitFor()
    await page.locator('main').getByText(email).waitFor()
    await button(page, 'Close the account…').click()
    await dialog(page).getByText('This cannot be undone.').waitFor()
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    await focusOn(page, 'Close the account…')
    await button(page, 'Close the account…').click()
    await dialog(page).getByLabel('Reason').fill('She asked for it')
    await button(page, 'Close permanently').click()
    await page.getByText('The account is closed.').waitFor()
    await page.locator('.person-actions button').first().waitFor({ state: 'detached' })
    assert.deepEqual(page.faults, [])
  })

  test('A sign-in that is too old for an action leads to a code in place, and then it goes on', async () => {
    const userId = await veterinarian('Emmy', 'Noether')
    const { page, email } = await open('support')
    await pass(page, 31 * minute)
    await place(page, `#/people/${userId}`)
    await button(page, 'Suspend…').click()
    await dialog(page).getByLabel('Reason').fill('Asked on the phone')
    await button(page, 'Suspend').click()
    await dialog(page).getByText('You signed in a while ago.').waitFor()
    await button(page, 'Send me a code').click()
    const { code } = await service.mail.mailTo(email, 2)
    await dialog(page).getByRole('textbox', { name: 'Code' }).fill(String(code))
    await page.getByText('The account is suspended.').waitFor()
    await page.locator('.log').getByText('Asked on the phone').waitFor()
    assert.deepEqual(
      page.faults.filter((fault) => !/40[13]/.test(fault)),
      [],
    )
  })

  test('Everything works by keyboard alone', async () => {
    await veterinarian('Hedwig', 'Bollhagen')
    const { page } = await open('support')
    const { keyboard } = page
    const tabTo = async (name: string) => {
      for (let i = 0; i < 40 && (await focused(page)) !== name; i++) await keyboard.press('Tab')
      assert.equal(await focused(page), name)
    }
    await page.reload()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await firstTab(page)
    await focusOn(page, 'Skip to the content')
    await tabTo('People')
    await keyboard.press('Enter')
    await page.getByLabel('Find somebody').waitFor()
    await keyboard.type('bollhagen')
    await page.getByRole('link', { name: /Hedwig Bollhagen/ }).waitFor()
    await keyboard.press('ArrowDown')
    assert.match(await focused(page), /Hedwig Bollhagen/)
    await keyboard.press('ArrowUp')
    assert.equal(await page.evaluate('document.activeElement.type'), 'search')
    await keyboard.press('ArrowDown')
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Hedwig Bollhagen' }).waitFor()
    await focusOn(page, 'Hedwig Bollhagen')
    await tabTo('Suspend…')
    await keyboard.press('Enter')
    await dialog(page).waitFor()
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'INPUT', 'the field comes first')
    await keyboard.type('Testing')
    await keyboard.press('Enter')
    await page.getByText('The account is suspended.').waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('Administrators add, change and remove staff; the last one stays', async () => {
    const { page, userId: own } = await open('admin')
    for (const { userId, may } of await service.app.parts.staff.list())
      if (userId !== own && may.includes('admin')) await service.app.parts.staff.remove(userId, byOperator)
    await page.getByRole('link', { name: 'Staff' }).click()
    await button(page, 'Add somebody…').click()
    await button(page, 'Add').click()
    await dialog(page).getByText('Please choose at least one.').waitFor()
    const email = freshAddress('member')
    await dialog(page).getByLabel('E-mail address').fill(email)
    await dialog(page).getByLabel('First name').fill('Mary')
    await dialog(page).getByLabel('Last name').fill('Jackson')
    await dialog(page).getByLabel('Help desk').check()
    await button(page, 'Add').click()
    await page.getByText('Mary Jackson can sign in now.').waitFor()
    await button(page, 'Add somebody…').click()
    await dialog(page).getByLabel('E-mail address').fill(email)
    await dialog(page).getByLabel('First name').fill('Mary')
    await dialog(page).getByLabel('Last name').fill('Again')
    await dialog(page).getByLabel('Registrar').check()
    await button(page, 'Add').click()
    await dialog(page).getByText('A member of staff already has this address.').waitFor()
    await button(page, 'Cancel').click()

    const card = page.getByRole('listitem').filter({ hasText: 'Mary Jackson' })
    await card.getByRole('button', { name: 'Change…' }).click()
    await dialog(page).getByLabel('Registrar').check()
    await button(page, 'Save').click()
    await card.getByText('Registrar').waitFor()
    await card.getByRole('button', { name: 'Remove…' }).click()
    await button(page, 'Remove').click()
    await page.getByText('Mary Jackson has been removed.').waitFor()

    const self = page.getByRole('listitem').filter({ hasText: '(you)' })
    await self.getByRole('button', { name: 'Remove…' }).click()
    await dialog(page).getByText('This is you').waitFor()
    await button(page, 'Remove').click()
    await dialog(page).getByText('This is the last administrator.').waitFor()
    assert.deepEqual(
      page.faults.filter((fault) => !/409/.test(fault)),
      [],
    )
  })

  test('Administrators add an application by what it is, see its secret once, and what to paste', async () => {
    const { page } = await open('admin')
    await page.getByRole('link', { name: 'Staff', exact: true }).click()
    await page.getByRole('link', { name: 'Applications', exact: true }).click()
    await page.getByText('No applications yet.').waitFor()
    await button(page, 'Add an application…').click()
    const form = dialog(page)
    const what = form.getByLabel('What is it?')
    // A preset fills in kind, scopes and PKCE, and shows the shape of the redirect URI.
    await form.getByText('More settings').click()
    const shapes: [preset: string, shape: string | null, scope: string, pkce: boolean | null][] = [
      ['Moodle', 'https://moodle.example.org/admin/oauth2callback.php', 'openid', false],
      ['JupyterHub', 'https://hub.example.org/hub/oauth_callback', 'openid', true],
      ['Apache with mod_auth_openidc', 'https://www.example.org/secure/redirect_uri', 'openid', true],
      ['Single-page application', 'https://app.example.org/', 'openid', null],
      ['Mobile or desktop app', 'org.example.app:/callback', 'openid', null],
      ['Service without people', null, 'roster.read', null],
    ]
    for (const [preset, shape, scope, pkce] of shapes) {
      await what.selectOption({ label: preset })
      if (shape) await form.getByText(shape, { exact: true }).waitFor()
      else await form.getByLabel('Redirect URIs').waitFor({ state: 'detached' })
      assert.equal(await form.getByLabel(scope).isChecked(), true, preset)
      const box = form.getByLabel('Require PKCE')
      assert.equal((await box.count()) === 0 ? null : await box.isChecked(), pkce, preset)
    }
    await what.selectOption({ label: 'JupyterHub' })
    await form.getByLabel('Redirect URIs').fill('http://hub.example.org/hub/oauth_callback')
    await button(page, 'Add').click()
    await form.getByText('An address cannot be used.').waitFor()
    const redirect = 'https://hub.example.org/hub/oauth_callback'
    await form.getByLabel('Redirect URIs').fill(`${redirect}\n\n https://hub.example.org/other \n`)
    const strangers = form.getByLabel('Unverified veterinarians, too')
    assert.equal(await strangers.isChecked(), false)
    await form.getByLabel('Veterinarians', { exact: true }).uncheck()
    assert.equal(await strangers.count(), 0)
    await form.getByLabel('Ask people once').check()
    await form.getByLabel('Back-channel logout URI').fill('https://hub.example.org/logout')
    await button(page, 'Add').click()

    await dialog(page).getByRole('heading', { name: 'JupyterHub has been added' }).waitFor()
    const pasted = (name: string) => dialog(page).getByLabel(`c.GenericOAuthenticator.${name}`).inputValue()
    const [{ id }] = (await service.rows<{ id: string }>('select id from client')) as [{ id: string }]
    const secret = await pasted('client_secret')
    assert.ok(await secretWorks(service, id, secret))
    const { issuer } = (await service.request('/.well-known/oauth-authorization-server')).json
    assert.deepEqual(
      [await pasted('client_id'), await pasted('oauth_callback_url'), await pasted('token_url')],
      [id, redirect, `${issuer}/oauth/token`],
    )
    await button(page, 'I have copied it').click()
    const stored = await service.app.parts.clients.show(id)
    assert.deepEqual(
      [stored.kind, stored.pkce, stored.consent, stored.roles, stored.redirectUris],
      ['web', true, 'once', ['student', 'staff'], [redirect, 'https://hub.example.org/other']],
    )

    await page.getByRole('link', { name: /^JupyterHub on Web application · 0 people/ }).click()
    await page.getByText('Nobody is signed in there.').waitFor()
    await page.getByText('None has failed.').waitFor()
    assert.ok(!(await page.content()).includes(secret))
    await button(page, 'Change…').click()
    assert.equal(
      await dialog(page).getByLabel('Redirect URIs').inputValue(),
      `${redirect}\nhttps://hub.example.org/other`,
    )
    await dialog(page).getByRole('textbox', { name: 'Name' }).fill('Notebooks')
    await button(page, 'Save').click()
    await page.getByRole('heading', { name: 'Notebooks' }).waitFor()
    assert.deepEqual(await service.app.parts.clients.show(id), { ...stored, name: 'Notebooks' })
    await button(page, 'Remove…').click()
    await button(page, 'Remove').click()
    await page.getByText('No applications yet.').waitFor()
    assert.deepEqual(
      page.faults.filter((fault) => !/400/.test(fault)),
      [],
    )
  })

  test('An application of before says that it admits strangers, until an admin decides', async () => {
    const { page } = await open('admin')
    const { clients } = service.app.parts
    const { id } = await addClient(service, { unverifiedVeterinarians: null, name: 'Case log' })
    const stored = async () => (await clients.show(id)).unverifiedVeterinarians
    await page.getByRole('link', { name: 'Staff', exact: true }).click()
    await page.getByRole('link', { name: 'Applications', exact: true }).click()
    await page.getByRole('link', { name: /^Case log admits unverified veterinarians/ }).click()
    await page.getByText('added before this could be chosen. Please decide.').waitFor()
    await assertFit(page, 'console-application-undecided', 320, 1280)
    // Another change decides nothing.
    await button(page, 'Change…').click()
    await dialog(page).getByText('More settings').click()
    assert.equal(await dialog(page).getByLabel('Unverified veterinarians, too').isChecked(), true)
    await assertFit(page, 'console-application-form', 320, 1280)
    await dialog(page).getByRole('textbox', { name: 'Name' }).fill('Case log 2')
    await button(page, 'Save').click()
    await page.getByRole('heading', { name: 'Case log 2' }).waitFor()
    assert.equal(await stored(), null)

    await button(page, 'All veterinarians, as before…').click()
    await button(page, 'Admit all').click()
    await page.getByText('All veterinarians can sign in there, as before.').waitFor()
    assert.equal(await stored(), true)
    await button(page, 'Only verified veterinarians…').waitFor({ state: 'detached' })
    await service.app.parts.db.run('update client set unverified_veterinarians = null where id = $1', [id])
    await page.reload()
    await button(page, 'Only verified veterinarians…').click()
    await button(page, 'Admit only verified ones').click()
    await page.getByText('Only verified veterinarians can sign in there.').waitFor()
    assert.equal(await stored(), false)
    await button(page, 'Change…').click()
    await dialog(page).getByText('More settings').click()
    await dialog(page).getByLabel('Unverified veterinarians, too').check()
    await button(page, 'Save').click()
    await page.getByText('The application has been changed.').waitFor()
    assert.equal(await stored(), true)
    await clients.remove(id, byOperator)
  })

  test('The page of an application shows who is signed in and what failed, and acts on it', async () => {
    const { page, email } = await open('admin')
    const { clients, db, sessions } = service.app.parts
    const fields = {
      name: 'Moodle',
      redirectUris: ['https://moodle.example.org/cb'],
      backchannelUri: 'https://moodle.example.org/logout',
      unverifiedVeterinarians: true,
    }
    const { clientId, secret } = await clients.add(fields, byOperator)
    const people = await Promise.all(
      ['ada', 'bo'].map((name) => service.signIn(`${name}@applications.example`, freshNetwork())),
    )
    const now = service.clock.now()
    for (const { sessionId: startedFrom, userId: personId } of people) {
      const session = {
        id: newId(),
        clientId,
        personId,
        scope: 'openid',
        startedFrom,
        language: 'en',
        offline: false,
        now,
      }
      await db.decide(sessions.startingAtClient(session, bySystem))
    }
    await db.run(
      `insert into logout_call (session_id, client_id, uri, person_id, attempts, next_at, created_at, tried_at, status, error, ended_at, outcome)
       values ($1, $2, 'x', $3, 9, $4, $4, $4, 500, 'it answered 500', $4, 'failed')`,
      [newId(), clientId, people[0]!.userId, now],
    )
    await page.getByRole('link', { name: 'Staff', exact: true }).click()
    await page.getByRole('link', { name: 'Applications', exact: true }).click()
    await page
      .getByRole('link', { name: /^Moodle 1 failed call Web application · 2 people signed in/ })
      .click()
    await page.getByRole('heading', { name: 'Signed in there: 2 people' }).waitFor()
    const signedIn = page.getByRole('link', { name: 'Ada Marsh' })
    await signedIn.first().waitFor()
    assert.equal(await signedIn.count(), 2)
    await page.getByText('9 attempts · answered 500 · it answered 500').waitFor()

    await button(page, 'New secret…').click()
    await dialog(page).getByLabel('for a day').check()
    await button(page, 'Create a new secret').click()
    const next = await dialog(page).getByLabel('client_secret').inputValue()
    await button(page, 'I have copied it').click()
    await page.getByText('The former secret works until').waitFor()
    for (const each of [secret!, next]) assert.ok(await secretWorks(service, clientId, each))
    assert.equal(await secretWorks(service, clientId, secret!, service.clock.now() + day), false)

    await button(page, 'Switch off…').click()
    await button(page, 'Switch off').click()
    await page.getByText('The application is off.').waitFor()
    assert.equal((await clients.show(clientId)).enabled, false)
    await button(page, 'Switch on…').click()
    await button(page, 'Switch on').click()
    await page.getByText('The application is on.').waitFor()

    await pass(page, 31 * minute)
    await button(page, 'Sign everybody out…').click()
    await button(page, 'Sign everybody out').click()
    await dialog(page).getByText('You signed in a while ago.').waitFor()
    await button(page, 'Send me a code').click()
    const { code } = await service.mail.mailTo(email, 2)
    await dialog(page).getByRole('textbox', { name: 'Code' }).fill(String(code))
    await page.getByText('Everybody is signed out there.').waitFor()
    await page.getByText('Nobody is signed in there.').waitFor()
    assert.equal((await clients.show(clientId)).signedIn, 0)
    await clients.remove(clientId, byOperator)
    await page.reload()
    await page.getByRole('heading', { name: 'Application not found' }).waitFor()
  })

  test('Administrators add a webhook, see its secret once, give it a new one, and remove it', async () => {
    const { page } = await open('admin')
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click()
    await page.getByText('No webhooks yet.').waitFor()
    await button(page, 'Add a webhook…').click()
    await dialog(page).getByLabel('URL (https)').fill('https://127.0.0.1/hook')
    await button(page, 'Add').click()
    await dialog(page).getByText('This URL cannot be used.').waitFor()
    await dialog(page).getByLabel('URL (https)').fill('https://hooks.example.org/chiron')
    await dialog(page).getByLabel('all events').uncheck()
    await dialog(page).getByLabel('keys').check()
    await button(page, 'Add').click()
    const secret = dialog(page).getByLabel('The secret, shown only once')
    const first = await secret.inputValue()
    assert.match(first, /^whsec_/)
    await button(page, 'I have copied it').click()
    const card = page.getByRole('listitem').filter({ hasText: 'https://hooks.example.org/chiron' })
    await card.getByText('Signing key rotated').waitFor()
    await card.getByRole('button', { name: 'New secret…' }).click()
    await button(page, 'Create a new secret').click()
    assert.notEqual(await secret.inputValue(), first)
    await button(page, 'I have copied it').click()
    await card.getByText('Recent deliveries').click()
    await card.getByText('Nothing here.').waitFor()
    await card.getByRole('button', { name: 'Send again…' }).click()
    await dialog(page).getByLabel('Since').fill('2026-11-15T00:00')
    await button(page, 'Send again').click()
    await page.getByText(/sent again\./).waitFor()
    await card.getByRole('button', { name: 'Send a test…' }).click()
    await button(page, 'Send').click()
    await page
      .getByRole('status')
      .getByText(/^The program did not accept the test event: [A-Z_]+\.$/)
      .waitFor()
    await card.getByRole('button', { name: 'Switch off…' }).click()
    await button(page, 'Switch off').click()
    await card.getByText('off', { exact: true }).waitFor()
    await card.getByRole('button', { name: 'Remove…' }).click()
    await dialog(page).getByText('This cannot be undone.').waitFor()
    await button(page, 'Remove').click()
    await card.waitFor({ state: 'detached' })
    assert.deepEqual(
      page.faults.filter((fault) => !/400/.test(fault)),
      [],
    )
  })

  test('Events are shown newest first, by kind, and as they happen', async () => {
    service.clock.advance(1)
    const added = await addStaff(service, ['support'])
    const { page } = await open('admin')
    service.clock.advance(1)
    await service.signIn(freshAddress('vet'), freshNetwork())
    await page.getByRole('link', { name: 'Events', exact: true }).click()
    const first = page.locator('.log li').first()
    // The sweep may have ended sessions of other tests since.
    const byOthers = page.locator('.log li').filter({ hasNotText: 'the service' })
    await byOthers.first().getByText('themselves').waitFor()
    await page.locator('.log li').filter({ hasText: 'Member of staff added' }).first().waitFor()
    await page.getByLabel('Show', { exact: true }).selectOption({ label: 'staff' })
    await first.getByText('Member of staff added by the command line').waitFor()
    await page.getByLabel('Follow').check()
    await service.app.parts.staff.remove(added.userId, byOperator)
    await eventually('the new event', async () => {
      await page.clock.fastForward(5_000)
      return (await first.getByText('Member of staff removed').count()) === 1
    })
    assert.equal(await page.getByText('1 new event').count(), 1)
    assert.deepEqual(page.faults, [])
  })

  test('Events of one person are found by a link, with names, and a suspension ends sessions once', async () => {
    const userId = await veterinarian('Noor', 'Haddad')
    const { db } = service.app.parts
    const email = (await db.one<{ email: string }>('select email from person where id = $1', [userId]))!.email
    for (const _ of [1, 2]) await service.signIn(email, freshNetwork())
    service.clock.advance(minute)
    await service.app.parts.support.suspend(userId, 'a test', byOperator)
    const { page } = await open('admin')
    await place(page, `#/people/${userId}`)
    await page.getByRole('link', { name: 'Filter or download these events' }).click()
    await page.getByText('Only events of Noor Haddad').waitFor()
    assert.equal(await page.evaluate('location.hash'), `#/events?person=${userId}`)
    const ended = page.locator('.log li').filter({ hasText: 'ended because the account was suspended' })
    await ended.filter({ hasText: '(3 devices)' }).waitFor()
    assert.equal(await ended.count(), 1)
    await page.getByLabel('By', { exact: true }).selectOption({ label: 'themselves' })
    await eventually('other actors are gone', async () => (await ended.count()) === 0)
    assert.match(await page.evaluate<string>('location.hash'), /person=.*&actor=self$/)
    await page.reload()
    await page.locator('.log li').filter({ hasText: 'Noor Haddad' }).nth(4).waitFor()
    const downloading = page.waitForEvent('download')
    await button(page, 'Download as CSV').click()
    const download = await downloading
    const file = readFileSync(await download.path(), 'utf8')
    assert.ok(file.startsWith('\uFEFF'), 'or Excel would not read names as UTF-8')
    const lines = file.trim().split('\r\n')
    assert.equal(lines[0], '"number","time","event","person","userId","by","actor","data"')
    assert.equal(lines.length, 6)
    for (const line of lines.slice(1)) assert.match(line, /,"Noor Haddad",.*,"themselves","self",/)
    await page.getByLabel('To', { exact: true }).fill('2020-01-01')
    await page.locator('.log li').first().waitFor({ state: 'detached' })
    assert.deepEqual(page.faults, [])
  })

  test('Older events are read page by page', async () => {
    for (let i = 0; i < 60; i++) await addStaff(service, ['support'])
    const { page } = await open('admin')
    await place(page, '#/events')
    await page.locator('.log li').nth(49).waitFor()
    await button(page, 'Show older events').click()
    await page.locator('.log li').nth(60).waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('Of more events than a spreadsheet takes, the newest are downloaded, and the page says so', async () => {
    const max = 10_000
    const { page } = await open('admin')
    await service.app.parts.db.run(
      `insert into event (id, at, type, data, actor)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < ${max})
       select 'many-' || i, ${service.clock.now()}, 'key.rotated', '{}', 'operator' from n`,
    )
    service.clock.advance(minute)
    await service.app.parts.support.suspend(await veterinarian('Last', 'Of All'), 'a test', byOperator)
    await place(page, '#/events')
    await page.locator('.log li').nth(49).waitFor()
    const downloading = page.waitForEvent('download')
    await button(page, 'Download as CSV').click()
    const lines = readFileSync(await (await downloading).path(), 'utf8')
      .trim()
      .split('\r\n')
    assert.equal(lines.length, 1 + max)
    // The sweep may have ended sessions of other tests since.
    const newest = lines.findLast((line) => !line.includes('expired'))
    assert.match(newest!, /"session.ended","Last Of All"/)
    await page.getByText('The file has only the newest 10,000 events.').waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('Names that strangers chose are text, and break no page', async () => {
    const hostile: [string, string][] = [
      ['<img src=x onerror=alert(1)>', '"><script>'].map((name) => name.replaceAll('/', '')) as [
        string,
        string,
      ],
      ['W'.repeat(100), 'i'.repeat(100)],
      ['שרה', 'לוי'],
      ['ﷺ'.repeat(50), '{{constructor}}'],
    ]
    const { page } = await open('admin')
    for (const [firstname, lastname] of hostile) {
      const userId = await veterinarian(firstname, lastname)
      await place(page, `#/people/${userId}`)
      await page.getByRole('heading', { level: 1, name: `${firstname} ${lastname}` }).waitFor()
      assert.equal(await overflow(page, 360), 0)
      await button(page, 'Suspend…').click()
      await dialog(page).waitFor()
      assert.equal(await overflow(page, 360), 0)
      await page.keyboard.press('Escape')
      await search(page, lastname.slice(0, 20))
      await page.locator('.results a').first().waitFor()
      assert.equal(await overflow(page, 360), 0)
    }
    assert.equal(await page.locator('.results img, h1 img').count(), 0)
    assert.deepEqual(page.faults, [])
  })

  test('After an hour without use one is asked to sign in, and is then back in the same place', async () => {
    const userId = await veterinarian('Lise', 'Meitner')
    const { page, email } = await open('support')
    await place(page, `#/people/${userId}`)
    await page.getByRole('heading', { name: 'Lise Meitner' }).waitFor()
    await pass(page, 61 * minute)
    await button(page, 'Sign out everywhere…').click()
    await button(page, 'Sign out everywhere').click()
    await page.getByText('Your session has ended.').waitFor()
    await signInAtConsole(page, service, email)
    await page.getByRole('heading', { name: 'Lise Meitner' }).waitFor()
  })

  test('A screen that is left alone stops asking, so its session ends', async () => {
    const { page } = await open('support')
    await page.locator('.overview .card').first().waitFor()
    const isOverview = (request: Request) => request.url().endsWith('/staff/overview')
    let asked = 0
    let replied = 0
    page.on('request', (request) => {
      if (isOverview(request)) asked++
    })
    page.on('requestfinished', (request) => {
      if (isOverview(request)) replied++
    })
    await page.clock.pauseAt(service.clock.now() + 5 * minute)
    await eventually('an overview read again', () => asked > 0 && replied === asked)
    await page.clock.fastForward(10 * minute)
    const before = asked
    await page.clock.runFor(20 * minute)
    // A request that comes after any the page has made.
    await page.evaluate("fetch('/health/live').then((reply) => reply.text())")
    assert.equal(asked, before)
  })

  test('Staff who open the portal are sent to the console', async () => {
    const staff = await open('support')
    await staff.page.goto(`${originOf(service)}/`)
    await staff.page.waitForURL('**/console*')
    await staff.page.getByRole('heading', { name: 'All is well' }).waitFor()
    assert.deepEqual(staff.page.faults, [])
  })

  test('A veterinarian who is staff too is told so at the console, and can change over', async () => {
    const { email } = await addStaff(service, ['support'])
    const page = await openTab(await newVisitor(browser), service)
    await signIn(page, service, 'Veterinarian', email)
    await page.goto(`${originOf(service)}/console#/people`)
    await page.getByRole('heading', { name: 'The console is for staff' }).waitFor()
    await page.getByText('Ada Marsh is signed in to the portal in this browser.').waitFor()
    assert.deepEqual(await accessFaults(page), [])
    await page.getByRole('link', { name: 'Back to the portal' }).click()
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    await page.goBack()
    await button(page, 'Sign out and sign in as staff').click()
    await signInAtConsole(page, service, email)
    await page.getByLabel('Find somebody').waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('The page of a student shows classes, that of a veterinarian what they teach', async () => {
    const { page } = await open('support')
    await search(page, 'ada byron')
    await page.locator('.results a').first().click()
    const classes = page.getByRole('region', { name: 'Classes' })
    await classes.getByText('Anatomy A').waitFor()
    await classes.getByText(/past or future class/).click()
    await classes.getByText('Avian rotation').waitFor()
    await service.signIn('tea-1@school.example', freshNetwork())
    await search(page, 'tea-1@school.example')
    await page.locator('.results a').first().click()
    const teaches = page.getByRole('region', { name: 'Teaches' })
    await teaches.getByText('Anatomy A').waitFor()
    await teaches
      .getByText(/1 student$/)
      .first()
      .waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('The help desk sends itself a test mail, and not twice a minute', async () => {
    const { page, email } = await open('support')
    await place(page, '#/mail')
    await button(page, 'Send a test mail').click()
    await page.getByText(/accepted the mail\. It should arrive/).waitFor()
    const { mail } = await service.mail.mailTo(email, 2)
    assert.equal(mail.subject, 'A test from Chiron')
    await button(page, 'Send a test mail').click()
    await page.getByText('Too many attempts in a short time.').waitFor()
  })

  test('Signing out in the console signs out, and a stranger’s code does not let in', async () => {
    const { page } = await open('support')
    await button(page, 'Sign out').click()
    await page.getByText('You have signed out.').waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
    const stranger = freshAddress('stranger')
    await page.getByLabel('E-mail address').fill(stranger)
    await button(page, 'Send me a code').click()
    await page.getByText('If there is an account').waitFor()
    assert.equal((await service.mail.mailTo(stranger)).code, null)
  })

  for (const [locale, words] of [
    [
      'fr-FR',
      { verdict: 'Tout va bien', people: 'Personnes', search: 'Chercher quelqu’un', action: 'Suspendre…' },
    ],
    [
      'es-ES',
      { verdict: 'Todo va bien', people: 'Personas', search: 'Buscar a alguien', action: 'Suspender…' },
    ],
  ] as const)
    test(`The console speaks ${locale}`, async () => {
      await veterinarian('Rosalind', 'Franklin')
      const { page }: AtConsole = await openConsole(browser, service, ['admin'], { locale })
      await page.getByRole('heading', { name: words.verdict }).waitFor()
      await page.getByRole('link', { name: words.people, exact: true }).click()
      await page.getByLabel(words.search).fill('rosalind franklin')
      await page.locator('.results a').first().click()
      await button(page, words.action).click()
      await dialog(page).getByText('Rosalind Franklin').waitFor()
      assert.equal(await page.evaluate('document.documentElement.lang'), locale.slice(0, 2))
      assert.deepEqual(page.faults, [])
    })

  test('The console’s page has the strict policy and is not listed by search engines', async () => {
    const { headers, text } = await service.request('/console')
    const portal = await service.request('/')
    assert.equal(headers.get('content-security-policy'), portal.headers.get('content-security-policy'))
    assert.equal(headers.get('x-robots-tag'), 'noindex')
    assert.match(text, /<title>Chiron console<\/title>/)
  })
})

test('Nothing of the console is in what the portal loads', () => {
  const built = new URL('../web/dist/', import.meta.url)
  const read = (path: string) => readFileSync(new URL(path, built), 'utf8')
  const chunksOf = (page: string) => {
    const found = new Set<string>()
    const follow = (text: string, pattern: RegExp) => {
      for (const [, name] of text.matchAll(pattern)) {
        if (found.has(name!)) continue
        found.add(name!)
        follow(read(`web/${name}`), /["'`]\.\/([\w.-]+\.(?:js|css))["'`]/g)
      }
    }
    follow(read(page), /\/web\/([\w.-]+\.(?:js|css))/g)
    return [...found].map((name) => read(`web/${name}`)).join('\n')
  }
  const ofConsole =
    /\/staff\/(people|overview|events|members|deliveries|webhooks|clients|roster)|Suspend…|Suspendre…/
  assert.match(chunksOf('console.html'), ofConsole)
  const portal = chunksOf('index.html')
  assert.match(portal, /\/student\/me\/classes/, 'lazy chunks are followed')
  assert.doesNotMatch(portal, ofConsole)
})
