/** Accessibility problems that axe finds on a page. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { overflow, picture } from './browser.ts'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const atRest = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished)).then(() => {})`
// Every screen is judged as a whole in the light; in the dark only its colours differ.
const rules = `matchMedia('(prefers-color-scheme: dark)').matches && { runOnly: ['color-contrast', 'link-in-text-block'] }`
const run = `${atRest}.then(() => axe.run(document, { resultTypes: ['violations'], preload: false, ...(${rules}) })).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' at ' + target + ': ' + failureSummary)))`

/** Colours that are still changing are not to be judged. */
export const coloursSettle = (page: Page): Promise<void> => page.evaluate<void>(atRest)

export async function accessFaults(page: Page): Promise<string[]> {
  // Through the debugger, because the page's policy blocks foreign scripts.
  const debug = await page.context().newCDPSession(page)
  const { result: there } = await debug.send('Runtime.evaluate', { expression: 'typeof axe' })
  if (there.value === 'undefined') await debug.send('Runtime.evaluate', { expression: source })
  const { result } = await debug.send('Runtime.evaluate', {
    expression: run,
    awaitPromise: true,
    returnByValue: true,
  })
  await debug.detach()
  return result.value
}

/**
 * Asserts that a screen has no accessibility faults and fits into the window. Dark mode differs only in its colours, so it
 * is checked at the first width alone.
 */
export async function assertFit(page: Page, name: string, ...widths: number[]): Promise<void> {
  for (const [colorScheme, judged] of [
    ['light', widths],
    ['dark', widths.slice(0, 1)],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await picture(page, `${name}-${colorScheme}`)
    for (const width of judged) {
      const where = `${name} at ${width} px, ${colorScheme}`
      assert.equal(await overflow(page, width), 0, where)
      assert.deepEqual(await accessFaults(page), [], where)
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
}
