/** The roster in the console, in a real Chromium: a bad file, a good one, one that is held, and the way back. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { accessFaults, assertFit } from './support/axe.ts'
import { focused, focusOn, picture } from './support/browser.ts'
import { dialog, openConsole, place } from './support/console.ts'
import { inBrowser } from './support/engines.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import { packZip, writeZip } from './support/roster-files.ts'
import {
  addClass,
  addUser,
  bulkFiles,
  change,
  drop,
  edited,
  emptySchool,
  enrol,
  newSchool,
  numbers,
} from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import type { Service } from './support/service.ts'
import { zipOf } from './support/uploads.ts'
import { eventually, pause } from './support/wait.ts'

const school = newSchool(20)
const autumn = edited(school, (copy) => {
  drop(copy, 'stu-20')
  change(copy.users, 'stu-1', { email: 'new.address@school.example' })
  change(copy.users, 'stu-2', { familyName: '<b>Married</b>', identifier: 'S2' })
  for (const n of numbers(25)) addUser(copy, `fresh-${n}`, 'student', { givenName: 'Fresh' })
})
const exodus = edited(autumn, (copy) => {
  for (const n of numbers(8)) drop(copy, `stu-${n + 2}`)
})
const bad = edited(school, (copy) => {
  change(copy.users, 'stu-3', { email: 'not an address' })
  change(copy.users, 'stu-4', { email: '=cmd()' })
})

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

async function choose(page: Page, name: string, buffer: Buffer): Promise<void> {
  await place(page, '#/roster')
  await button(page, 'Choose a file').waitFor()
  await page.setInputFiles('input[type=file]', { name, mimeType: 'application/zip', buffer })
}

suite('The roster in the console', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' } },
  )
  const students = async () =>
    (
      await service.rows(
        `select sourced_id from student, roster_state where from_gen <= content and (to_gen is null or to_gen > content)`,
      )
    ).length

  test('A registrar uploads a bad file and a good one, confirms a held one by name, and goes back', async () => {
    const { page } = await openConsole(browser, service, ['registrar'])
    const look = async (name: string, shown: Locator) => {
      await shown.first().waitFor()
      await page.evaluate('scrollTo(0, 0)')
      await assertFit(page, `console-roster-${name}`, 360)
    }
    await place(page, '#/roster')
    await look('empty', page.getByText('Nothing has been imported yet.'))
    await page.setInputFiles('input[type=file]', {
      name: 'roster.pdf',
      mimeType: 'application/pdf',
      buffer: Buffer.from('no zip'),
    })
    await page.getByText('Choose a zip from your student system').waitFor()

    await choose(page, 'school.zip', await zipOf(school))
    await page.getByRole('heading', { name: 'Changes planned from school.zip' }).waitFor()
    await look('first', page.getByText('New students (20)'))
    await button(page, 'Import now').click()
    await look('confirm', dialog(page).getByText('Students who leave are signed out.'))
    await dialog(page).getByRole('button', { name: 'Import now' }).click()
    await look('applied', page.getByText('The roster has been imported.'))
    assert.equal(await students(), 20)

    await choose(page, 'bad.zip', await zipOf(bad))
    await page.getByText('This file cannot be imported.').waitFor()
    await look('refused', page.getByText(/users.csv, line \d+, email/))
    assert.equal(await button(page, 'Import now').count(), 0)
    const downloading = page.waitForEvent('download')
    await button(page, 'Download all findings').click()
    const csv = await (await downloading).createReadStream().then((stream) => stream.toArray())
    assert.match(Buffer.concat(csv as Buffer[]).toString(), /"'=cmd\(\)"/)
    await button(page, 'Skip these rows').click()
    await page.getByText('2 bad rows skipped').waitFor()
    await page.getByText('This file changes nothing').waitFor()
    await button(page, 'Discard the plan').click()
    await page.getByRole('heading', { name: 'History' }).waitFor()

    await choose(page, 'clever.zip', await packZip({ 'students.csv': 'a', 'sections.csv': 'b' }))
    await page.getByText('This is an export for Clever.').waitFor()

    await choose(page, 'autumn.zip', await zipOf(autumn))
    await page.getByText('Students leaving (1)').waitFor()
    await page.getByText('<b>Married</b>').first().waitFor()
    const moved = page.locator('.group').filter({ hasText: 'Students whose address changes (1)' })
    await moved.locator('del', { hasText: 'stu-1@school.example' }).waitFor()
    await moved.locator('ins', { hasText: 'new.address@school.example' }).waitFor()
    const fresh = page.locator('.group').filter({ hasText: 'New students (25)' })
    await fresh.getByText('Fresh Family fresh-1', { exact: true }).waitFor()
    assert.equal(await fresh.locator('li').count(), 20)
    await fresh.getByRole('button', { name: 'Show more' }).click()
    await fresh.locator('li').nth(24).waitFor()
    await look('plan', page.getByText('Students with other changes (1)'))
    const find = page.getByLabel('Find by name, number or address')
    await find.fill('S2')
    await page.getByText('<b>Married</b>').first().waitFor()
    await page.getByText(/^\d+ changes?$/).waitFor()
    assert.equal(await page.locator('.group').filter({ hasText: 'New students' }).count(), 0)
    await look('found', page.getByText('Students · changed'))
    await find.fill('nobody at all')
    await page.getByText('No changes for anybody like that.').waitFor()
    await find.fill('')
    const all = page.waitForEvent('download')
    await button(page, 'Download all as CSV').click()
    const report = await (await all).createReadStream().then((stream) => stream.toArray())
    assert.match(Buffer.concat(report as Buffer[]).toString(), /"new\.address@school\.example"/)
    await page.getByText('In numbers').click()
    await look('numbers', page.getByRole('cell', { name: '44' }))
    await button(page, 'Import now').click()
    await dialog(page).getByRole('button', { name: 'Import now' }).click()
    await page.getByText('The roster has been imported.').waitFor()

    await choose(page, 'exodus.zip', await zipOf(exodus))
    await page.getByText('Many students would leave. Is that right?').waitFor()
    await button(page, 'Import now').click()
    await look('held', page.getByText('Confirm each point above first.'))
    await page.getByLabel('Yes, that is right').check()
    await button(page, 'Import now').click()
    await dialog(page).getByRole('button', { name: 'Import now' }).click()
    await page.getByText('The roster has been imported.').waitFor()
    assert.equal(await students(), 36)

    await page.getByRole('link', { name: 'Back to the roster' }).click()
    await page.getByText('Confirmed: many leavers').waitFor()
    await page.getByRole('link', { name: 'Number 3' }).click()
    await look('import', page.getByText('Students leaving (8)'))
    await page.getByText('Given Family stu-3').first().waitFor()
    await page.getByRole('link', { name: 'Back to the roster' }).click()
    await look('history', page.getByText('current', { exact: true }))
    await page.getByRole('link', { name: 'Go back to this… 2' }).click()
    await page.getByText('Students who leave: 0; return: 8; change: 0.').waitFor()
    await look('undo', page.getByText('Students returning (8)'))
    await button(page, 'Go back to this…').click()
    await dialog(page).getByRole('button', { name: 'Go back' }).click()
    await page.getByText('The roster has been restored.').waitFor()
    assert.equal(await students(), 44)
    await page.getByRole('link', { name: 'Back to the roster' }).click()
    await look('history-undone', page.getByText('Number 4'))
    const ways = await page.getByRole('link', { name: /^Go back to this… / }).all()
    const places = await Promise.all(ways.map((way) => way.getAttribute('href')))
    assert.deepEqual(
      places,
      [3, 1, 0].map((number) => `#/roster/undo/${number}`),
    )
    for (const way of places) {
      await place(page, way!)
      await page.getByText(/^This undoes number/).waitFor()
    }
    await place(page, '#/roster')
    await page.getByText('Number 4').waitFor()
    await place(page, '#/')
    await page.getByText('Current since').waitFor()
    await place(page, '#/roster/imports/99')
    await page.getByText('There is no import with this number').waitFor()
    await place(page, '#/roster/undo/99')
    await look('no-way-back', page.getByText('You cannot go back to this'))
    await place(page, '#/roster/plans/AAAAAAAAAAAAAAAAAAAAAA')
    await look('gone', page.getByText('This plan no longer exists'))
    assert.deepEqual(
      page.faults.filter((fault) => !/40[04]/.test(fault)),
      [],
    )
  })

  test('A plan that another import overtook says so', async () => {
    const { page } = await openConsole(browser, service, ['registrar'])
    const more = edited(autumn, (copy) => addUser(copy, 'late', 'student'))
    await choose(page, 'late.zip', await zipOf(more))
    await page.getByText('New students (1)').waitFor()
    const other = edited(autumn, (copy) => addUser(copy, 'other', 'student'))
    await rosterOf(service).import(writeZip(await zipOf(other)))
    await button(page, 'Import now').click()
    await dialog(page).getByRole('button', { name: 'Import now' }).click()
    await dialog(page).getByText('Somebody else has imported a roster in the meantime.').waitFor()
  })
})

suite('The roster in the console by keyboard', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' } },
  )

  test('A file is uploaded, confirmed and undone by keyboard alone, and found again after a reload', async () => {
    const { page } = await openConsole(browser, service, ['registrar'])
    const { keyboard } = page
    // Playwright begins to catch file dialogs with the first listener, and does not wait until it does.
    page.on('filechooser', () => {})
    const tabTo = async (name: string) => {
      const matches = async () => new RegExp(name).test(await focused(page))
      await eventually(`focus on ${name}`, async () => {
        // A page that has just come takes the focus to its heading, which a person would see and wait for.
        if ((await matches()) && (await pause(100).then(matches))) return true
        await keyboard.press('Tab')
        return false
      })
    }
    const send = async (name: string, buffer: Buffer) => {
      await tabTo('^Roster$')
      await keyboard.press('Enter')
      await tabTo('^Choose a file$')
      const asked = page.waitForEvent('filechooser')
      await keyboard.press('Enter')
      await (await asked).setFiles({ name, mimeType: 'application/zip', buffer })
      await button(page, 'Import now').waitFor()
    }
    await send('school.zip', await zipOf(school))
    await page.reload()
    await page.getByText('New students (20)').waitFor()
    await tabTo('^Import now$')
    await keyboard.press('Enter')
    await dialog(page).waitFor()
    await tabTo('^Import now$')
    await keyboard.press('Enter')
    await page.getByText('The roster has been imported.').waitFor()
    await focusOn(page, 'school.zip')

    await send('less.zip', await zipOf(edited(school, (copy) => drop(copy, 'stu-1'))))
    await tabTo('^Import now$')
    await keyboard.press('Enter')
    await dialog(page).waitFor()
    await tabTo('^Import now$')
    await keyboard.press('Enter')
    await page.getByText('The roster has been imported.').waitFor()
    await focusOn(page, 'less.zip')
    await tabTo('^Back to the roster$')
    await keyboard.press('Enter')
    await tabTo('^Go back to this… 1$')
    await keyboard.press('Enter')
    await page.getByText('Students returning (1)').waitFor()
    await tabTo('^Go back to this…$')
    await keyboard.press('Enter')
    await dialog(page).waitFor()
    await tabTo('^Go back$')
    await keyboard.press('Enter')
    await page.getByText('The roster has been restored.').waitFor()
    await eventually('focus on the heading', async () => /Go back to number 1/.test(await focused(page)))
    assert.deepEqual(page.faults, [])
  })

  test('An import that is under way shows how far it is, and one that failed can be tried again', async () => {
    const { page } = await openConsole(browser, service, ['registrar'])
    let standing: object = { state: 'applying', progress: { done: 0, total: null } }
    await choose(page, 'more.zip', await zipOf(edited(school, (copy) => addUser(copy, 'more', 'student'))))
    await page.getByText('New students').waitFor()
    await page.route(/\/staff\/roster\/plans\/[^/]+$/, async (route) => {
      const reply = await route.fetch()
      const json = { ...(await reply.json()), ...standing }
      // The page may have left in the meantime.
      await route.fulfill({ response: reply, json }).catch(() => {})
    })
    await page.reload()
    await page.getByText('Reading the file again.').waitFor()
    standing = { state: 'applying', progress: { done: 300, total: 1_000 } }
    await page.clock.runFor(1_000)
    await page.getByRole('progressbar', { name: /30\s?%/ }).waitFor()
    assert.equal(await button(page, 'Import now').count(), 0)
    await picture(page, 'console-roster-applying-light')
    assert.deepEqual(await accessFaults(page), [])
    standing = { state: 'failed', failure: 'stopped' }
    await page.clock.runFor(1_000)
    await page.getByText('The service was stopped during the import').waitFor()
    await picture(page, 'console-roster-failed-light')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await button(page, 'Try again').click()
    await dialog(page).getByRole('button', { name: 'Import now' }).click()
    await page.getByText('The roster has been imported.').waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('A plan that is being made shows how many rows were read, can be cancelled, and is found again', async () => {
    const { page } = await openConsole(browser, service, ['registrar'])
    let standing: object = {
      state: 'planning',
      roster: null,
      groups: [],
      progress: { done: 12_000, total: null },
    }
    const zip = await zipOf(edited(school, (copy) => addUser(copy, 'planned', 'student')))
    const plans = /\/staff\/roster\/plans\/[^/]+$/
    await page.route(plans, async (route) => {
      if (route.request().method() !== 'GET') return route.continue()
      const reply = await route.fetch()
      const json = { ...(await reply.json()), ...standing }
      // The page may have left in the meantime.
      await route.fulfill({ response: reply, json }).catch(() => {})
    })
    await choose(page, 'planned.zip', zip)
    await page.getByText('12,000 rows read').waitFor()
    await assertFit(page, 'console-roster-planning', 360)
    assert.equal(await button(page, 'Import now').count(), 0)
    standing = { state: 'failed', failure: 'stopped', roster: null, groups: [], progress: null }
    await page.clock.runFor(1_000)
    await page.getByText('The service was stopped before the plan was made.').waitFor()
    assert.equal(await button(page, 'Try again').count(), 0)
    standing = {}
    await page.getByRole('link', { name: 'Back to the roster' }).click()
    const pending = page.getByRole('region', { name: 'Uploaded, not imported' })
    const mine = pending.getByRole('listitem').filter({ hasText: 'planned.zip' })
    await mine.getByText('Ready').waitFor()
    await mine.getByText(/kept until/).waitFor()
    await assertFit(page, 'console-roster-pending', 360)
    await mine.getByRole('link', { name: 'planned.zip' }).click()
    await page.getByText('New students (1)').waitFor()
    const { page: theirs } = await openConsole(browser, service, ['registrar'])
    await place(theirs, '#/roster')
    await theirs.getByRole('link', { name: 'planned.zip' }).click()
    await theirs.getByText('New students (1)').waitFor()
    assert.equal(await button(theirs, 'Discard the plan').count(), 0, 'only its owner discards it')
    standing = { state: 'planning', roster: null, groups: [], progress: { done: 0, total: null } }
    await page.reload()
    await button(page, 'Cancel').click()
    await page.getByRole('heading', { name: 'History' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'planned.zip' }).count(), 0)
    assert.deepEqual(page.faults, [])
  })

  test('A class list shows how its columns were read, and the registrar corrects them', async () => {
    await rosterOf(service).import(writeZip(await zipOf(school)))
    const { page } = await openConsole(browser, service, ['registrar'])
    const rows = numbers(20).map((n) => `S${n},Given,Family stu-${n},stu-${n}@school.example,Anatomy`)
    const list = ['Matricola,First name,Last name,E-mail,Class', ...rows].join('\n')
    await choose(page, 'list.csv', Buffer.from(list))
    await page.getByText('This list cannot be imported yet.').waitFor()
    const columns = page.getByRole('region', { name: 'How the columns were read' })
    await columns.getByRole('cell', { name: 'stu-3@school.example' }).waitFor()
    await page.getByText('Not used: Matricola').waitFor()
    await assertFit(page, 'console-roster-list', 360)
    await page.getByLabel('Student number').selectOption('Matricola')
    await page.getByLabel('First and last day of the terms').fill('2026-09-01..2027-01-31')
    await button(page, 'Read the list again').click()
    await page.getByRole('heading', { name: 'Changes planned from list.csv' }).waitFor()
    await columns.getByRole('cell', { name: 'S3', exact: true }).waitFor()
    await page.getByText('class list · complete · 20 rows').waitFor()
    await assertFit(page, 'console-roster-list-read', 360)
    await page.reload()
    await page.getByText('To correct the columns, choose the file again').waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('An export without dates has a field for them, and meetings are shown as people write them', async () => {
    const { page } = await openConsole(browser, service, ['registrar'], { locale: 'fr-FR' })
    const upload = async (name: string, buffer: Buffer) => {
      await place(page, '#/roster')
      await button(page, 'Choisir un fichier').waitFor()
      await page.setInputFiles('input[type=file]', { name, mimeType: 'application/zip', buffer })
    }
    const canvas = {
      'users.csv': 'user_id,first_name,last_name,email,status\nu1,Ada,Byron,ada@school.example,active\n',
      'courses.csv': 'course_id,short_name,long_name,term_id,status\nc1,VET101,Anatomy,,active\n',
      'enrollments.csv': 'course_id,user_id,role,status\nc1,u1,student,active\n',
    }
    await upload('canvas.zip', await packZip(canvas))
    await page.getByText('Rien ne dit quand les cours d’une liste ont lieu.').waitFor()
    await assertFit(page, 'console-roster-export', 360)
    await page.getByLabel('Premier et dernier jour des périodes').fill('2026-09-01..2027-01-31')
    await button(page, 'Relire la liste').click()
    await page.getByRole('heading', { name: 'Changements prévus par canvas.zip' }).waitFor()

    const meeting = (meets: string) =>
      edited(school, (copy) => change(copy.classes, 'class-1', { 'metadata.meets': meets }))
    await rosterOf(service).import(writeZip(await zipOf(meeting('Mon 09:00-10:30'))))
    await upload('meets.zip', await zipOf(meeting('Tue 14:00-15:30; Thu 08:00-09:00')))
    await page.getByText('Cours (1)').click()
    await page.getByText('· modification').waitFor()
    await page.locator('del', { hasText: /lun\. 09:00\s–\s10:30/ }).waitFor()
    await page.locator('ins', { hasText: /mar\. 14:00\s–\s15:30, jeu\. 08:00\s–\s09:00/ }).waitFor()
    assert.deepEqual(page.faults, [])
  })

  test('Students with new ids keep their accounts by what they still have', async () => {
    await rosterOf(service).import(writeZip(await zipOf(school)))
    const { page } = await openConsole(browser, service, ['registrar'])
    const renamed = emptySchool()
    for (const n of numbers(20)) addUser(renamed, `new-${n}`, 'student', { email: `stu-${n}@school.example` })
    addClass(renamed, 'class-1')
    enrol(renamed, 'new-1', 'class-1')
    await choose(page, 'renamed.zip', await zipOf(renamed))
    await page.getByText('Most students have new ids').waitFor()
    assert.equal(await button(page, 'Match accounts by student number').count(), 0)
    await button(page, 'Match accounts by address').click()
    await page.getByText('accounts matched by address').waitFor()
    assert.equal(await page.getByText('New students').count(), 0)
    assert.deepEqual(page.faults, [])
  })

  test('A file that does not say whether it is complete is read in the way that one chooses', async () => {
    await rosterOf(service).import(writeZip(await zipOf(school)))
    const { page } = await openConsole(browser, service, ['registrar'])
    const files = Object.fromEntries(
      Object.entries(bulkFiles(edited(school, (copy) => drop(copy, 'stu-2')))).filter(
        ([name]) => name !== 'manifest.csv',
      ),
    )
    const dated = Object.fromEntries(
      Object.entries(files).map(([name, text]) => {
        const [header, ...rows] = String(text).trimEnd().split('\n')
        const withDates = rows.map((row) =>
          row.replace(/^([^,]*),[^,]*,[^,]*/, '$1,active,2026-11-10T08:00:00Z'),
        )
        return [name, `${[header, ...withDates].join('\n')}\n`]
      }),
    )
    await choose(page, 'doubtful.zip', await packZip(dated))
    await page.getByText('The file does not say whether it is complete.').waitFor()
    await button(page, 'Complete: anyone missing leaves').click()
    await page.getByText('Students leaving (1)').waitFor()
    assert.equal(await page.getByText('The file does not say whether it is complete.').count(), 0)
    assert.deepEqual(page.faults, [])
  })
})
