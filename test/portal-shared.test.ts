/** A shared computer: what a reader who says so leaves behind, in the browser itself too. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { accessFaults, assertFit } from './support/axe.ts'
import { startProfile } from './support/browser.ts'
import { signInAtConsole } from './support/console.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { addStaff } from './support/staff.ts'
import { everyLanguage } from './support/texts.ts'
import { newVisitor, openTab, originOf, scriptArrived, signIn, signOut } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

const student = 'ada.byron@school.example'

suite('A shared computer', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' }, students: ['idle'] },
  )

  const box = (page: Page) => page.getByRole('checkbox', { name: 'This is a shared computer' })
  const mails = () => service.mail.received.filter(({ to }) => to.toLowerCase() === student).length
  const cookies = async (visitor: BrowserContext) =>
    Object.fromEntries((await visitor.cookies()).map(({ name, expires }) => [name, expires]))
  const stored = (page: Page) =>
    page.evaluate<{ local: string[]; tab: string[]; caches: string[]; workers: number }>(`(async () => ({
      local: Object.keys(localStorage).sort(),
      tab: Object.keys(sessionStorage).filter((key) => key.startsWith('chiron')).sort(),
      caches: await caches.keys(),
      workers: (await navigator.serviceWorker.getRegistrations()).length,
    }))()`)
  const autocomplete = (page: Page) => page.getByLabel('E-mail address').getAttribute('autocomplete')
  const ended = -1

  /** A browser with a folder of its own, as on a desk, that can be closed and opened again. */
  const desk = (t: TestContext) => {
    const folder = mkdtempSync(join(tmpdir(), 'chiron-profile-'))
    const opened: BrowserContext[] = []
    t.after(async () => {
      for (const each of opened) await each.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const open = async () => {
      opened.push(await startProfile(folder))
      return opened.at(-1)!
    }
    return { folder, open }
  }
  /** What Chromium would offer in fields that it has seen before. */
  const offered = (folder: string) => {
    const db = new DatabaseSync(join(folder, 'Default', 'Web Data'), { readOnly: true })
    try {
      return db
        .prepare('select value from autofill')
        .all()
        .map(({ value }) => String(value))
    } finally {
      db.close()
    }
  }

  test('Chromium offers the address to the next person, and does not where the computer is shared', async (t) => {
    for (const shared of [false, true]) {
      const { folder, open } = desk(t)
      const email = freshAddress('offered')
      await service.register(email)
      const visitor = await open()
      const page = await openTab(visitor, service)
      await page.getByRole('radio', { name: 'Veterinarian' }).check()
      // Only what is typed counts as typed.
      await page.getByLabel('E-mail address').pressSequentially(email)
      if (shared) await box(page).check()
      await page.keyboard.press('Enter')
      await page
        .getByRole('textbox', { name: 'Code' })
        .pressSequentially(String((await service.mail.mailTo(email)).code))
      await signOut(page)
      await page.getByText('You have signed out.').waitFor()
      await page.goto('about:blank')
      await visitor.close()
      assert.deepEqual(offered(folder), shared ? [] : [email])
    }
  })

  test('Closing the browser signs out, and leaves nothing', async (t) => {
    const { open } = desk(t)
    const first = await open()
    const page = await openTab(first, service)
    await box(page).check()
    await signIn(page, service, 'Student', student, mails() + 1)
    await page.getByRole('link', { name: 'Equine rotation' }).first().waitFor()
    await first.close()
    const second = await open()
    const later = await openTab(second, service)
    await later.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual(await second.cookies(), [])
    assert.deepEqual(await stored(later), { local: [], tab: [], caches: [], workers: 0 })
    assert.equal(await box(later).isChecked(), false)
    assert.deepEqual(later.faults, [])
  })

  test('While one is signed in only the tab remembers, a reload goes on, and sign-out clears it', async () => {
    const visitor = await newVisitor(browser, { serviceWorkers: 'allow' })
    const page = await openTab(visitor, service)
    await box(page).check()
    assert.equal(await autocomplete(page), 'off')
    await signIn(page, service, 'Student', student, mails() + 1)
    for (let round = 0; round < 2; round++) {
      await page.getByRole('link', { name: 'Equine rotation' }).first().waitFor()
      assert.deepEqual(await cookies(visitor), { chiron_refresh: ended, chiron_shared: ended })
      const { tab, ...kept } = await stored(page)
      assert.deepEqual(kept, { local: [], caches: [], workers: 0 })
      assert.deepEqual(
        tab.map((name) => name.replace(/seen\..*/, 'seen')),
        ['chiron.role', 'chiron.seen', 'chiron.signed-in'],
      )
      await page.reload()
    }
    // What is still being read when the session ends would be refused.
    await page.getByRole('link', { name: 'Equine rotation' }).first().waitFor()
    await signOut(page)
    await page.getByText('You have signed out.').waitFor()
    assert.deepEqual(await stored(page), { local: [], tab: [], caches: [], workers: 0 })
    assert.deepEqual(await cookies(visitor), { chiron_shared: ended })
    assert.equal(await page.getByRole('radio', { checked: true }).count(), 0)
    assert.equal(await page.getByLabel('E-mail address').inputValue(), '')
    await page.reload()
    await scriptArrived(page)
    assert.equal(await box(page).isChecked(), true)
    assert.equal(await autocomplete(page), 'off')
    assert.deepEqual(page.faults, [])
  })

  test('A device token that somebody left before is taken away', async () => {
    const visitor = await newVisitor(browser)
    const page = await openTab(visitor, service)
    await signIn(page, service, 'Veterinarian', freshAddress('mine'))
    await signOut(page)
    await page.getByText('You have signed out.').waitFor()
    assert.deepEqual(Object.keys(await cookies(visitor)), ['chiron_device'])
    await box(page).check()
    await signIn(page, service, 'Veterinarian', freshAddress('shared'))
    assert.deepEqual(Object.keys(await cookies(visitor)).sort(), ['chiron_refresh', 'chiron_shared'])
  })

  test('Whoever takes the tick away is remembered as before, with language and role', async () => {
    const visitor = await newVisitor(browser)
    const page = await openTab(visitor, service)
    await page.getByRole('combobox', { name: 'Language' }).selectOption('fr')
    const french = page.getByRole('checkbox', { name: 'Cet ordinateur est partagé' })
    await page.getByRole('radio', { name: 'Étudiant' }).check()
    const names = ['chiron.language', 'chiron.role']
    await french.check()
    assert.deepEqual((await stored(page)).local, [])
    assert.deepEqual((await stored(page)).tab, names)
    await page.reload()
    await scriptArrived(page)
    assert.equal(await french.isChecked(), true)
    await french.uncheck()
    assert.deepEqual((await stored(page)).local, names)
    assert.deepEqual((await stored(page)).tab, [])
    assert.deepEqual(await visitor.cookies(), [])
    assert.equal(await page.getByLabel('Adresse e-mail').getAttribute('autocomplete'), 'email webauthn')
  })

  test('Another tab follows: it is signed in with the first, and out with it', async () => {
    const visitor = await newVisitor(browser)
    const [one, two] = [await openTab(visitor, service), await openTab(visitor, service)]
    await box(one).check()
    await signIn(one, service, 'Student', student, mails() + 1)
    await two.getByRole('link', { name: 'Equine rotation' }).first().waitFor()
    assert.deepEqual((await stored(two)).local, [])
    await signOut(two)
    await one.getByText('You signed out in another window.').waitFor()
    for (const page of [one, two]) assert.deepEqual((await stored(page)).tab, [])
  })

  test('A tick made before the script has arrived counts', async () => {
    const visitor = await newVisitor(browser)
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
    await box(page).check()
    arrive()
    await page.locator('form').waitFor()
    await eventually('off', async () => (await autocomplete(page)) === 'off')
    assert.equal(await box(page).isChecked(), true)
  })

  test('Registration and the console have it too', async () => {
    const visitor = await newVisitor(browser)
    const page = await openTab(visitor, service, '/#/register')
    await box(page).check()
    for (const label of ['First name', 'Last name', 'E-mail address'])
      assert.equal(await page.getByLabel(label).getAttribute('autocomplete'), 'off')
    assert.deepEqual(await accessFaults(page), [])
    const { email } = await addStaff(service, ['support'])
    const staff = await newVisitor(browser)
    const atConsole = await openTab(staff, service, '/console')
    await box(atConsole).check()
    assert.deepEqual(await accessFaults(atConsole), [])
    await signInAtConsole(atConsole, service, email)
    assert.deepEqual(await cookies(staff), { chiron_refresh: ended, chiron_shared: ended })
    assert.deepEqual((await stored(atConsole)).local, [])
  })

  test('The sign-in form in every language, on a phone and on a desk, by day and by night', async () => {
    for (const locale of everyLanguage) {
      const page = await openTab(await newVisitor(browser, { locale }), service)
      await page.getByRole('checkbox').check()
      await assertFit(page, `portal-shared-${locale}`, 320)
      await page.context().close()
    }
  })
})
