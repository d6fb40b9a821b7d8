/** Less common ways through the portal: longer codes, codes sent again, sign-out elsewhere, tabs, no portal. */
import assert from 'node:assert/strict'
import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, Locator, Page } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import { openPage, picture } from './support/browser.ts'
import { newFolder, serveChild, startProcess } from './support/child.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress, freshNetwork, repeat } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { askForCode, codeField, newVisitor, openTab, signIn } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

const second = 1_000
const project = fileURLToPath(new URL('../', import.meta.url))

suite('The portal off the straight way', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite((parts) => {
    ;({ service, browser } = parts)
  })

  const visit = async () => openTab(await newVisitor(browser), service)

  /** So many wrong answers that the next code for this address is a long one. */
  const attack = (email: string) =>
    repeat(4, async () => {
      const network = freshNetwork()
      const { json } = await service.post('/veterinarian/send-otp', { email }, network)
      const answer = { email, sessionId: json.sessionId, otp_code: 99_999_999 }
      const wrong = await repeat(5, () => service.post('/veterinarian/validate-otp', answer, network), 1)
      for (const { status } of wrong) assert.equal(status, 401)
    })

  /** A window that comes to the front reads again by itself. */
  const look = (page: Page) => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

  /** Whatever went wrong on a page, but for what the test provoked. */
  const faultsBeside = (expected: RegExp, { faults }: { faults: string[] }) =>
    faults.filter((fault) => !expected.test(fault))

  test('An address under attack is asked for eight digits, and they are sent when all are there', async () => {
    const email = freshAddress('attacked')
    // Until an address is confirmed, it gets three codes a day.
    await service.signIn(email, freshNetwork())
    await attack(email)
    const page = await visit()
    let answers = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/validate-otp')) answers++
    })
    await askForCode(page, 'Veterinarian', email)
    await page.getByText('The 8 digits from the mail').waitFor()
    assert.deepEqual(await accessFaults(page), [])
    await picture(page, 'portal-code-eight')
    const reference = await page.locator('.reference').innerText()
    const code = String((await service.mail.mailWith(email, reference)).code)
    assert.match(code, /^\d{8}$/)
    await codeField(page).pressSequentially(code.slice(0, 7))
    await codeField(page).press('Enter')
    assert.equal(await codeField(page).inputValue(), code.slice(0, 7))
    await codeField(page).press(code.slice(7))
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    assert.equal(answers, 1)
    assert.deepEqual(page.faults, [])
  })

  test('A code is sent again after its pause and not before, three times, under the same reference', async () => {
    const email = freshAddress('again')
    await service.signIn(email, freshNetwork())
    const page = await visit()
    await page.clock.setFixedTime(service.clock.now())
    await askForCode(page, 'Veterinarian', email)
    const { code } = await service.mail.mailTo(email, 2)
    const reference = await page.locator('.reference').textContent()
    const again = page.getByRole('button', { name: 'Send it again' })
    const sendAgain = (rest = '') => page.getByRole('button', { name: `Send it again${rest}`, exact: true })
    const pass = (ms: number) => {
      service.clock.advance(ms)
      return page.clock.setFixedTime(service.clock.now())
    }
    for (const nth of [3, 4, 5]) {
      await sendAgain(' in 0:30').waitFor()
      assert.equal(await again.getAttribute('aria-disabled'), 'true')
      // Pressed all the same, it stays, and nothing is asked.
      await again.click({ force: true })
      await pass(10 * second)
      await sendAgain(' in 0:20').waitFor()
      await pass(20 * second)
      await sendAgain().click()
      await page.getByText('The same code was sent again.').waitFor()
      const { mail, code: same } = await service.mail.mailTo(email, nth)
      assert.equal(same, code)
      assert.match(mail.subject ?? '', new RegExp(reference!))
      assert.equal(await page.locator('.reference').textContent(), reference)
    }
    await page.getByText('It cannot be sent again.').waitFor()
    assert.equal(await again.count(), 0)
    await codeField(page).fill(String(code))
    await page.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    assert.equal(service.mail.received.filter(({ to }) => to === email).length, 5)
    assert.deepEqual(page.faults, [])
  })

  test('Another address can be given from the code screen, and the way back leads to the same code', async () => {
    const email = freshAddress('first')
    const page = await visit()
    await askForCode(page, 'Veterinarian', email)
    const reference = await page.locator('.reference').textContent()
    await page.getByRole('link', { name: 'Use another address' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.equal(await page.getByLabel('E-mail address').inputValue(), email)
    await page.goBack()
    await codeField(page).waitFor()
    assert.equal(await page.locator('.reference').textContent(), reference)
    assert.deepEqual(page.faults, [])
  })

  test('A device that is signed out from another finds out at its next call', async () => {
    const email = freshAddress('there')
    const [here, there] = [await visit(), await visit()]
    await signIn(here, service, 'Veterinarian', email)
    await signIn(there, service, 'Veterinarian', email, 2)
    await here.getByRole('link', { name: 'Devices' }).click()
    const devices = here.locator('.devices > li')
    await eventually('two devices', async () => (await devices.count()) === 2)
    await here.getByRole('button', { name: 'Sign out there' }).click()
    await here.getByText('is signed out.').waitFor()
    assert.equal(await devices.count(), 1)
    await look(there)
    await there.getByText('Your session has ended.').waitFor()
    await there.reload()
    await there.getByRole('heading', { name: 'Sign in' }).waitFor()
    await here.reload()
    await here.getByText('Last used').waitFor()
    assert.equal(await devices.count(), 1)
    assert.deepEqual(here.faults, [])
    assert.deepEqual(faultsBeside(/401/, there), [])
  })

  test('Signing out everywhere asks first, and then ends every device, this one and its tabs too', async () => {
    const email = freshAddress('everywhere')
    const [here, there] = [await visit(), await visit()]
    await signIn(here, service, 'Veterinarian', email)
    await signIn(there, service, 'Veterinarian', email, 2)
    const tab = await openTab(here.context(), service)
    await tab.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
    await here.getByRole('link', { name: 'Devices' }).click()
    const everywhere = (within: Page | Locator) =>
      within.getByRole('button', { name: 'Sign out everywhere' }).click()
    const dialog = here.getByRole('dialog')
    await everywhere(here)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await there.getByRole('link', { name: 'Devices' }).click()
    await there.getByText('Last used').first().waitFor()
    await everywhere(here)
    await everywhere(dialog)
    await here.getByText('You have signed out.').waitFor()
    await tab.getByText('You signed out in another window.').waitFor()
    await look(there)
    await there.getByText('Your session has ended.').waitFor()
    assert.deepEqual([...here.faults, ...tab.faults], [])
    assert.deepEqual(faultsBeside(/401/, there), [])
  })

  test('Tabs that are loaded again at once all stay signed in', async () => {
    const one = await visit()
    await signIn(one, service, 'Veterinarian', freshAddress('reloads'))
    const tabs = [one, await openTab(one.context(), service), await openTab(one.context(), service)]
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        tabs.map(async (tab) => {
          await tab.reload()
          await tab.getByRole('heading', { name: 'Ada Marsh' }).waitFor()
        }),
      )
    }
    for (const tab of tabs) assert.deepEqual(tab.faults, [])
  })

  test('A service without a built portal says so and how to build it', async (t) => {
    const folder = newFolder()
    t.after(folder.remove)
    for (const part of ['src', 'demo', 'migrations', 'package.json'])
      cpSync(join(project, part), join(folder.path, part), { recursive: true })
    symlinkSync(join(project, 'node_modules'), join(folder.path, 'node_modules'))
    const unbuilt = await serveChild({ cwd: folder.path }, (args, options) =>
      startProcess(process.execPath, [join(folder.path, 'src/main.js'), ...args], options),
    )
    t.after(async () => {
      unbuilt.kill('SIGTERM')
      await unbuilt.exited
    })
    const page = await openPage(browser, unbuilt.url)
    await page.goto(unbuilt.url)
    await page.getByRole('heading', { name: 'The portal is not built yet' }).waitFor()
    await page.getByText('npm run build').waitFor()
    assert.deepEqual(await accessFaults(page), [])
    await picture(page, 'portal-not-built')
    assert.deepEqual(page.faults, [])
  })
})
