/** The school's times in the portal, for readers in other time zones and on devices whose clocks are wrong. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import type { NotingPage } from './support/browser.ts'
import { place, signInAtConsole } from './support/console.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import { addClass, addUser, bulk, change, edited, enrol } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import type { Service } from './support/service.ts'
import { addStaff } from './support/staff.ts'
import { studentSchool } from './support/student-school.ts'
import { askForCode, type Look, listKept, newVisitor, openTab, originOf, signIn } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const student = 'ada.byron@school.example'
const teacher = 'tom@school.example'
const zones = ['Pacific/Auckland', 'America/Los_Angeles']
/** Far more than a time zone, and across midnight. */
const offs = [-26 * hour, -3 * hour, 5 * hour]

suite('The school’s time', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off', CHIRON_TIME_ZONE: 'Europe/Lisbon' } },
  )
  let importedAt = 0
  before(async () => {
    importedAt = service.clock.now()
    const school = edited(studentSchool([]), (school) => {
      change(school.classes, 'anat', { 'metadata.meets': 'Mon 09:00-10:30; Fri 09:00-10:30' })
      addClass(school, 'phys', {
        title: 'Physiology',
        termSourcedIds: 'term-2,term-1',
        'metadata.meets': 'Mon 11:00-12:00',
      })
      enrol(school, 'ada', 'phys')
      addUser(school, 'tea-4', 'teacher', { givenName: 'Tom', familyName: 'Hill', email: teacher })
      enrol(school, 'tea-4', 'anat', { role: 'teacher' })
    })
    await rosterOf(service).import(bulk(school))
  })

  /** The clock of a service goes forward only. */
  const at = (moment: string) => {
    const ms = Date.parse(moment) - service.clock.now()
    assert.ok(ms >= 0, moment)
    service.clock.advance(ms)
  }
  const mails = (email = student) =>
    service.mail.received.filter(({ to }) => to.toLowerCase() === email.toLowerCase()).length
  const tab = async (look: Look, clockOffMs = 0, path = '/') =>
    openTab(await newVisitor(browser, look), service, path, clockOffMs)
  const visit = async (look: Look, clockOffMs = 0): Promise<NotingPage> => {
    const page = await tab(look, clockOffMs)
    await signIn(page, service, 'Student', student, mails() + 1)
    await page.getByRole('heading', { level: 1, name: /Addie/ }).waitFor()
    return page
  }
  const today = async (page: Page) => {
    const region = page.getByRole('region', { name: 'Today', exact: true })
    await region.waitFor()
    const lines = await region.getByRole('listitem').allInnerTexts()
    return lines.map((line) => line.replace(/\s+/g, ' ').trim())
  }
  const note = (page: Page) => page.getByText('All times are in the school’s time zone.')
  const isToday = (page: Page) => page.locator('.week .is-today h3').innerText()

  const next = async (page: Page) =>
    (await page.getByRole('region', { name: 'Next', exact: true }).innerText()).replace(/\s+/g, ' ').trim()

  const sunday = ['All day Equine rotation Rotation · until 30 Nov 2026']
  const monday = [
    'All day Equine rotation Rotation · until 30 Nov 2026',
    '09:00–10:30 now Anatomy A Course · Hall 1',
    '11:00–12:00 Physiology Course',
  ]

  test('Abroad it is the school’s day: a Sunday in Auckland’s Monday, a Monday in Los Angeles’ Sunday', async () => {
    at('2026-11-15T23:30:00Z')
    const east = await visit({ timezoneId: zones[0]! })
    assert.deepEqual(await today(east), sunday)
    assert.equal(await next(east), 'Next Mon 16 Nov, 09:00–10:30 Anatomy A Hall 1')
    await east.getByText('Sunday 15 November').waitFor()
    await east.getByRole('heading', { name: 'Next week' }).waitFor()
    assert.equal(
      await note(east).innerText(),
      'All times are in the school’s time zone. It is now 23:30 there (Sun 15 Nov).',
    )
    await east.getByRole('heading', { name: 'Good afternoon, Addie' }).waitFor()

    at('2026-11-16T00:30:00Z')
    const west = await visit({ timezoneId: zones[1]! })
    await west.getByText('Monday 16 November').waitFor()
    assert.equal(await isToday(west), 'Mon 16 Nov')
    assert.deepEqual(await today(west), [
      monday[0],
      '09:00–10:30 Anatomy A Course · Hall 1',
      '11:00–12:00 Physiology Course',
    ])
    assert.equal(await next(west), 'Next 09:00–10:30 Anatomy A Hall 1')
    assert.deepEqual(await accessFaults(west), [])
  })

  test('What is on now is so in every zone and by every clock, and goes on with the minutes', async () => {
    at('2026-11-16T09:40:00Z')
    const looks: [Look, off: number][] = [
      ...zones.map((timezoneId): [Look, number] => [{ timezoneId }, 0]),
      ...offs.map((off): [Look, number] => [{}, off]),
      [{ timezoneId: zones[0]! }, offs[0]!],
    ]
    for (const [look, off] of looks) {
      const page = await visit(look, off)
      const which = `${look.timezoneId} ${off}`
      assert.deepEqual(await today(page), monday, which)
      assert.equal(await isToday(page), 'Mon 16 Nov', which)
      await page.getByText('Monday 16 November').waitFor()
      assert.equal(await note(page).count(), look.timezoneId === undefined ? 0 : 1, which)
      await page.clock.fastForward(60 * minute)
      await eventually(`an hour later, ${which}`, async () => {
        const lines = await today(page)
        return lines[1] === monday[1]!.replace('now', 'over') && lines[2] === monday[2]
      })
      assert.deepEqual(page.faults, [])
      await page.context().close()
    }
  })

  test('The term, and whether a class is over or to come, go by the school’s date', async () => {
    at('2026-11-30T23:30:00Z')
    const state = (page: Page) => page.locator('.tags .badge').innerText()
    const opened = async (look: Look, off = 0) => {
      const page = await visit(look, off)
      await page.getByRole('link', { name: 'Equine rotation' }).first().click()
      await page.getByRole('heading', { name: 'Equine rotation' }).waitFor()
      return page
    }
    const pages = [await opened({ timezoneId: zones[0]! }), await opened({}, 5 * hour)]
    for (const page of pages) assert.equal(await state(page), 'current')
    at('2026-12-01T00:30:00Z')
    // Without asking again: the day is over at the school.
    for (const page of pages) {
      await page.clock.fastForward(hour)
      await eventually('over', async () => (await state(page)) === 'over')
    }
    assert.equal(await state(await opened({ timezoneId: zones[1]! })), 'over')
  })

  test('A code can be entered for ten minutes, and sent again after thirty seconds, whatever the clock says', async () => {
    for (const off of [-7 * day, -5 * minute, 5 * minute, 7 * day]) {
      const email = freshAddress('clock')
      await service.register(email)
      const page = await tab({}, off)
      // It stands still, so that it does not matter how long the steps take.
      const timeIsNow = () => page.clock.setFixedTime(service.clock.now() + off)
      await timeIsNow()
      await askForCode(page, 'Veterinarian', email)
      await page.getByRole('timer').getByText('10:00').waitFor()
      await page.getByRole('button', { name: 'Send it again in 0:30' }).waitFor()
      service.clock.advance(9 * minute)
      await timeIsNow()
      await page.getByRole('timer').getByText('1:00').waitFor()
      await page.reload()
      await page.getByRole('timer').getByText('1:00').waitFor()
      service.clock.advance(minute)
      await timeIsNow()
      await page.getByRole('alert').getByText('This code has expired.').waitFor()
      assert.deepEqual(page.faults, [])
    }
  })

  test('A teacher abroad is told whose times they are, and one at the school is not', async () => {
    for (const timezoneId of [...zones, 'Europe/Lisbon']) {
      const page = await tab({ timezoneId })
      await signIn(page, service, 'Veterinarian', teacher, mails(teacher) + 1)
      const classes = page.getByRole('region', { name: 'My classes' })
      await classes.getByText('Mon 09:00–10:30, Fri 09:00–10:30').waitFor()
      assert.equal(await note(page).count(), timezoneId === 'Europe/Lisbon' ? 0 : 1)
      assert.deepEqual(await accessFaults(page), [])
      await page.context().close()
    }
  })

  test('A zone that the browser does not know leaves a page that works, by the device’s own zone', async () => {
    const visitor = await newVisitor(browser)
    await visitor.route(`${originOf(service)}/`, async (route) => {
      const reply = await route.fetch()
      await route.fulfill({
        response: reply,
        body: (await reply.text()).replace('content="Europe/Lisbon"', 'content="Mars/Olympus"'),
      })
    })
    const page = await openTab(visitor, service)
    await signIn(page, service, 'Student', student, mails() + 1)
    await page.locator('.week').waitFor()
    assert.equal(await note(page).count(), 0)
  })

  test('Without a network the last known time of the service counts', async () => {
    const visitor: BrowserContext = await newVisitor(browser, { serviceWorkers: 'allow' })
    const page = await openTab(visitor, service, '/', -30 * hour)
    await signIn(page, service, 'Student', student, mails() + 1)
    await page.getByRole('heading', { level: 1, name: /Addie/ }).waitFor()
    const words = { weekday: 'long', day: 'numeric', month: 'long', timeZone: 'Europe/Lisbon' } as const
    const atSchool = new Intl.DateTimeFormat('en-GB', words).format(service.clock.now())
    assert.equal(await page.locator('.lead').innerText(), atSchool)
    await page.evaluate('navigator.serviceWorker.ready')
    await listKept(page)
    await visitor.setOffline(true)
    await page.reload()
    await page.getByText(/^As of \d+:\d\d/).waitFor()
    assert.equal(await page.locator('.lead').innerText(), atSchool)
  })

  test('In the console a session is live and times are ago by the service’s clock', async () => {
    const { email } = await addStaff(service, ['admin'])
    const { userId } = await service.signIn(freshAddress('live'))
    const days = Math.round((service.clock.now() - importedAt) / day)
    for (const off of [-40 * day, 40 * day]) {
      const page = await tab({}, off, '/console')
      await signInAtConsole(page, service, email)
      await page.getByText(`${days} days ago`).first().waitFor()
      await place(page, `#/people/${userId}`)
      await page
        .getByText(/^Signed in/)
        .first()
        .waitFor()
      assert.equal(await page.getByText('Not signed in anywhere.').count(), 0, `${off}`)
      await page.context().close()
    }
  })

  test('Across the changes of clocks a class is on at its time on the school’s wall', async () => {
    // Los Angeles has changed on 14 March 2027, Lisbon changes on the 28th and Auckland on 4 April.
    const onTheWall: [moment: string, time: string][] = [
      ['2027-03-26T09:40:00Z', '9:40 there (Fri 26 Mar)'],
      ['2027-03-28T00:30:00Z', '0:30 there (Sun 28 Mar)'],
      ['2027-03-28T01:30:00Z', '2:30 there (Sun 28 Mar)'],
      ['2027-03-29T08:40:00Z', '9:40 there (Mon 29 Mar)'],
      ['2027-04-05T08:40:00Z', '9:40 there (Mon 5 Apr)'],
    ]
    at(onTheWall[0]![0])
    const pages: NotingPage[] = []
    for (const timezoneId of zones) pages.push(await visit({ timezoneId }))
    for (const [moment, wall] of onTheWall) {
      const ms = Date.parse(moment) - service.clock.now()
      at(moment)
      for (const [i, timezoneId] of zones.entries()) {
        const page = pages[i]!
        await page.clock.fastForward(ms)
        await page.reload()
        await note(page).waitFor()
        assert.equal(
          await note(page).innerText(),
          `All times are in the school’s time zone. It is now ${wall}.`,
        )
        if (wall.startsWith('9:40'))
          assert.match((await today(page))[0]!, /^09:00–10:30 now Anatomy A /, `${moment} ${timezoneId}`)
      }
    }
  })
})
