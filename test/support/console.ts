/** The console as staff use it. */
import type { Browser, Page } from 'playwright-core'
import type { Right } from '../../src/roles.ts'
import type { NotingPage } from './browser.ts'
import type { Service } from './service.ts'
import { addStaff } from './staff.ts'
import { type Look, newVisitor, openTab } from './visitor.ts'

export interface AtConsole {
  readonly page: NotingPage
  readonly email: string
  readonly userId: string
}

/** A new member of staff with these rights, signed in. */
export async function openConsole(
  browser: Browser,
  service: Service,
  may: readonly Right[],
  look: Look = {},
): Promise<AtConsole> {
  const member = await addStaff(service, may)
  const page = await openTab(await newVisitor(browser, look), service, '/console')
  await signInAtConsole(page, service, member.email)
  return { page, ...member }
}

/** In whatever language the page is. */
export async function signInAtConsole(page: Page, service: Service, email: string): Promise<void> {
  const mails = service.mail.received.filter(({ to }) => to === email).length
  await page.locator('input[type=email]').fill(email)
  await page.locator('form button[type=submit]').click()
  const { code } = await service.mail.mailTo(email, mails + 1)
  await page.locator('input.code').fill(String(code))
  await page.locator('header nav').waitFor()
}

/** Opens a place by its address, and waits until the page has heard of it. */
export async function place(page: Page, hash: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const hash = ${JSON.stringify(hash)}
    if (location.hash === hash) return resolve()
    addEventListener('hashchange', () => resolve(), { once: true })
    location.hash = hash
  })`)
}

export const dialog = (page: Page) => page.getByRole('dialog')
