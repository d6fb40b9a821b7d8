/** The portal in a real Chromium, as vets and students use it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { assertFit } from './support/axe.ts'
import { firstTab, focusOn } from './support/browser.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { askForCode, codeField, newVisitor, openTab, originOf, signIn, signOut } from './support/visitor.ts'
import { eventually, soon } from './support/wait.ts'

const firstScriptBytesMax = 90_000
const student = 'ada.byron@school.example'

const selected =
  '(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.activeElement)'

/** Storage, address and history contain nothing that would let anybody sign in. */
async function assertNoTokens(page: Page): Promise<void> {
  const kept = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, history.state, document.cookie])',
  )
  assert.doesNotMatch(kept, /ey[\w-]+\.|[\w-]{40,}/)
}

suite('The portal', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    {
      env: { CHIRON_LIMITS: 'off' },
      students: ['idle'],
    },
  )

  const visit = async (path = '/', look = {}) => openTab(await newVisitor(browser, look), service, path)

  test('The first screen loads less script than allowed, compressed, and asks the service for a challenge at most', async () => {
    const visitor = await newVisitor(browser)
    const asked: string[] = []
    const sizes: Promise<number>[] = []
    visitor.on('request', (request) => void asked.push(new URL(request.url()).pathname))
    visitor.on('requestfinished', (request) => {
      if (request.resourceType() !== 'script') return
      sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize))
    })
    const page = await openTab(visitor, service)
    await page.waitForLoadState('networkidle')
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
    assert.deepEqual(
      asked.filter((path) => !/^\/($|web\/|assets\/|passkey\/options$)/.test(path)),
      [],
    )
    assert.ok(bytes > 50_000 && bytes < firstScriptBytesMax, `${bytes} bytes`)
    assert.deepEqual(page.faults, [])
  })

  test('A veterinarian registers, enters the code as the mail shows it, and is in; a reload keeps her so', async () => {
    const email = freshAddress('new')
    const page = await visit('/#/register')
    await page.getByLabel('First name').fill('Ada')
    await page.getByLabel('Last name').fill('Marsh')
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('button', { name: 'Register and send me a code' }).click()
    await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
    const { code, mail } = await service.mail.mailTo(email)
    const reference = await page.locator('.reference').textContent()
    assert.match(mail.subject ?? '', new RegExp(reference!))
    const digits = String(code)
    await codeField(page).fill(`${digits.slice(0, 3)} ${digits.slice(3)}`)
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    await assertNoTokens(page)
    await page.reload()
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    // What is still being read when the session ends would be refused.
    await page.waitForLoadState('networkidle')
    await signOut(page)
    await page.getByText('You have signed out.').waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('Wrong codes are counted down to none, the focus stays in the field, and a new code can be had', async () => {
    const email = freshAddress('wrong')
    await service.register(email)
    const page = await visit()
    await askForCode(page, 'Veterinarian', email)
    const { code } = await service.mail.mailTo(email)
    const wrong = String(code === 123456 ? 654321 : 123456)
    for (const left of [4, 3, 2, 1]) {
      await codeField(page).fill('')
      await codeField(page).pressSequentially(wrong)
      await page.getByRole('alert').getByText(`${left} attempt`).waitFor()
      assert.ok(await codeField(page).evaluate((field) => field === field.ownerDocument.activeElement))
      // With the next frame. It must not select what is typed below.
      await soon(() => page.evaluate<string>(selected), wrong)
    }
    await codeField(page).fill('')
    await codeField(page).pressSequentially(wrong)
    await page.getByRole('alert').getByText('no attempts left').waitFor()
    await focusOn(page, 'Send a new code')
    await page.getByRole('button', { name: 'Send a new code' }).click()
    await codeField(page).fill(String((await service.mail.mailTo(email, 2)).code))
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    assert.deepEqual([...new Set(page.faults.filter((fault) => !/401/.test(fault)))], [])
  })

  test('A code that expires while it is typed says so', async () => {
    const email = freshAddress('slow')
    const page = await visit()
    await askForCode(page, 'Veterinarian', email)
    await codeField(page).pressSequentially('12')
    service.clock.advance(10 * 60_000)
    await page.clock.fastForward(10 * 60_000)
    await page.getByRole('alert').getByText('This code has expired.').waitFor()
    await page.getByRole('button', { name: 'Send a new code' }).click()
    await codeField(page).waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('A reload on the code screen loses nothing', async () => {
    const email = freshAddress('reload')
    await service.register(email)
    const page = await visit()
    await askForCode(page, 'Veterinarian', email)
    await page.reload()
    await codeField(page).fill(String((await service.mail.mailTo(email)).code))
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
  })

  test('Two tabs renew without logging each other out, and signing out in one is seen in the other', async () => {
    const visitor = await newVisitor(browser)
    const one = await openTab(visitor, service)
    const two = await openTab(visitor, service)
    await signIn(one, service, 'Veterinarian', freshAddress('tabs'))
    await two.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    for (let round = 0; round < 3; round++) {
      service.clock.advance(16 * 60_000)
      await Promise.all(
        [one, two].map(async (tab) => {
          await tab.clock.fastForward(16 * 60_000)
          await tab.getByRole('link', { name: round % 2 ? 'Profile' : 'Devices' }).click()
          await tab
            .getByRole('heading', { name: round % 2 ? 'Ada Marsh' : 'Where you are signed in' })
            .waitFor()
        }),
      )
      await one.getByRole('link', { name: 'Devices' }).click()
      await one.getByText('Last used').waitFor()
    }
    await signOut(one)
    await two.getByText('You signed out in another window.').waitFor()
    // The service's clock is moved before the tabs', so a tab may find its token refused first, and renew it.
    for (const tab of [one, two])
      assert.deepEqual(
        tab.faults.filter((fault) => !/401/.test(fault)),
        [],
      )
  })

  test('A service that is away is said in plain words; what was typed stays, and trying again works', async () => {
    const email = freshAddress('away')
    const page = await visit()
    await page.getByRole('radio', { name: 'Veterinarian' }).check()
    await page.context().setOffline(true)
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('button', { name: 'Send me a code' }).click()
    await page.getByText('The service cannot be reached.').waitFor()
    assert.equal(await page.getByLabel('E-mail address').inputValue(), email)
    await page.context().setOffline(false)
    await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
  })

  test('An account is closed with the surname, and with a fresh code when the sign-in is old', async () => {
    const email = freshAddress('close')
    const page = await visit()
    await signIn(page, service, 'Veterinarian', email)
    const publicPage = await page.getByRole('textbox', { name: 'Your public page' }).inputValue()
    service.clock.advance(11 * 60_000)
    await page.clock.fastForward(11 * 60_000)
    await page.getByRole('link', { name: 'My data' }).click()
    await page.getByRole('link', { name: 'Close my account' }).click()
    const surname = page.getByRole('textbox', { name: 'type your last name' })
    await surname.fill('Somebody')
    await page.getByRole('button', { name: 'for good' }).click()
    await page.getByText('This is not your last name.').waitFor()
    await surname.fill('marsh')
    await page.getByRole('button', { name: 'for good' }).click()
    await page.getByRole('button', { name: 'Send me a code' }).click()
    await codeField(page).fill(String((await service.mail.mailTo(email, 2)).code))
    await page.getByText('Your account is closed').waitFor()
    const gone = await service.request(new URL(publicPage).pathname)
    assert.equal(gone.status, 404)
    assert.match(gone.headers.get('content-type') ?? '', /html/)
  })

  test('A veterinarian’s public page has her name in its tags, escaped, and says nothing else', async () => {
    const email = freshAddress('public')
    const { userId, access } = await service.signIn(email)
    const names = { firstname: '<b>Ada', lastname: 'O’"Marsh $&' }
    assert.equal(
      (await service.request('/veterinarian/me', { method: 'PATCH', body: names, token: access })).status,
      200,
    )
    const { text, status } = await service.request(`/v/${userId}`)
    assert.equal(status, 200)
    assert.match(text, /<title>&lt;b&gt;Ada O’&quot;Marsh \$&amp; · Chiron<\/title>/)
    assert.match(text, /<meta property="og:title" content="&lt;b&gt;Ada/)
    assert.doesNotMatch(text, /<b>|example/)
    const page = await visit(`/v/${userId}`)
    await page.getByRole('heading', { name: '<b>Ada O’"Marsh $&' }).waitFor()
    await page.getByText('The school has not checked who this is.').waitFor()
    await service.app.parts.db.run('update person set verified_at = 1 where id = $1', [userId])
    const verified = await visit(`/v/${userId}`)
    await verified.getByText('Verified by the school').waitFor()
    assert.equal(await verified.getByText('not checked').count(), 0)
    assert.deepEqual([...page.faults, ...verified.faults], [])
  })

  test('A student finds classes, opens one, subscribes the calendar and revokes it', async () => {
    const page = await visit()
    await signIn(page, service, 'Student', student)
    await page.getByRole('heading', { name: 'Good morning, Addie' }).waitFor()
    await page.getByRole('region', { name: 'Today' }).getByRole('link', { name: 'Equine rotation' }).click()
    await page.getByRole('heading', { name: 'Equine rotation' }).waitFor()
    await page.getByRole('link', { name: 'Calendar' }).click()
    await page.getByLabel('Name (optional)').fill('My phone')
    await page.getByRole('button', { name: 'Subscribe to my classes' }).click()
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    await focusOn(page, 'Shown only once')
    const feed = await page.getByRole('textbox', { name: 'Calendar address' }).inputValue()
    const read = () => service.request(new URL(feed).pathname)
    assert.equal((await read()).status, 200)
    await page.getByRole('button', { name: 'Revoke: My phone' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('The address has been revoked.').waitFor()
    await focusOn(page, 'Calendar')
    assert.equal((await read()).status, 404)
    await page.getByRole('link', { name: 'My data' }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download my data' }).click()
    const { profile } = JSON.parse(readFileSync(await (await download).path(), 'utf8'))
    assert.equal(profile.studentNumber, 'S100')
    await assertNoTokens(page)
    assert.deepEqual(page.faults, [])
  })

  test('Whoever signs in first is asked once whether the names are theirs', async () => {
    const email = freshAddress('first')
    await service.register(email, { firstname: 'Somebody', lastname: 'Else' })
    const page = await visit()
    await askForCode(page, 'Veterinarian', email)
    await codeField(page).fill(String((await service.mail.mailTo(email)).code))
    const card = page.getByRole('region', { name: 'Is this your name?' })
    await card.getByText('Somebody Else').waitFor()
    await card.getByRole('button', { name: 'No, change it' }).click()
    await page.getByLabel('First name').fill('Ada')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Ada Else' }).waitFor()
    assert.equal(await card.count(), 0)
    await page.reload()
    await page.getByRole('heading', { name: 'Ada Else' }).waitFor()
    assert.equal(await card.count(), 0)
    assert.deepEqual(page.faults, [])
  })

  test('The focus goes back to what opened a dialogue, and to the heading when that is gone', async () => {
    const email = freshAddress('focus')
    const page = await visit()
    await signIn(page, service, 'Veterinarian', email)
    await service.signIn(email)
    await page.getByRole('link', { name: 'Devices' }).click()
    const everywhere = page.getByRole('button', { name: 'Sign out everywhere' })
    await everywhere.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await focusOn(page, 'Sign out everywhere')
    await everywhere.click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await focusOn(page, 'Sign out everywhere')
    await page.getByRole('button', { name: 'Sign out there' }).click()
    await page.getByText('is signed out.').waitFor()
    await focusOn(page, 'Where you are signed in')
    await page.getByText(/^Last used: \d+:\d\d/).waitFor()
  })

  test('The mail is in the language of the page', async () => {
    const email = freshAddress('french')
    await service.register(email)
    const page = await visit()
    await page.locator('footer select').selectOption('fr')
    await page.getByRole('radio', { name: 'Vétérinaire' }).check()
    await page.getByLabel('Adresse e-mail').fill(email)
    await page.getByRole('button', { name: 'M’envoyer un code' }).click()
    await page.getByRole('heading', { name: 'Saisissez votre code' }).waitFor()
    assert.match((await service.mail.mailTo(email)).mail.subject ?? '', /^Votre code/)
  })

  test('Everything can be done by the keyboard alone', async () => {
    const email = freshAddress('keys')
    await service.register(email)
    const page = await visit()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const press = (...keys: string[]) =>
      keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve())
    const isIn = (field: Locator) => field.and(page.locator(':focus')).waitFor()
    await firstTab(page)
    await focusOn(page, 'Skip to the content')
    await press('Enter', 'Tab', 'ArrowRight', 'ArrowLeft', 'Tab')
    await isIn(page.getByRole('textbox', { name: 'E-mail' }))
    await page.keyboard.type(email)
    await press('Enter')
    await isIn(codeField(page))
    await page.keyboard.type(String((await service.mail.mailTo(email)).code))
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    await focusOn(page, 'Ada Marsh')
    await press('Tab', 'Enter')
    await page.getByText('Thank you.').waitFor()
    await focusOn(page, 'Ada Marsh')
    await press('Tab')
    await focusOn(page, 'Change my name')
    await press('Enter')
    await isIn(page.getByRole('textbox', { name: 'First name' }))
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('Grace')
    await press('Enter')
    await page.getByRole('heading', { name: 'Grace Marsh' }).waitFor()
    await focusOn(page, 'Change my name')
    assert.deepEqual(page.faults, [])
  })

  for (const [locale, heading] of [
    ['fr-FR', 'Se connecter'],
    ['es-MX', 'Entrar'],
    ['de-DE', 'Anmelden'],
    ['it-IT', 'Sign in'],
  ] as const) {
    test(`A browser that asks for ${locale} is answered with “${heading}”, and can choose another`, async () => {
      const page = await visit('/', { locale })
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
      await page.locator('footer select').selectOption('en')
      await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
      assert.equal(await page.locator('html').getAttribute('lang'), 'en')
      assert.deepEqual(page.faults, [])
    })
  }

  test('Every screen is fit for everybody, light and dark, and fits a narrow phone', async () => {
    const page = await visit()
    const look = async (name: string, heading: string | RegExp) => {
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
      await assertFit(page, `portal-${name}`, 1280, 320)
    }
    const origin = originOf(service)
    const goto = (path: string) => page.goto(`${origin}${path}`)
    await look('sign-in', 'Sign in')
    await goto('/#/register')
    await look('register', 'Register')
    await goto('/#/')
    await askForCode(page, 'Veterinarian', freshAddress())
    await look('code', 'Enter your code')
    await goto('/#/')
    const email = freshAddress('look')
    await signIn(page, service, 'Veterinarian', email)
    await look('profile', 'Ada Marsh')
    await page.getByRole('button', { name: 'Change my name' }).click()
    await look('profile-edit', 'Ada Marsh')
    await goto('/#/sessions')
    await page.getByText('Last used').waitFor()
    await look('sessions', 'Where you are signed in')
    await goto('/#/data')
    await look('data', 'My data')
    await goto('/#/close')
    await look('close', 'Close my account')
    await goto('/#/nowhere')
    await look('nowhere', 'Page not found')
    await goto(`/v/${'A'.repeat(22)}`)
    await look('public-nobody', 'No such veterinarian')
    await goto('/')
    await page.getByRole('link', { name: 'Open it' }).click()
    await look('public', 'Ada Marsh')
    await signOut(page)
    await eventually('a signed-out page', async () => (await page.getByRole('navigation').count()) === 0)
    await goto('/')
    const before = service.mail.received.filter(({ to }) => to.toLowerCase() === student).length
    await signIn(page, service, 'Student', student, before + 1)
    await page.getByRole('region', { name: 'My term' }).waitFor()
    await look('student', 'Good morning, Addie')
    await page.getByRole('region', { name: 'Coming up' }).getByRole('link', { name: 'Suturing' }).click()
    await look('class', 'Suturing')
    await goto('/#/calendar')
    await page.getByRole('button', { name: 'Subscribe to my classes' }).click()
    await page.getByRole('heading', { name: 'Shown only once' }).waitFor()
    await look('calendar', 'Calendar')
    await page.getByRole('button', { name: 'Revoke: Calendar' }).click()
    await look('calendar-revoke', 'Calendar')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('The address has been revoked.').waitFor()
    assert.deepEqual([...new Set(page.faults.filter((fault) => !/404/.test(fault)))], [])
  })
})
