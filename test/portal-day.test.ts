/** A student's day in the portal: today, the week, what has changed, the card and calendar addresses. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import { focusOn, overflow, picture } from './support/browser.ts'
import { inBrowser } from './support/engines.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import { addClass, bulk, change, dropClass, edited, enrol, type School } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import type { Service } from './support/service.ts'
import { studentSchool } from './support/student-school.ts'
import { type Look, newVisitor, openTab, originOf, signIn, signOut } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

const minute = 60_000
const hour = 60 * minute
const student = 'ada.byron@school.example'
const phone = { width: 360 }

suite('A student’s day', inBrowser, () => {
  let service: Service
  let browser: Browser
  let school: School
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' }, students: [] },
  )
  const reimport = async (edit: (school: School) => void) => {
    school = edited(school, edit)
    service.clock.advance(1)
    await rosterOf(service).import(bulk(school))
  }
  before(async () => {
    school = studentSchool([])
    await reimport((school) => {
      change(school.classes, 'anat', { 'metadata.meets': 'Mon 09:00-10:30; Wed 14:00-15:00' })
      addClass(school, 'phys', {
        title: 'Physiology',
        location: 'Hall 2',
        'metadata.meets': 'Mon 11:00-12:00',
      })
      enrol(school, 'ada', 'phys')
      addClass(school, 'path', { title: 'Pathology', periods: 'Mon 3,Tue 1' })
      enrol(school, 'ada', 'path')
      addClass(school, 'old', { title: 'Old course' })
      enrol(school, 'ada', 'old', { beginDate: '2026-08-17', endDate: '2026-09-30' })
    })
  })

  const mails = () => service.mail.received.filter(({ to }) => to.toLowerCase() === student).length
  const visit = async (look: Look = {}) => {
    const page = await openTab(await newVisitor(browser, look), service)
    await signIn(page, service, 'Student', student, mails() + 1)
    await page.getByRole('heading', { level: 1, name: /Addie/ }).waitFor()
    return page
  }
  const linesOf = async (page: Page, name: string) => {
    const region = page.getByRole('region', { name, exact: true })
    await region.waitFor()
    return region.getByRole('listitem').allInnerTexts()
  }
  const nextOf = async (page: Page) =>
    (await page.getByRole('region', { name: 'Next', exact: true }).innerText()).replace(/\s+/g, ' ').trim()
  const flat = (lines: readonly string[]) => lines.map((line) => line.replace(/\s+/g, ' ').trim())

  test('On a Sunday the coming week is shown, and what comes next with its day', async () => {
    const page = await visit()
    assert.deepEqual(flat(await linesOf(page, 'Today')), [
      'All day Equine rotation Rotation · until 30 Nov 2026',
    ])
    assert.equal(await nextOf(page), 'Next Mon 16 Nov, 09:00–10:30 Anatomy A Hall 1')
    await page.getByRole('heading', { name: 'Next week, 16 – 22 Nov' }).waitFor()
    assert.deepEqual(await accessFaults(page), [])
    assert.deepEqual(page.faults, [])
    await page.context().close()
  })

  test('On a Monday: what is on, what is next, the week by days, and every class in one place', async () => {
    service.clock.advance(24 * hour + 40 * minute)
    const page = await visit()
    assert.deepEqual(flat(await linesOf(page, 'Today')), [
      'Mon 3 Pathology Course · until 18 Dec 2026',
      'All day Equine rotation Rotation · until 30 Nov 2026',
      '09:00–10:30 now Anatomy A Course · Hall 1',
      '11:00–12:00 Physiology Course · Hall 2',
    ])
    assert.equal(await nextOf(page), 'Next 11:00–12:00 Physiology Hall 2')
    const week = page.getByRole('region', { name: 'This week' })
    assert.deepEqual(flat(await week.locator('.band').allInnerTexts()), [
      'Mon 16 Nov – Fri 20 Nov Equine rotation until 30 Nov 2026',
    ])
    const days = flat(await week.locator('ol > li').allInnerTexts())
    assert.deepEqual(days, [
      'Mon 16 Nov 09:00–10:30 Anatomy A Hall 1 now 11:00–12:00 Physiology Hall 2',
      'Tue 17 Nov',
      'Wed 18 Nov 14:00–15:00 Anatomy A Hall 1',
      'Thu 19 Nov',
      'Fri 20 Nov',
    ])
    const cards = page.locator('.class h3')
    assert.deepEqual(await cards.allTextContents(), ['Advisory', 'Pathology', 'Suturing', 'Old course'])
    const bars = await page.getByRole('region', { name: 'My term' }).locator('.name').allTextContents()
    assert.deepEqual(bars, ['Bovine rotation', 'Equine rotation', 'Avian rotation'])
    assert.equal(await page.getByRole('link', { name: 'Old course' }).isVisible(), false)
    await page.getByText('Past (1)').click()
    await page.getByRole('link', { name: 'Old course' }).waitFor()
    assert.deepEqual(await accessFaults(page), [])
    await picture(page, 'portal-day')
    await page.context().close()
  })

  test('On a phone the week is an agenda with today in it, and one’s details are behind the avatar', async () => {
    const page = await visit(phone)
    const days = page.getByRole('region', { name: 'This week' }).locator('h3:visible')
    await days.first().waitFor()
    assert.equal(await overflow(page, 320), 0)
    assert.deepEqual(await accessFaults(page), [])
    const shown = await days.allInnerTexts()
    assert.deepEqual(shown, ['Mon 16 Nov', 'Wed 18 Nov'])
    assert.equal(await page.getByText('Student number S100').first().isVisible(), false)
    const avatar = page.getByRole('button', { name: 'My account', exact: true })
    await avatar.click()
    await page.getByText('Student number S100').first().waitFor()
    assert.deepEqual(await accessFaults(page), [])
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Devices' }).waitFor({ state: 'hidden' })
    await avatar.click()
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByRole('heading', { name: 'Where you are signed in' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Devices' }).isVisible(), false)
    await signOut(page)
    await page.getByText('You have signed out.').waitFor()
    await page.context().close()
  })

  test('In another language the weekdays of the roster and the times are in that language', async () => {
    const visitor = await newVisitor(browser, { locale: 'fr-FR' })
    const page = await openTab(visitor, service)
    await page.getByRole('radio', { name: 'Étudiant' }).check()
    await page.getByLabel('Adresse e-mail').fill(student)
    const before = mails()
    await page.getByRole('button', { name: 'M’envoyer un code' }).click()
    await page.getByLabel('Code').fill(String((await service.mail.mailTo(student, before + 1)).code))
    await page.getByRole('heading', { name: 'Bonjour, Addie' }).waitFor()
    const lines = flat(await linesOf(page, 'Aujourd’hui'))
    assert.match(lines[0]!, /^lun\. 3 Pathology/)
    assert.match(lines[2]!, /^09:00\s?–\s?10:30 maintenant Anatomy A/)
    await page.goto(`${originOf(service)}/#/`)
    await page.getByRole('link', { name: 'Pathology' }).first().click()
    await page.getByText('lun. 3, mar. 1').waitFor()
    await visitor.close()
  })

  test('Printed, the page has the name and the times, and no greeting', async () => {
    const page = await visit()
    await page.getByRole('region', { name: 'This week' }).waitFor()
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.getByText('Good morning').isVisible(), false)
    assert.ok(await page.getByText('My classes: Ada Byron').isVisible())
    assert.ok(await page.getByText('14:00–15:00').isVisible())
    assert.equal(await page.getByRole('button', { name: 'Print' }).count(), 0)
    await page.context().close()
  })

  test('What has changed is said until it is confirmed, and the device forgets it at sign-out', async () => {
    const page = await visit()
    const changes = page.getByRole('region', { name: 'Since your last visit' })
    const seen = () => page.evaluate<string[]>('Object.keys(localStorage).filter((key) => /seen/.test(key))')
    await page.getByRole('region', { name: 'This week' }).waitFor()
    assert.equal(await changes.count(), 0)
    await reimport((school) => {
      addClass(school, 'new', { title: 'Toxicology' })
      enrol(school, 'ada', 'new')
      change(school.classes, 'phys', { location: 'Hall 9' })
      dropClass(school, 'path')
    })
    for (let round = 0; round < 2; round++) {
      await page.reload()
      await changes.waitFor()
      assert.deepEqual(await changes.getByRole('listitem').allInnerTexts(), [
        'New: Toxicology',
        'Changed: Physiology',
        '1 class was removed from your list.',
      ])
    }
    assert.deepEqual(await accessFaults(page), [])
    const kept = await page.evaluate<string>('JSON.stringify({ ...localStorage })')
    assert.doesNotMatch(kept, /Physiology|Hall|Ada|@/)
    await changes.getByRole('button', { name: 'Got it' }).click()
    assert.equal(await changes.count(), 0)
    await focusOn(page, 'Good morning, AddieMy classes: Ada Byron')
    await page.reload()
    await page.getByRole('region', { name: 'This week' }).waitFor()
    assert.equal(await changes.count(), 0)
    assert.equal((await seen()).length, 1)
    await signOut(page)
    await page.getByText('You have signed out.').waitFor()
    assert.deepEqual(await seen(), [])
    await page.context().close()
  })

  test('The card shows who it is, renews itself while it is shown, and fills a phone in white', async () => {
    const page = await visit({ ...phone, colorScheme: 'dark' })
    const made: string[] = []
    page.on('response', async (reply) => {
      if (reply.url().endsWith('/student/me/card')) made.push((await reply.json()).url)
    })
    await page.getByRole('link', { name: 'Card' }).click()
    const code = page.getByRole('img', { name: 'QR code of your student card' }).first()
    await code.waitFor()
    const drawn = () => code.locator('path').getAttribute('d')
    const first = await drawn()
    for (const fact of ['Ada Byron', 'S100', 'School of Veterinary Medicine', 'Year 4'])
      assert.ok(await page.getByRole('main').getByText(fact, { exact: true }).isVisible(), fact)
    assert.deepEqual(await accessFaults(page), [])
    service.clock.advance(4 * minute)
    await page.clock.fastForward(4 * minute)
    await eventually('a new card', async () => (await drawn()) !== first)
    await eventually('its reply', () => new Set(made).size === 2)
    const { text } = await service.request(new URL(made.at(-1)!).pathname)
    assert.match(text, /Genuine: currently a student/)
    await page.getByRole('button', { name: 'Show it full screen' }).click()
    const dialog = page.getByRole('dialog')
    assert.equal(
      await dialog.evaluate((one) => one.ownerDocument.defaultView!.getComputedStyle(one).backgroundColor),
      'rgb(255, 255, 255)',
    )
    assert.deepEqual(await accessFaults(page), [])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    assert.deepEqual(page.faults, [])
    await page.context().close()
  })

  test('A card that can no longer be renewed is not shown', async () => {
    const page = await visit(phone)
    await page.getByRole('link', { name: 'Card' }).click()
    const code = page.getByRole('img', { name: 'QR code of your student card' })
    await code.waitFor()
    await page.context().setOffline(true)
    await page.clock.fastForward(6 * minute)
    await code.waitFor({ state: 'detached' })
    await page.context().close()
  })

  test('A calendar address is added by one tap on a phone, with no code to scan, and by scanning from a desk', async () => {
    const page = await visit(phone)
    await page.getByRole('link', { name: 'Calendar' }).click()
    await page.getByRole('button', { name: 'Subscribe to my classes' }).click()
    const address = await page.getByRole('textbox', { name: 'Calendar address' }).inputValue()
    const webcal = address.replace('http:', 'webcal:')
    const href = (name: string) => page.getByRole('link', { name, exact: true }).getAttribute('href')
    assert.equal(await href('Add to this device'), webcal)
    assert.equal(new URL((await href('Google Calendar'))!).searchParams.get('cid'), webcal)
    assert.equal(new URL((await href('Outlook'))!).searchParams.get('url'), address)
    const scan = page.getByRole('img', { name: 'QR code of your calendar address' })
    assert.equal(await scan.isVisible(), false)
    await page.setViewportSize({ width: 1280, height: 900 })
    assert.equal(await scan.isVisible(), true)
    await service.request(new URL(address).pathname)
    await page.reload()
    await page.getByText('last read:').waitFor()
    assert.equal(await scan.count(), 0)
    await page.context().close()
  })
})
