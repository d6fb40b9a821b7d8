/** A real Chromium from the machine. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { getTestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { headlessShell, programOf } from './install.ts'
import { eventually, patienceMs } from './wait.ts'

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const pictures = fileURLToPath(new URL('../output/', import.meta.url))

export const viewports = [
  { width: 360, height: 740 },
  { width: 1280, height: 900 },
] as const

export async function startBrowser(): Promise<Browser> {
  const executablePath = headlessShell() ?? programOf('chromium')
  return chromium.launch({ executablePath, args: flags })
}

/** A browser with a folder of its own, in which it leaves what it would on a desk. */
export function startProfile(folder: string): Promise<BrowserContext> {
  const executablePath = programOf('chromium')
  return chromium.launchPersistentContext(folder, { executablePath, args: flags, locale: 'en-GB' })
}

export type NotingPage = Page & { faults: string[] }

/** Open pages go on asking, so they are closed when the test ends. */
export function closeAfterTest(opened: Page | BrowserContext): void {
  const test = getTestContext()
  if (test && 'after' in test) test.after(() => opened.close())
}

/** A page that records errors and requests to other hosts. It is closed when the test ends. */
export async function openPage(browser: Browser, origin: string): Promise<NotingPage> {
  const page = await browser.newPage({ viewport: viewports[1] })
  closeAfterTest(page)
  return noteFaults(page, origin)
}

export async function noteFaults(page: Page, origin: string): Promise<NotingPage> {
  page.setDefaultTimeout(patienceMs)
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(origin) && !url.startsWith('data:')) faults.push(`foreign: ${url}`)
  })
  page.on('response', (reply) => {
    if (reply.status() >= 400) faults.push(`${reply.status()}: ${reply.url()}`)
  })
  await page.exposeFunction('noteFault', (text: string) => void faults.push(text))
  await page.addInitScript(
    "addEventListener('securitypolicyviolation', (e) => noteFault('policy: ' + e.violatedDirective + ' ' + e.blockedURI))",
  )
  return Object.assign(page, { faults })
}

/** Screenshots for people to look at, in every size, with `npm test -- --pictures`. */
export async function picture(page: Page, name: string): Promise<void> {
  if (process.env.CHIRON_TEST_PICTURES === undefined) return
  mkdirSync(pictures, { recursive: true })
  for (const viewport of viewports) {
    await page.setViewportSize(viewport)
    await page.screenshot({ path: join(pictures, `${name}-${viewport.width}x${viewport.height}.png`) })
  }
}

/** By how many pixels the page is wider than the window. */
export async function overflow(page: Page, width: number): Promise<number> {
  await page.setViewportSize({ width, height: 740 })
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')
}

/** What has the focus, as one reads it. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(
    '(document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "").trim()',
  )

/** Waits until this has the focus: some screens move it with the next frame. */
export async function focusOn(page: Page, name: string): Promise<void> {
  await eventually(`focus on ${name}`, async () => (await focused(page)) === name)
}

/** The first Tab on a page. Until it has painted the page, the browser ignores keys. */
export async function firstTab(page: Page): Promise<void> {
  await eventually('a key is heard', async () => {
    await page.keyboard.press('Tab')
    return page.evaluate<boolean>('document.activeElement !== document.body')
  })
}
