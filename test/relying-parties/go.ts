/** Programs in Go: one made with go-oidc, and oauth2-proxy. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { startProcess } from '../support/child.ts'
import { browse } from '../support/relying-parties.ts'
import { sampleIn } from '../support/samples.ts'
import { email, type Party, type World, works } from './world.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const proxy = process.env.OAUTH2_PROXY ?? 'oauth2-proxy'

async function goOidc({ service, cookie, newSite }: World): Promise<void> {
  const { env, client } = await newSite('/callback')
  const child = spawn('go', ['run', '.'], {
    cwd: here,
    env: { ...process.env, ...env, REDIRECT_URI: client.redirectUri, GOTOOLCHAIN: 'auto' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const said = textOf(child.stderr)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { value: url } = await lines.next()
  if (!url) throw new Error(await said)
  child.stdin.write(`${await browse(service, new URL(url), { cookie })}\n`)
  const { value: hello } = await lines.next()
  child.stdin.end()
  if (hello !== `Hello ${email}`) throw new Error(await said)
}

/** In front of a page that shows the headers that it gets. */
async function oauth2Proxy({ folder, service, newSite, visits }: World): Promise<void> {
  const site = await newSite('/oauth2/callback')
  const page = createServer((request, response) =>
    response.end(`Hello ${request.headers['x-forwarded-email']}`),
  )
  page.listen(0, '127.0.0.1')
  await once(page, 'listening')
  const file = join(folder, 'oauth2-proxy.cfg')
  const settings = sampleIn('docs/applications.md', 'toml')
    .replace('https://access.example.org', service.url)
    .replaceAll('https://www.example.org', site.home)
    .replace('127.0.0.1:4180', new URL(site.home).host)
    .replace('http://127.0.0.1:8080/', `http://127.0.0.1:${(page.address() as AddressInfo).port}/`)
    .replace('CLIENT_ID', site.client.id)
    .replace('CLIENT_SECRET', site.client.secret!)
    .replace('32_RANDOM_CHARACTERS', 'a'.repeat(32))
  // It is not behind https here.
  writeFileSync(file, `${settings}\ncookie_secure = false\n`)
  const child = startProcess(proxy, ['--config', file], {})
  try {
    await visits(site, child, {
      path: '/oauth2/start',
      shown: `Hello ${email}`,
      cancelled: 'returned an error: access_denied',
    })
  } finally {
    page.close()
  }
}

export const goParties: Record<string, Party> = {
  'go-oidc': { isThere: () => works('go', 'version'), signIn: goOidc },
  'oauth2-proxy': { isThere: () => works(proxy, '--version'), signIn: oauth2Proxy },
}
