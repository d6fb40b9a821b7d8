/** A veterinarian's home in the portal: classes taught, the public page, and a change of address. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import { focusOn, overflow, picture } from './support/browser.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import { bulk, change, edited, enrol } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import type { Service } from './support/service.ts'
import { studentSchool } from './support/student-school.ts'
import { codeField, newVisitor, openTab, originOf, signIn } from './support/visitor.ts'

const minute = 60_000

suite('A veterinarian’s home', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { students: ['idle'] },
  )
  before(async () => {
    const school = edited(studentSchool(['idle']), (school) => {
      change(school.users, 'tea-2', { email: 'tea-2@clinics.example' })
      enrol(school, 'tea-2', 'rot-now', { role: 'teacher' })
    })
    await rosterOf(service).import(bulk(school))
  })
  const visit = async () => openTab(await newVisitor(browser), service)

  test('Whoever teaches by the roster sees the classes and who comes; others see no such list', async () => {
    const page = await visit()
    await signIn(page, service, 'Veterinarian', 'tea-1@school.example')
    const classes = page.getByRole('region', { name: 'My classes' })
    await classes.getByRole('heading', { name: 'Anatomy A' }).waitFor()
    await classes.getByText('1 student', { exact: true }).click()
    await classes.getByText('Addie Byron (she/her)').waitFor()
    assert.equal(await classes.getByRole('link').getAttribute('href'), 'mailto:Ada.Byron@school.example')
    assert.deepEqual(await accessFaults(page), [])
    await picture(page, 'portal-teaching')
    assert.equal(await overflow(page, 320), 0)
    const other = await visit()
    await signIn(other, service, 'Veterinarian', freshAddress('other'))
    await other.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    await other.getByText('Not verified yet').waitFor()
    // It is there while the list is read.
    await other.getByRole('region', { name: 'My classes' }).waitFor({ state: 'detached' })
    assert.deepEqual([...page.faults, ...other.faults], [])
  })

  test('A rotation shows its dates, and when each student comes', async () => {
    const page = await visit()
    await signIn(page, service, 'Veterinarian', 'tea-2@clinics.example')
    const rotation = page.getByRole('article').filter({ hasText: 'Equine rotation' })
    await rotation.getByText('1 – 30 Nov 2026', { exact: true }).waitFor()
    await rotation.getByText('1 student', { exact: true }).click()
    await rotation.getByText('Addie Byron (she/her) · 1 – 30 Nov 2026').waitFor()
    assert.deepEqual(await accessFaults(page), [])
    assert.equal(await overflow(page, 320), 0)
  })

  test('Classes stay after a change of address', async () => {
    const page = await visit()
    const after = freshAddress('kept')
    await signIn(page, service, 'Veterinarian', 'tea-3@school.example')
    await page.getByRole('heading', { name: 'Anatomy A' }).waitFor()
    await page.getByRole('link', { name: 'Change my address' }).click()
    await page.getByLabel('New e-mail address').fill(after)
    await page.getByRole('button', { name: 'Send me a code' }).click()
    await codeField(page).fill(String((await service.mail.mailTo(after)).code))
    await page.getByRole('link', { name: 'Back to my profile' }).click()
    await page.getByRole('heading', { name: 'Anatomy A' }).waitFor()
    await page.getByRole('main').getByText(after).waitFor()
  })

  test('Confirming one’s name leaves the page where it is', async () => {
    const page = await openTab(await newVisitor(browser, { width: 360 }), service)
    await signIn(page, service, 'Veterinarian', 'tea-1@school.example', 2)
    await page.getByRole('heading', { name: 'Anatomy A' }).waitFor()
    const yes = page.getByRole('button', { name: 'Yes, this is my name' })
    await yes.scrollIntoViewIfNeeded()
    const before = await page.evaluate<number>('scrollY')
    await yes.click()
    await page.getByText('Thank you. Our mails will greet you by this name.').waitFor()
    assert.equal(await page.evaluate<number>('scrollY'), before)
    await focusOn(page, 'Ada Marsh')
    assert.deepEqual(await accessFaults(page), [])
  })

  test('The home says whether the school has verified the person', async () => {
    const email = freshAddress('verified')
    const page = await visit()
    await signIn(page, service, 'Veterinarian', email)
    await page.getByText('Not verified yet').waitFor()
    await service.app.parts.db.run('update person set verified_at = 1 where email_key = $1', [email])
    await page.reload()
    await page.getByText('Verified by the school').waitFor()
  })

  test('The public page is hidden and shown by a button that keeps the focus', async () => {
    const page = await visit()
    await signIn(page, service, 'Veterinarian', freshAddress('hide'))
    const card = page.getByRole('region', { name: 'Your public page' })
    const address = await card.getByRole('textbox').inputValue()
    await card.getByRole('button', { name: 'Hide it' }).click()
    await card.getByText('Hidden. Nobody can see it.').waitFor()
    assert.equal(await card.getByRole('textbox').count(), 0)
    assert.deepEqual(await accessFaults(page), [])
    await picture(page, 'portal-public-page-hidden')
    const stranger = await visit()
    await stranger.goto(address)
    await stranger.getByRole('heading', { name: 'No such veterinarian' }).waitFor()
    await page.keyboard.press('Enter')
    await card.getByRole('button', { name: 'Hide it' }).waitFor()
    await stranger.reload()
    await stranger.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
  })

  test('An address is changed by a code to the new one, and a wrong code counts once', async () => {
    const [before, after] = [freshAddress('before'), freshAddress('after')]
    const page = await visit()
    await signIn(page, service, 'Veterinarian', before)
    await page.getByRole('link', { name: 'Change my address' }).click()
    const field = page.getByLabel('New e-mail address')
    const send = page.getByRole('button', { name: 'Send me a code' })
    await field.fill(before)
    await send.click()
    await page.getByText('This is already your address.').waitFor()
    assert.deepEqual(await accessFaults(page), [])
    await field.fill(after)
    await send.click()
    const { code } = await service.mail.mailTo(after)
    await codeField(page).fill(code === 123456 ? '654321' : '123456')
    await page.getByText('4 attempts left').waitFor()
    await codeField(page).fill(String(code))
    await page.getByText(/Your address is now/).waitFor()
    assert.deepEqual(await accessFaults(page), [])
    await page.getByRole('link', { name: 'Back to my profile' }).click()
    await page.getByRole('main').getByText(after).waitFor()
    await page.reload()
    await page.getByRole('main').getByText(after).waitFor()
    assert.deepEqual(
      page.faults.filter((fault) => !/401/.test(fault)),
      [],
    )
  })

  test('After ten minutes a change of address first asks for a code to the present one', async () => {
    const [before, after] = [freshAddress('before'), freshAddress('after')]
    const page = await visit()
    await signIn(page, service, 'Veterinarian', before)
    service.clock.advance(11 * minute)
    await page.clock.fastForward(11 * minute)
    await page.goto(`${originOf(service)}/#/email`)
    await page.getByLabel('New e-mail address').fill(after)
    await page.getByRole('button', { name: 'Send me a code' }).click()
    await page.getByText('You signed in a while ago.').waitFor()
    await page.getByRole('button', { name: 'Send me a code' }).click()
    await codeField(page).fill(String((await service.mail.mailTo(before, 2)).code))
    const { code } = await service.mail.mailTo(after)
    await page.getByText('We are sending a code to').waitFor()
    await codeField(page).fill(String(code))
    await page.getByText(/Your address is now/).waitFor()
  })
})
