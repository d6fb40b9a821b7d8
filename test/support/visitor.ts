/** The portal as people use it: browser windows on the service's clock, and the first steps of many tests. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { closeAfterTest, type NotingPage, noteFaults } from './browser.ts'
import type { Service } from './service.ts'
import { eventually, patienceMs } from './wait.ts'

export interface Look {
  readonly colorScheme?: 'light' | 'dark'
  readonly locale?: string
  readonly width?: number
  readonly timezoneId?: string
  /** The service worker's requests pass by `page.route`, so only tests about it have one. */
  readonly serviceWorkers?: 'allow' | 'block'
}

/** A separate browser context without cookies or storage. It is closed when the test ends. */
export async function newVisitor(
  browser: Browser,
  {
    colorScheme = 'light',
    locale = 'en-GB',
    width = 1280,
    timezoneId = 'Europe/Lisbon',
    serviceWorkers = 'block',
  }: Look = {},
) {
  const visitor = await browser.newContext({
    colorScheme,
    locale,
    serviceWorkers,
    timezoneId,
    viewport: { width, height: 900 },
  })
  visitor.setDefaultTimeout(patienceMs)
  closeAfterTest(visitor)
  return visitor
}

/** Another tab of a visitor. It starts at the service's time, or so much off it, and runs on. */
export async function openTab(
  visitor: BrowserContext,
  service: Service,
  path = '/',
  clockOffMs = 0,
): Promise<NotingPage> {
  const page = await noteFaults(await visitor.newPage(), originOf(service))
  await page.clock.install({ time: service.clock.now() + clockOffMs })
  await page.goto(`${originOf(service)}${path}`)
  await scriptArrived(page)
  return page
}

/** Before that, the page shows a form without a script, and its buttons do nothing. */
export const scriptArrived = (page: Page): Promise<void> =>
  page.locator('.static').waitFor({ state: 'detached' })

/** Waits until the class list is stored for offline use. The cache exists before the list is in it. */
export async function listKept(page: Page): Promise<void> {
  const look = "caches.match('/last', { cacheName: 'chiron.last' }).then(Boolean)"
  await eventually('a kept list', () => page.evaluate<boolean>(look))
}

export const originOf = ({ url }: Service) => url.replace('127.0.0.1', 'localhost')

/** Fills in the first form; the code screen follows. */
export async function askForCode(page: Page, role: 'Veterinarian' | 'Student', email: string): Promise<void> {
  await page.getByRole('radio', { name: role }).check()
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('button', { name: 'Send me a code' }).click()
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
}

export const codeField = (page: Page) => page.getByRole('textbox', { name: 'Code' })

/** Signs in from the start page with the code of the nth mail to that address. */
export async function signIn(
  page: Page,
  service: Service,
  role: 'Veterinarian' | 'Student',
  email: string,
  nth = 1,
): Promise<void> {
  if (role === 'Veterinarian') await service.register(email)
  await askForCode(page, role, email)
  const { code } = await service.mail.mailTo(email, nth)
  await codeField(page).fill(String(code))
  await page.locator('.account').waitFor({ state: 'attached' })
}

/** On a phone the button is behind the avatar. */
export async function signOut(page: Page): Promise<void> {
  await page.locator('.account').waitFor({ state: 'attached' })
  const avatar = page.getByRole('button', { name: 'My account', exact: true })
  if (await avatar.isVisible()) await avatar.click()
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
}
