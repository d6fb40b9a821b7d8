/** Accessibility problems that axe finds on a page. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const atRest = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished)).then(() => {})`
// Every screen is judged as a whole in the light; in the dark only its colours differ.
const rules = `matchMedia('(prefers-color-scheme: dark)').matches && { runOnly: ['color-contrast', 'link-in-text-block'] }`
const run = `${atRest}.then(() => axe.run(document, { resultTypes: ['violations'], ...(${rules}) })).then(({ violations }) =>
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
