/** A student's week in the portal: rotations, other weeks, the end of a week, and a page that is left open. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { accessFaults, assertFit } from './support/axe.ts'
import { overflow } from './support/browser.ts'
import { inBrowser } from './support/engines.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import { addClass, addUser, bulk, change, edited, enrol } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import type { Service } from './support/service.ts'
import { studentSchool } from './support/student-school.ts'
import { type Look, newVisitor, openTab, originOf, signIn, signOut } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

const minute = 60_000
const hour = 60 * minute
const ada = 'ada.byron@school.example'

suite('A student’s week', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' } },
  )
  before(async () => {
    const school = edited(studentSchool(['eve', 'other']), (school) => {
      change(school.classes, 'anat', { 'metadata.meets': 'Mon 09:00-10:30; Wed 14:00-15:00' })
      const rotation = (id: string, title: string, beginDate: string, endDate: string) => {
        addClass(school, id, { title, classType: 'ext:rotation', location: 'Clinic B' })
        enrol(school, 'ada', id, { beginDate, endDate })
      }
      rotation('surgery', 'Surgery rotation', '2026-11-18', '2026-11-24')
      rotation('night', 'Night shift', '2026-11-21', '2026-11-22')
      addClass(school, 'late', { title: 'Evening lecture', 'metadata.meets': 'Fri 18:00-19:00' })
      enrol(school, 'eve', 'late')
      addUser(school, 'tea-4', 'teacher')
      enrol(school, 'tea-4', 'surgery', { role: 'teacher' })
    })
    await rosterOf(service).import(bulk(school))
  })

  /** The clock of a service goes forward only. */
  const at = (moment: string) => {
    const ms = Date.parse(moment) - service.clock.now()
    assert.ok(ms >= 0, moment)
    service.clock.advance(ms)
  }
  const mails = (email: string) =>
    service.mail.received.filter(({ to }) => to.toLowerCase() === email.toLowerCase()).length
  const visit = async (look: Look = {}, email = ada) => {
    const page = await openTab(await newVisitor(browser, look), service)
    await signIn(page, service, 'Student', email, mails(email) + 1)
    await page.locator('.week').waitFor()
    return page
  }
  const flat = (text: string) => text.replace(/\s+/g, ' ').trim()
  const week = async (page: Page) => flat(await page.locator('.week h2').innerText())
  const bands = async (page: Page) => (await page.locator('.band').allInnerTexts()).map(flat)
  const days = async (page: Page) => (await page.locator('.week h3:visible').allInnerTexts()).map(flat)
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
  const openAnatomy = async (page: Page) => {
    await page.getByRole('link', { name: 'Anatomy A' }).first().click()
    await page.getByRole('heading', { name: 'Anatomy A' }).waitFor()
    return page.url()
  }
  const box = async (page: Page, selector: string) => (await page.locator(selector).first().boundingBox())!

  test('A rotation is a band over the days that it covers, a weekend shift too, on a desk under their headings', async () => {
    at('2026-11-17T08:00:00Z')
    const page = await visit()
    assert.deepEqual(await bands(page), [
      'Mon 16 Nov – Sun 22 Nov Equine rotation until 30 Nov 2026',
      'Wed 18 Nov – Sun 22 Nov Surgery rotation Clinic B · until 24 Nov 2026',
      'Sat 21 Nov – Sun 22 Nov Night shift Clinic B · until 22 Nov 2026',
    ])
    const [wednesday, sunday, surgery] = await Promise.all([
      box(page, '.week ol > li:nth-child(3)'),
      box(page, '.week ol > li:nth-child(7)'),
      box(page, '.band:nth-child(2)'),
    ])
    assert.ok(surgery.x >= wednesday.x && surgery.x < wednesday.x + 20)
    assert.ok(surgery.x + surgery.width <= sunday.x + sunday.width)
    assert.ok(surgery.x + surgery.width > sunday.x + sunday.width - 20)
    const heading = await box(page, '.week h3')
    const slot = await box(page, '.slot')
    assert.ok(heading.y + heading.height <= surgery.y && surgery.y + surgery.height <= slot.y)
    await assertFit(page, 'portal-week', 320, 800)
    assert.deepEqual(page.faults, [])
  })

  test('Arrows lead to other weeks and a button back; the title says which, and nothing else changes', async () => {
    at('2026-11-17T08:00:00Z')
    const page = await visit()
    const cards = await page.locator('.class h3').allTextContents()
    assert.equal(await week(page), 'This week, 16 – 22 Nov')
    await press(page, 'The week after')
    assert.equal(await week(page), 'Next week, 23 – 29 Nov')
    assert.deepEqual(await bands(page), [
      'Mon 23 Nov – Fri 27 Nov Equine rotation until 30 Nov 2026',
      'Mon 23 Nov – Tue 24 Nov Surgery rotation Clinic B · until 24 Nov 2026',
    ])
    await press(page, 'The week after')
    assert.equal(await week(page), '30 Nov – 6 Dec')
    assert.deepEqual(await bands(page), ['Mon 30 Nov Equine rotation until 30 Nov 2026'])
    await press(page, 'This week')
    await press(page, 'The week before')
    assert.equal(await week(page), 'Last week, 9 – 15 Nov')
    assert.deepEqual(await page.locator('.class h3').allTextContents(), cards)
    assert.deepEqual(await accessFaults(page), [])
    // Into the holidays between the terms.
    for (let i = 0; i < 7; i++) await press(page, 'The week after')
    assert.equal(await week(page), '28 Dec 2026 – 3 Jan 2027')
    assert.equal(await page.locator('.slot, .band').count(), 0)
  })

  test('On Friday evening the coming week is shown, later if there is a class; a weekend shift is under today', async () => {
    at('2026-11-20T16:59:00Z')
    const page = await visit()
    assert.match(await week(page), /^This week/)
    const eve = await visit({}, 'eve@school.example')
    await page.clock.fastForward(2 * minute)
    await eventually('Friday evening', async () => /^Next week/.test(await week(page)))
    await eve.clock.fastForward(2 * minute)
    await eventually('later', async () => (await eve.getByText('Evening lecture').count()) > 0)
    assert.match(await week(eve), /^This week/)
    await eve.clock.fastForward(2 * hour)
    await eventually('after the class', async () => /^Next week/.test(await week(eve)))
    await press(page, 'This week')
    assert.match(await week(page), /^This week/)

    at('2026-11-22T10:00:00Z')
    const phone = await visit({ width: 360 })
    assert.equal(await week(phone), 'Next week, 23 – 29 Nov')
    await phone.getByRole('region', { name: 'Today' }).getByText('Night shift').waitFor()
    await press(phone, 'This week')
    assert.ok((await days(phone)).includes('Sun 22 Nov'), 'today is in this week')
    assert.ok(
      (await bands(phone)).includes('Sat 21 Nov – Sun 22 Nov Night shift Clinic B · until 22 Nov 2026'),
    )
    assert.equal(await overflow(phone, 320), 0)
    assert.deepEqual(await accessFaults(phone), [])
  })

  test('A page left open goes on: before, during and after a class, and into the next day', async () => {
    at('2026-11-23T08:50:00Z')
    const page = await visit()
    const today = page.getByRole('region', { name: 'Today' })
    const next = async () => flat(await page.getByRole('region', { name: 'Next' }).innerText())
    const pass = async (ms: number) => {
      service.clock.advance(ms)
      await page.clock.fastForward(ms)
    }
    const badges = () => page.locator('.today .badge').allInnerTexts()
    assert.deepEqual(await badges(), [])
    assert.equal(await next(), 'Next 09:00–10:30 Anatomy A Hall 1')
    await pass(11 * minute)
    await eventually('on', async () => (await badges()).join() === 'now')
    assert.equal(await next(), 'Next Wed 25 Nov, 14:00–15:00 Anatomy A Hall 1')
    await today.getByRole('link', { name: 'Anatomy A' }).click()
    const badge = page.locator('.tags .badge')
    assert.equal(await badge.innerText(), 'now')
    await pass(90 * minute)
    await eventually('met', async () => (await badge.innerText()) === 'current')
    await page.goBack()
    await eventually('over', async () => (await badges()).join() === 'over')
    await assertFit(page, 'portal-over', 320, 1280)
    await page.getByText('Monday 23 November').waitFor()
    await pass(24 * hour)
    await page.getByText('Tuesday 24 November').waitFor()
    assert.deepEqual(await badges(), [])
    await today.getByText('Surgery rotation').waitFor()
  })

  test('After sign-out the next student lands at home, not on the class of the last one', async () => {
    const page = await visit()
    const tab = await openTab(page.context(), service)
    for (const each of [page, tab]) await openAnatomy(each)
    await signOut(page)
    await tab.getByText('You signed out in another window.').waitFor()
    for (const each of [page, tab]) await each.waitForURL(({ hash }) => hash === '#/')
    await signIn(tab, service, 'Student', 'other@school.example', mails('other@school.example') + 1)
    await tab.getByRole('heading', { level: 1, name: /Good/ }).waitFor()
  })

  test('A link to a class opens it after the sign-in', async () => {
    const link = await openAnatomy(await visit())
    const page = await openTab(await newVisitor(browser), service, `/${new URL(link).hash}`)
    await signIn(page, service, 'Student', ada, mails(ada) + 1)
    await page.getByRole('heading', { name: 'Anatomy A' }).waitFor()
  })

  test('The times of a class are a list, so that none breaks in two', async () => {
    const page = await visit()
    await openAnatomy(page)
    const times = page.locator('.list > div').filter({ hasText: 'Times' }).getByRole('listitem')
    assert.deepEqual((await times.allInnerTexts()).map(flat), ['Mon 09:00–10:30', 'Wed 14:00–15:00'])
  })

  test('The code of the card is wholly on the screen, upright and across, on the smallest phone', async () => {
    const page = await visit({ width: 320 })
    await page.goto(`${originOf(service)}/#/card`)
    await page.getByRole('button', { name: 'Show it full screen' }).click()
    const dialog = page.getByRole('dialog')
    const code = dialog.getByRole('img', { name: 'QR code of your student card' })
    for (const [width, height] of [
      [320, 568],
      [568, 320],
      [740, 360],
      [360, 740],
      [1280, 900],
    ] as const) {
      await page.setViewportSize({ width, height })
      const { x, y, width: wide, height: high } = (await code.boundingBox())!
      const where = `${width} × ${height}`
      assert.ok(x >= 0 && y >= 0 && x + wide <= width && y + high <= height, where)
      assert.ok(Math.min(wide, high) >= 180, `${where}: large enough to scan`)
      assert.ok(await dialog.getByText('Ada Byron').isVisible(), where)
    }
    const dots = (await code.locator('path').getAttribute('d'))!.split('M').length
    assert.ok(dots < 700, `${dots} dots`)
  })

  test('The avatar has the initials of the preferred name', async () => {
    at('2026-12-01T08:00:00Z')
    const school = edited(studentSchool([]), (school) =>
      change(school.users, 'ada', { preferredGivenName: 'Zoe' }),
    )
    await rosterOf(service).import(bulk(school))
    const page = await visit({ width: 360 })
    assert.equal(await page.locator('.avatar .monogram').innerText(), 'ZB')
  })
})
