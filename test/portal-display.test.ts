/** The portal at 200 %, in forced colours, on a narrow phone and with long words. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import { overflow, picture } from './support/browser.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { type Look, newVisitor, openTab, signIn } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

const student = 'ada.byron@school.example'

suite('The portal’s display', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' }, students: ['idle'] },
  )
  const visit = async (look: Look = {}, path = '/') => openTab(await newVisitor(browser, look), service, path)
  const mailsTo = (address: string) =>
    service.mail.received.filter(({ to }) => to.toLowerCase() === address).length

  test('At 200 % nothing peeks out or is cut off, and the skip link shows only with the focus', async () => {
    const page = await visit({ width: 640 })
    await signIn(page, service, 'Student', student, mailsTo(student) + 1)
    await page.getByRole('heading', { name: 'Good morning, Addie' }).waitFor()
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    const skip = page.getByRole('button', { name: 'Skip to the content' })
    const box = async () => (await skip.boundingBox())!
    assert.ok((await box()).width <= 2)
    assert.equal(await overflow(page, 640), 0)
    assert.deepEqual(await accessFaults(page), [])
    await picture(page, 'portal-200')
    await skip.focus()
    assert.ok((await box()).width > 50)
  })

  test('With forced colours today’s line, the choice and the current place can still be seen', async () => {
    const visitor = await browser.newContext({
      forcedColors: 'active',
      locale: 'en-GB',
      serviceWorkers: 'block',
    })
    const page = await openTab(visitor, service)
    await signIn(page, service, 'Student', student, mailsTo(student) + 1)
    const line = page.locator('.track .today').first()
    await line.waitFor()
    const colours = (selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`)
    assert.notEqual(await colours('.track .today'), await colours('body'))
    assert.notEqual(await colours('.track .today'), await colours('.now .track .length'))
    await picture(page, 'portal-forced-colours')
    await visitor.close()
  })

  test('Spanish tabs stand in one row on a phone', async () => {
    const page = await visit({ locale: 'es-ES', width: 360 })
    await page.getByRole('radio', { name: 'Estudiante' }).check()
    await page.getByLabel('Correo electrónico').fill(student)
    const nth = mailsTo(student) + 1
    await page.getByRole('button', { name: 'Enviarme un código' }).click()
    await page.getByLabel('Código').fill(String((await service.mail.mailTo(student, nth)).code))
    const tabs = page.locator('.bar > nav a')
    await eventually('the tabs', async () => (await tabs.count()) === 3)
    const boxes = await Promise.all((await tabs.all()).map((tab) => tab.boundingBox()))
    assert.equal(new Set(boxes.map((box) => box!.y)).size, 1)
  })

  test('On a phone held across, the school’s name keeps clear of the tabs', async () => {
    const page = await visit({ width: 740 })
    await signIn(page, service, 'Student', student, mailsTo(student) + 1)
    await page.evaluate('document.querySelector(".brand").lastChild.textContent = "Northgate School"')
    const name = await page.evaluate<{ right: number; bottom: number }>(
      '(() => { const all = document.createRange(); all.selectNodeContents(document.querySelector(".brand")); return all.getBoundingClientRect().toJSON() })()',
    )
    for (const links of ['.bar > nav a', '.account a']) {
      const first = (await page.locator(links).first().boundingBox())!
      assert.ok(first.y >= name.bottom || first.x - name.right >= 8, links)
    }
  })

  test('Addresses break after @ and dots, and the footer’s rule is as wide as the page’s text', async () => {
    const page = await visit({ width: 360 })
    await signIn(page, service, 'Veterinarian', `a-rather-long-name.${freshAddress('wraps')}`)
    const broken = await page
      .getByRole('main')
      .locator('.address')
      .first()
      .evaluate((one) => [...one.childNodes].map((node) => node.textContent).filter(Boolean))
    for (const part of broken.slice(0, -1)) assert.match(part!, /[@.]$/)
    const [heading, foot] = await Promise.all(
      ['h1', '.foot'].map(async (selector) => (await page.locator(selector).boundingBox())!),
    )
    assert.equal(heading!.x, foot!.x)
    assert.equal(heading!.x + heading!.width, foot!.x + foot!.width)
  })
})
