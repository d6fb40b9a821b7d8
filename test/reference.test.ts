/** The reference page at /docs: for everybody to read, and every call can be tried. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import type { Browser, Locator } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import { openPage, overflow, picture } from './support/browser.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { originOf } from './support/visitor.ts'
import { eventually, soon } from './support/wait.ts'

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

  test('/docs has every call at the side, which leads to it and opens it', async () => {
    const page = await openPage(browser, origin)
    await page.goto(`${origin}/docs`)
    const side = page.getByRole('navigation', { name: 'Calls' })
    const calls = await page.locator('details.operation').count()
    assert.equal(await side.getByRole('link', { name: /^(GET|POST|PATCH|PUT|DELETE) / }).count(), calls)
    await side.getByRole('link', { name: 'GET /session', exact: true }).click()
    await page.locator('#get-session[open]').waitFor()
    await page.getByRole('button', { name: 'Send GET /session', exact: true }).waitFor()
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    assert.ok(await side.getByRole('link').first().isVisible(), 'it stays in sight')
    await page.setViewportSize({ width: 320, height: 640 })
    await page.reload()
    const first = side.getByRole('link', { name: 'POST /veterinarian/register' })
    assert.equal(await first.isVisible(), false, 'closed on a phone')
    await page.getByText('All calls').click()
    await first.click()
    await first.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Send POST /veterinarian/register' }).waitFor()
    assert.equal(await overflow(page, 320), 0)
    assert.deepEqual(page.faults, [])
  })

  test('/docs finds calls by words of path and text, and a link to a call that is hidden shows it', async () => {
    const page = await openPage(browser, origin)
    await page.goto(`${origin}/docs`)
    const shown = async () => {
      const ids = await page
        .locator('details.operation:visible')
        .evaluateAll((all) => all.map(({ id }) => id))
      const links = await page.locator('.side li li:visible').count()
      assert.equal(links, ids.length)
      return ids
    }
    const all = (await shown()).length
    // Until it has painted the page, the browser ignores keys.
    await eventually('a key is heard', async () => {
      await page.keyboard.press('/')
      return page.evaluate<boolean>("document.activeElement.id === 'find'")
    })
    await page.keyboard.type('card student')
    assert.deepEqual(await shown(), ['get-student-me-card'])
    assert.equal(await page.getByRole('status').first().innerText(), '1 call')
    await page.locator('#find').fill('no such thing')
    assert.deepEqual(await shown(), [])
    assert.deepEqual(await accessFaults(page), [])
    await page.evaluate("location.hash = '#get-session'")
    await page.getByRole('button', { name: 'Send GET /session', exact: true }).waitFor()
    assert.equal((await shown()).length, all)
  })

  test('/docs shows each call as a curl command that works, with what was typed and without the token', async () => {
    const page = await openPage(browser, origin)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(`${origin}/docs`)
    const open = async (id: string) => {
      await page.locator(`#${id} summary`).first().click()
      await page.locator(`#${id} .command`).waitFor()
      return page.locator(`#${id}`)
    }
    const command = (operation: Locator) => operation.getByLabel('As a curl command')
    const register = await open('post-veterinarian-register')
    const names = { firstname: 'Ada', lastname: "O'Neill", email: 'curl@vets.example' }
    await register.getByLabel('Body').fill(JSON.stringify(names, null, 2))
    await register.getByRole('button', { name: 'Copy the command' }).click()
    const copied = await command(register).innerText()
    await soon(() => page.evaluate<string>('navigator.clipboard.readText()'), copied)
    const { stdout } = await promisify(execFile)('sh', ['-c', copied])
    assert.equal(JSON.parse(stdout).email, names.email)

    await page.getByLabel('Access token').fill('very-secret')
    const me = await open('get-veterinarian-me-classes')
    await me.getByLabel('when').selectOption('past')
    assert.equal(
      await command(me).innerText(),
      `curl '${origin}/veterinarian/me/classes?when=past' \\\n  -H "Authorization: Bearer $TOKEN"`,
    )
    const plan = await open('post-staff-roster-plans')
    assert.match(
      await command(plan).innerText(),
      /-H 'content-type: application\/zip' \\\n {2}--data-binary @FILE$/,
    )
    await page.setViewportSize({ width: 1440, height: 900 })
    const [form, beside] = [await me.locator('form').boundingBox(), await command(me).boundingBox()]
    assert.ok(form!.x + form!.width <= beside!.x, 'beside the form')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      assert.deepEqual(await accessFaults(page), [], colorScheme)
    }
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
