/** The list of people in the console, in a real Chromium. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { byOperator } from '../src/platform/lib/by.ts'
import { accessFaults, assertFit } from './support/axe.ts'
import { overflow } from './support/browser.ts'
import { dialog, openConsole, place } from './support/console.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import { addUser, bulk, change } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import type { Service } from './support/service.ts'
import { studentSchool } from './support/student-school.ts'
import { eventually } from './support/wait.ts'

const years = ['1', '2', '2', '3']

type Box = { readonly x: number; readonly width: number }

suite('The list of people in the console', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' } },
  )

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const table = (page: Page) => page.getByRole('table', { name: 'People' })
  const shown = (page: Page) => table(page).locator('tbody .name').allTextContents()
  const shows = (page: Page, expected: readonly string[]) =>
    eventually(expected.join(), async () => (await shown(page)).join() === expected.join())
  async function veterinarian(
    firstname: string,
    lastname: string,
    email = freshAddress('vet'),
  ): Promise<string> {
    await service.register(email, { firstname, lastname })
    const { sessionId, code } = await service.code(email, freshNetwork())
    const answer = { email, otp_code: code, sessionId }
    const { json } = await service.post('/veterinarian/validate-otp', answer, freshNetwork())
    return json.user.userId
  }
  const veterinarians = ['Ada Marsh', 'Bea Nolte', 'Cleo Ott']
  const students = ['Given Family s1', 'Given Family s2', 'Given Family s3', 'Given Family s4']
  let filled: Promise<void> | undefined
  const fill = () => {
    filled ??= (async () => {
      const school = studentSchool([])
      for (const [i, grades] of years.entries()) addUser(school, `s${i + 1}`, 'student', { grades })
      change(school.users, 's4', { enabledUser: 'false' })
      await rosterOf(service).import(bulk(school))
      service.clock.advance(1_000)
      for (const name of veterinarians) {
        const [firstname = '', lastname = ''] = name.split(' ')
        await veterinarian(firstname, lastname)
      }
    })()
    return filled
  }
  async function open(look = {}) {
    await fill()
    const staff = await openConsole(browser, service, ['support'], look)
    await place(staff.page, '#/people')
    await table(staff.page).waitFor()
    return staff
  }

  test('It shows everybody by name, and its heads change the order', async () => {
    const { page } = await open()
    const byName = ['Ada Byron', ...students, ...veterinarians]
    await shows(page, byName)
    const head = (name: string) => page.getByRole('columnheader', { name })
    assert.equal(await head('Name').getAttribute('aria-sort'), 'ascending')
    await button(page, 'Name').click()
    await shows(page, byName.toReversed())
    assert.equal(await head('Name').getAttribute('aria-sort'), 'descending')
    await button(page, 'Created').click()
    assert.equal(await head('Created').getAttribute('aria-sort'), 'ascending')
    assert.equal(await head('Name').getAttribute('aria-sort'), null)
    await eventually(
      'veterinarians last',
      async () => (await shown(page)).slice(-3).sort().join() === veterinarians.join(),
    )
    assert.equal(await page.getByLabel('Order').inputValue(), 'created')
    assert.deepEqual(page.faults, [])
  })

  test('Filters are part of the address: a link shows the same, and Back leads to it', async () => {
    const { page } = await open()
    await page.getByLabel('Role').selectOption('student')
    await page.getByLabel('Year').selectOption('2')
    await shows(page, ['Given Family s2', 'Given Family s3'])
    await page.getByLabel('Order').selectOption('-name')
    await shows(page, ['Given Family s3', 'Given Family s2'])
    assert.equal(new URL(page.url()).hash, '#/people?role=student&year=2&sort=-name')
    await page.reload()
    await shows(page, ['Given Family s3', 'Given Family s2'])
    await page.getByRole('link', { name: 'Given Family s2' }).click()
    await page.getByRole('heading', { name: 'Given Family s2' }).waitFor()
    await page.getByRole('link', { name: 'Back to the search' }).click()
    await shows(page, ['Given Family s3', 'Given Family s2'])
    await page.getByRole('link', { name: 'Given Family s3' }).click()
    await page.getByRole('heading', { name: 'Given Family s3' }).waitFor()
    await page.goBack()
    await shows(page, ['Given Family s3', 'Given Family s2'])
    await button(page, 'Clear filters').click()
    await page.getByLabel('Status').selectOption('inactive')
    await shows(page, ['Given Family s4'])
    await table(page).getByRole('cell', { name: 'not active on the roster', exact: true }).waitFor()
    await place(page, '#/people?verified=false&sort=-name')
    await shows(page, veterinarians.toReversed())
    await page.getByLabel('Find somebody').fill('nolte')
    await shows(page, ['Bea Nolte'])
    await page.getByLabel('Find somebody').fill('')
    assert.deepEqual(page.faults, [])
  })

  test('Several people are signed out at once, and who could not be stays selected', async () => {
    const { page } = await open()
    const [one, two] = [await veterinarian('Dana', 'Prim'), await veterinarian('Elif', 'Quast')]
    await page.getByLabel('Find somebody').fill('zzz')
    await page.getByLabel('Find somebody').fill('')
    await page.getByLabel('Role').selectOption('veterinarian')
    await page.getByLabel('Select Dana Prim').check()
    await page.getByLabel('Select Elif Quast').check()
    await page.getByText('2 people selected').waitFor()
    // Closed in the meantime.
    await service.app.parts.support.close(two, 'x', byOperator)
    await button(page, 'Sign out everywhere…').click()
    await dialog(page).getByText('Sign 2 people out everywhere?').waitFor()
    await dialog(page).getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByText('1 person is signed out everywhere. Not signed out: Elif Quast.').waitFor()
    await page.getByText('1 person selected').waitFor()
    const { sessions } = await service.app.parts.support.show(one)
    assert.deepEqual(
      sessions.map(({ endReason }) => endReason),
      ['revoked'],
    )
    await button(page, 'Clear selection').click()
    await page.getByLabel('Select everybody shown').check()
    await page.getByLabel('Select Elif Quast').uncheck()
    await button(page, 'Sign out everywhere…').click()
    await dialog(page).getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByText('4 people are signed out everywhere.').waitFor()
    assert.deepEqual(
      page.faults.filter((fault) => !/404/.test(fault)),
      [],
    )
  })

  test('The next page follows the last one', async () => {
    const { page } = await open()
    const names = Array.from({ length: 30 }, (_, i) => `Row${String(i).padStart(2, '0')}`)
    for (const name of names)
      await service.register(freshAddress('row'), { firstname: 'Pia', lastname: name })
    await service.app.parts.veterinarians.settle()
    await page.getByLabel('Find somebody').fill('pia')
    await shows(
      page,
      names.slice(0, 25).map((name) => `Pia ${name}`),
    )
    await page.getByText('The first 25 people').waitFor()
    await button(page, 'Show more').click()
    await shows(
      page,
      names.map((name) => `Pia ${name}`),
    )
    await page.getByText('30 people found').waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('The header says who is signed in, on a phone in its menu', async () => {
    await fill()
    const wide = await openConsole(browser, service, ['admin'])
    await wide.page.locator('header .who').filter({ hasText: 'Grace Hopper' }).waitFor()
    const { page, email } = await openConsole(browser, service, ['admin'], { width: 360 })
    assert.equal(await page.locator('header .who').isVisible(), false)
    await button(page, 'My account').click()
    await page.locator('header .who').filter({ hasText: 'Grace Hopper' }).waitFor()
    await page.locator('header').getByText(email).waitFor()
    assert.deepEqual([await overflow(page, 360), await accessFaults(page)], [0, []])
    await button(page, 'Sign out').click()
    await page.locator('input[type=email]').waitFor()
  })

  test('A suspended account says at the top why, when and by whom', async () => {
    await fill()
    const userId = await veterinarian('Uwe', 'Sperling')
    const { page } = await openConsole(browser, service, ['support'])
    await service.app.parts.support.suspend(userId, 'Asked by the dean', byOperator)
    await place(page, `#/people/${userId}`)
    const notice = page.locator('.notice.bad')
    await notice.getByText(/^Suspended on .* by the command line\.$/).waitFor()
    await notice.getByText('Asked by the dean').waitFor()
    await service.app.parts.support.reactivate(userId, null, byOperator)
    await page.reload()
    await page.getByRole('heading', { name: 'Uwe Sperling' }).waitFor()
    assert.equal(await notice.count(), 0)
    assert.deepEqual(page.faults, [])
  })

  test('A long address is whole on the page of a person, beside the actions or above them', async () => {
    const email = `a.very.long.name.of.somebody@${'department.'.repeat(4)}school.example`
    const userId = await veterinarian('Lena', 'Lang', email)
    const { page } = await openConsole(browser, service, ['support'])
    await place(page, `#/people/${userId}`)
    const address = page.locator('.columns .address')
    await address.waitFor()
    assert.equal(await address.innerText(), email)
    for (const width of [320, 800, 1280]) {
      assert.equal(await overflow(page, width), 0, `${width}`)
      const [inner, card] = (await Promise.all([
        address.boundingBox(),
        page.locator('.columns .card').first().boundingBox(),
      ])) as [Box, Box]
      assert.ok(inner.x + inner.width <= card.x + card.width, `${width}`)
    }
    await page.setViewportSize({ width: 1280, height: 900 })
    const [cards, whole] = (await Promise.all([
      page.locator('.columns .card').last().boundingBox(),
      page.locator('.columns').boundingBox(),
    ])) as [Box, Box]
    assert.ok(Math.abs(cards.x + cards.width - whole.x - whole.width) < 1, 'the two cards fill the page')
    assert.deepEqual(page.faults, [])
  })

  test('A link with an order that does not exist shows the list by name', async () => {
    const { page } = await open()
    await place(page, '#/people?role=veterinarian&sort=shoe-size')
    await eventually('veterinarians alone', async () => {
      const roles = await table(page).locator('tbody td:nth-child(3)').allTextContents()
      return roles.length > 0 && roles.every((role) => role === 'Veterinarian')
    })
    assert.equal(await page.getByLabel('Order').inputValue(), 'name')
    assert.deepEqual(page.faults, [])
  })

  test('The pages of an administrator stand in one row beside the name', async () => {
    const { page } = await openConsole(browser, service, ['admin'])
    const tops = await page
      .locator('header nav a:visible')
      .evaluateAll((links) => links.map((link) => (link as unknown as { offsetTop: number }).offsetTop))
    assert.equal(new Set(tops).size, 1, tops.join())
  })

  test('It fits on narrow and wide screens, light and dark', async () => {
    const { page } = await open()
    await page.getByLabel('Select Given Family s1').check()
    await assertFit(page, 'console-people-selected', 320, 360, 800, 1280)
    assert.deepEqual(page.faults, [])
  })
})
