/** The reference page at /docs: for everybody to read, and every call can be tried. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import { openPage, overflow, picture } from './support/browser.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { originOf } from './support/visitor.ts'

suite('The reference', inBrowser, () => {
  let service: Service
  let browser: Browser
  let origin: string
  portalOfSuite((parts) => {
    ;({ service, browser } = parts)
    origin = originOf(service)
  })

  test('/docs shows every call to everybody, and a call can be tried', async () => {
    const page = await openPage(browser, origin)
    await page.goto(`${origin}/docs`)
    const { paths } = (await service.request('/openapi.json')).json
    const calls = Object.values<object>(paths).flatMap((methods) => Object.keys(methods))
    assert.equal(await page.locator('details.operation').count(), calls.length)
    await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      assert.deepEqual(await accessFaults(page), [], colorScheme)
    }
    await page.reload()
    const operation = page.locator('#post-veterinarian-register')
    await operation.locator('summary').first().click()
    await picture(page, 'docs')
    await operation
      .getByLabel('Body')
      .fill(JSON.stringify({ firstname: 'Ada', lastname: 'Marsh', email: 'tried@vets.example' }))
    await operation.getByRole('button', { name: 'Send' }).click()
    await operation.getByText('202 Accepted').waitFor()
    await operation.getByText('"email": "tried@vets.example"').waitFor()
    await picture(page, 'docs-tried')
    assert.equal(await overflow(page, 360), 0)
    assert.deepEqual(page.faults, [])
  })

  test('/docs sends a whole sign-in: the token of the reply is used for the next call', async () => {
    const page = await openPage(browser, service.url)
    await page.goto(`${service.url}/docs`)
    const email = freshAddress('docs')
    await service.register(email)
    const { sessionId, code } = await service.code(email)
    const send = async (id: string, body?: object) => {
      const operation = page.locator(`#${id}`)
      await operation.locator('summary').first().click()
      if (body) await operation.getByLabel('Body').fill(JSON.stringify(body))
      await operation.getByRole('button', { name: 'Send' }).click()
      return operation.locator('.status')
    }
    await (await send('get-session')).getByText('401').waitFor()
    const answer = { email, sessionId, otp_code: code }
    await (await send('post-veterinarian-validate-otp', answer)).getByText('200').waitFor()
    await (await send('get-veterinarian-me')).getByText('200').waitFor()
    await page.getByText(`"email": "${email}"`).last().waitFor()
    assert.deepEqual(
      page.faults.filter((fault) => !/401/.test(fault)),
      [],
    )
  })
})
