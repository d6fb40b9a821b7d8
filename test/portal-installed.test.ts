/** The portal as an installed application: manifest, icons, use without a network, updates, and what stays on a device. */
import assert from 'node:assert/strict'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { accessFaults } from './support/axe.ts'
import { picture } from './support/browser.ts'
import { inBrowser } from './support/engines.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import type { Service } from './support/service.ts'
import { listKept, newVisitor, openTab, signIn, signOut } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

const student = 'ada.byron@school.example'

suite('The installed portal', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: { CHIRON_LIMITS: 'off' }, students: ['idle'] },
  )

  const mails = () => service.mail.received.filter(({ to }) => to.toLowerCase() === student).length
  const caches = (page: Page) => page.evaluate<string[]>('caches.keys()')

  /** Signed in, with the worker in charge and its files at hand. */
  async function installed(at = service): Promise<{ visitor: BrowserContext; page: Page }> {
    const visitor = await newVisitor(browser, { serviceWorkers: 'allow' })
    const page = await openTab(visitor, at)
    await signIn(page, at, 'Student', student, mails() + 1)
    await page.getByRole('link', { name: 'Equine rotation' }).first().waitFor()
    await page.evaluate('navigator.serviceWorker.ready')
    await listKept(page)
    assert.deepEqual(page.faults, [])
    return { visitor, page }
  }

  test('A browser finds nothing wrong with the manifest, and its icons have the sizes that it states', async () => {
    const page = await openTab(await newVisitor(browser), service)
    const debug = await page.context().newCDPSession(page)
    const { errors, url } = await debug.send('Page.getAppManifest')
    assert.deepEqual(errors, [])
    const manifest = (await service.request(new URL(url).pathname)).json
    assert.equal(manifest.display, 'standalone')
    assert.ok(manifest.icons.some(({ purpose }: { purpose?: string }) => purpose === 'maskable'))
    for (const { src, sizes } of manifest.icons) {
      if (sizes === 'any') continue
      const [width, height] = sizes.split('x').map(Number)
      const size = await page.evaluate<number[]>(
        `fetch(${JSON.stringify(src)}).then((reply) => reply.blob()).then(createImageBitmap)
          .then(({ width, height }) => [width, height])`,
      )
      assert.deepEqual(size, [width, height], src)
    }
    assert.equal((await service.request('/assets/apple-touch-icon.png')).status, 200)
    const { installabilityErrors } = await debug.send('Page.getInstallabilityErrors')
    assert.deepEqual(
      installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito'),
      [],
    )
  })

  test('Nothing is kept for visitors who have not signed in', async () => {
    const page = await openTab(await newVisitor(browser, { serviceWorkers: 'allow' }), service)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.equal(
      await page.evaluate('navigator.serviceWorker.getRegistrations().then((all) => all.length)'),
      0,
    )
    assert.deepEqual(await caches(page), [])
  })

  test('Without a network the last class list is shown with its time, and renewed by itself when there is one', async () => {
    const { visitor, page } = await installed()
    await visitor.setOffline(true)
    await page.reload()
    await page.getByRole('link', { name: 'Equine rotation' }).first().waitFor()
    await page.getByText('You are offline.').waitFor()
    await page.getByText(/^As of \d+:\d\d/).waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    await page.getByRole('link', { name: 'Equine rotation' }).first().click()
    await page.getByRole('heading', { name: 'Equine rotation' }).waitFor()
    await page.goBack()
    await page.getByText(/^As of/).waitFor()
    assert.deepEqual(await accessFaults(page), [])
    await picture(page, 'portal-offline-list')
    await visitor.setOffline(false)
    await page.getByText(/^As of/).waitFor({ state: 'detached' })
    assert.equal(await page.getByText('You are offline.').count(), 0)
    await visitor.close()
  })

  test('After sign-out nothing of the list is left, in every tab, with and without a network', async () => {
    const { visitor, page } = await installed()
    const other = await openTab(visitor, service)
    await other.getByRole('link', { name: 'Equine rotation' }).first().waitFor()
    await signOut(page)
    await page.getByText('You have signed out.').waitFor()
    await other.getByText('You signed out in another window.').waitFor()
    await eventually('it is gone', async () => !(await caches(page)).includes('chiron.last'))
    await visitor.setOffline(true)
    for (const tab of [page, other]) {
      await tab.reload()
      await tab.getByRole('heading', { name: 'Sign in' }).waitFor()
      assert.equal(await tab.getByText('Equine').count(), 0)
    }
    const kept = await page.evaluate<string>(`(async () => {
      const replies = []
      for (const name of await caches.keys())
        for (const request of await (await caches.open(name)).keys())
          replies.push(request.url + await (await caches.match(request)).text())
      return replies.join('') + JSON.stringify({ ...localStorage })
    })()`)
    assert.doesNotMatch(kept, /Equine|Byron|S100/)
    await visitor.close()
  })

  test('Signing out without a network erases the list, although the service does not hear of it', async () => {
    const { visitor, page } = await installed()
    await visitor.setOffline(true)
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByText('The service cannot be reached.').waitFor()
    assert.ok(!(await caches(page)).includes('chiron.last'))
    await page.reload()
    await page.getByText('The service cannot be reached.').waitFor()
    assert.equal(await page.getByText('Equine').count(), 0)
    await visitor.close()
  })

  test('A session that was ended elsewhere takes the list with it when there is a network again', async () => {
    const { visitor, page } = await installed()
    await visitor.setOffline(true)
    await page.reload()
    await page.getByText(/^As of/).waitFor()
    const db = service.app.parts.db
    await db.run("update session set ended_at = 1, end_reason = 'revoked' where ended_at is null")
    await visitor.setOffline(false)
    await page.getByText('Your session has ended.').waitFor()
    await eventually('it is gone', async () => !(await caches(page)).includes('chiron.last'))
    await visitor.close()
  })

  test('A new version is shown at the next load, and the old one’s files are removed', async (t) => {
    const deployed = await deployment(service)
    t.after(deployed.close)
    const { visitor, page } = await installed({ ...service, url: deployed.url })
    const shells = async () => (await caches(page)).filter((name) => name.startsWith('chiron.shell.'))
    const [before] = await shells()
    deployed.update()
    await page.reload()
    assert.equal(await page.locator('body[data-next]').count(), 1)
    await page.getByRole('link', { name: 'Equine rotation' }).first().waitFor()
    await eventually('only the new files', async () => {
      const [now, more] = await shells()
      return more === undefined && now !== before
    })
    await visitor.setOffline(true)
    await page.reload()
    await page.getByText(/^As of/).waitFor()
    assert.equal(await page.locator('body[data-next]').count(), 1)
    await visitor.close()
  })
})

/** The service behind a proxy that can change the portal's files, as a new version would. */
async function deployment(service: Service) {
  let isNext = false
  const changes: Record<string, [from: RegExp, to: string]> = {
    '/worker.js': [/"version":"[^"]+"/, '"version":"next"'],
    '/': [/<body>/, '<body data-next>'],
  }
  const proxy = createServer((incoming, outgoing) => {
    const { method, url = '/', headers } = incoming
    const change = isNext ? changes[url] : undefined
    const { 'if-none-match': _tag, 'if-modified-since': _since, ...others } = headers
    const plain = { ...others, 'accept-encoding': 'identity' }
    const onward = request(`${service.url}${url}`, { method, headers: plain }, (reply) => {
      const { 'content-length': _, ...rest } = reply.headers
      outgoing.writeHead(reply.statusCode!, rest)
      if (change) text(reply).then((body) => outgoing.end(body.replace(...change)))
      else reply.pipe(outgoing)
    })
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    update: () => {
      isNext = true
    },
    close: () => {
      proxy.close()
      proxy.closeAllConnections()
    },
  }
}
