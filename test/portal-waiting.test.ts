/** The code screen: going on after the tab was closed, its help, and its progress. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { accessFaults, assertFit } from './support/axe.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { everyLanguage, portalText } from './support/texts.ts'
import { askForCode, codeField, newVisitor, openTab, originOf, signIn } from './support/visitor.ts'

const minute = 60_000
const student = 'idle@school.example'
const offer = 'Enter the code sent to i…@…'

suite('A code that waits', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' }, students: ['idle'] },
  )
  const mails = () => service.mail.received.filter(({ to }) => to === student).length
  /** Asks for a code and closes the tab. Returns the code. */
  const leave = async (visitor: BrowserContext) => {
    const before = mails()
    const page = await openTab(visitor, service)
    await askForCode(page, 'Student', student)
    const { code } = await service.mail.mailTo(student, before + 1)
    await page.close()
    return String(code)
  }
  const offered = (page: Page) => page.getByRole('button', { name: offer })
  const kept = (page: Page) =>
    page.evaluate<string>('JSON.stringify({ ...localStorage, ...sessionStorage, ...history.state })')
  const ready = (page: Page) => page.getByRole('button', { name: 'Send me a code' }).waitFor()

  test('Whoever closes the tab to read the mail goes on in a new one, with the address and the code', async () => {
    const visitor = await newVisitor(browser)
    const code = await leave(visitor)
    const page = await openTab(visitor, service)
    await offered(page).waitFor()
    assert.doesNotMatch(await kept(page), /idle|school\.example/)
    assert.doesNotMatch(await kept(page), new RegExp(code))
    await assertFit(page, 'portal-waiting', 320, 1280)
    await offered(page).click()
    await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
    const address = page.getByLabel('E-mail address')
    await address.fill('somebody@school.example')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('The code was sent to another address: i…@…').waitFor()
    await assertFit(page, 'portal-waiting-address', 320, 1280)
    await address.fill(student)
    await page.getByRole('button', { name: 'Continue' }).click()
    await codeField(page).fill(code)
    await page.locator('.account').waitFor({ state: 'attached' })
    assert.doesNotMatch(await kept(page), /waiting/)
    assert.deepEqual(page.faults, [])
  })

  test('It is offered for ten minutes, and not after “Use another address”, here or there', async () => {
    const visitor = await newVisitor(browser)
    await leave(visitor)
    const page = await openTab(visitor, service)
    await offered(page).waitFor()
    service.clock.advance(10 * minute)
    await page.clock.fastForward(10 * minute)
    await offered(page).waitFor({ state: 'detached' })
    await page.reload()
    await ready(page)
    assert.doesNotMatch(await kept(page), /waiting/)
    await page.close()

    await leave(visitor)
    const second = await openTab(visitor, service)
    await second.getByRole('region', { name: 'A code is on its way to you' }).getByText('Use another').click()
    assert.equal(await offered(second).count(), 0)
    assert.doesNotMatch(await kept(second), /waiting/)
    await askForCode(second, 'Student', student)
    await second.getByRole('link', { name: 'Use another address' }).click()
    await ready(second)
    assert.equal(await offered(second).count(), 0)
    await second.goBack()
    await codeField(second).waitFor()
  })

  test('On a shared computer nothing is offered to the next person', async () => {
    const visitor = await newVisitor(browser)
    const page = await openTab(visitor, service)
    await page.getByRole('checkbox', { name: 'This is a shared computer' }).check()
    await askForCode(page, 'Student', student)
    await page.close()
    const next = await openTab(visitor, service)
    await ready(next)
    assert.equal(await offered(next).count(), 0)
  })

  const providers: [address: string, name: string | null, url?: string][] = [
    ['ada@gmail.com', 'Gmail', 'https://mail.google.com/mail/'],
    ['ada@GoogleMail.com', 'Gmail', 'https://mail.google.com/mail/'],
    ['ada@outlook.com', 'Outlook', 'https://outlook.live.com/mail/'],
    ['ada@hotmail.co.uk', 'Outlook', 'https://outlook.live.com/mail/'],
    ['ada@live.fr', 'Outlook', 'https://outlook.live.com/mail/'],
    ['ada@gmail.com.example', null],
    ['ada@alive.fr', null],
  ]
  test('The code screen says the role, where else to look, and opens the mail of large providers', async () => {
    const page = await openTab(await newVisitor(browser), service)
    for (const [address, name, url] of providers) {
      await page.goto(`${originOf(service)}/#/`)
      await askForCode(page, 'Veterinarian', address)
      await page.getByText('You are signing in as a veterinarian.').waitFor()
      await page.getByText('No mail after a minute? Look in your spam folder.').waitFor()
      const link = page.getByRole('link', { name: /^Open / })
      assert.equal(await link.count(), name ? 1 : 0, address)
      if (!name) continue
      assert.equal(await link.innerText(), `Open ${name}`)
      assert.equal(await link.getAttribute('href'), url)
      assert.match((await link.getAttribute('rel'))!, /noopener noreferrer/)
    }
    assert.deepEqual(await accessFaults(page), [])
  })

  test('While a code is checked the screen says so, and nothing moves', async () => {
    const page = await openTab(await newVisitor(browser), service)
    await askForCode(page, 'Veterinarian', freshAddress('progress'))
    const places = async () =>
      Promise.all(
        ['Sign in', 'Send it again'].map(async (name) => {
          const { x, y } = (await page.getByRole('button', { name }).boundingBox())!
          return [x, y]
        }),
      )
    const replies: (() => void)[] = []
    await page.route('**/validate-otp', async (route) => {
      await new Promise<void>((resolve) => replies.push(resolve))
      await route.continue()
    })
    const answer = async (left: number) => {
      const before = await places()
      await codeField(page).fill('')
      await codeField(page).fill('123456')
      await page.getByText('Checking the code…').waitFor()
      await page.locator('.button.main[aria-busy=true]').waitFor()
      assert.equal(await page.locator('[aria-busy=true]').count(), 1)
      assert.deepEqual(await places(), before)
      assert.deepEqual(await accessFaults(page), [])
      replies.pop()!()
      await page.getByText(`${left} attempts left`).waitFor()
      assert.equal(await page.getByText('Checking the code…').count(), 0)
    }
    await answer(4)
    await answer(3)
  })

  test('The picture stays where it is from page to page, and keeps away from the footer', async () => {
    const page = await openTab(await newVisitor(browser), service)
    const sky = page.locator('.sky')
    const look = async () => {
      const [{ y, height }, foot] = [(await sky.boundingBox())!, (await page.locator('.foot').boundingBox())!]
      assert.ok(foot.y - (y + height) >= 16)
      return [y, height]
    }
    await ready(page)
    const first = await look()
    await page.getByRole('link', { name: 'Register as a veterinarian' }).click()
    await page.getByRole('heading', { name: 'Register' }).waitFor()
    assert.deepEqual(await look(), first)
    await page.goBack()
    await askForCode(page, 'Student', student)
    assert.deepEqual(await look(), first)
    await page.setViewportSize({ width: 1280, height: 500 })
    await look()
  })

  test('Devices are named in the reader’s language', async () => {
    for (const language of everyLanguage) {
      const email = freshAddress('device')
      const visitor = await newVisitor(browser)
      const page = await openTab(visitor, service)
      await signIn(page, service, 'Veterinarian', email)
      const agent = { 'user-agent': 'something else' }
      await service.post('/veterinarian/validate-otp', { email, ...(await answerOf(email)) }, agent)
      await page.getByLabel('Language').selectOption(language)
      await page.goto(`${originOf(service)}/#/sessions`)
      const { sessions } = await portalText(language)
      const headings = page.locator('.devices h2')
      await page.getByRole('heading', { name: sessions.unknownDevice }).waitFor()
      assert.match((await headings.allInnerTexts())[0]!, new RegExp(`^${sessions.deviceOn('\\w+', '\\w+')}`))
    }
  })
  const answerOf = async (email: string) => {
    const { code, sessionId } = await service.code(email)
    return { otp_code: code, sessionId }
  }
})
