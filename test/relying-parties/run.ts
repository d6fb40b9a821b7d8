/**
 * Programs that others wrote sign somebody in here: Authlib, go-oidc, Apache with mod_auth_openidc, JupyterHub. They are not
 * part of `npm test`, because they have to be installed:
 *
 *   python3 -m venv /tmp/venv && /tmp/venv/bin/pip install -r test/relying-parties/requirements.txt
 *   apt-get install apache2 libapache2-mod-auth-openidc; and Go, with the network once for its packages
 *   PYTHON=/tmp/venv/bin/python npx node test/relying-parties/run.ts
 *
 * Those that are missing are named and left out. Names as arguments choose among them.
 */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { addClient, type TestClient } from '../support/applications.ts'
import { cookieFor } from '../support/authorize.ts'
import { type Child, newFolder, startProcess } from '../support/child.ts'
import { freePort } from '../support/postgres.ts'
import { browse } from '../support/relying-parties.ts'
import { sampleIn } from '../support/samples.ts'
import { startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { wire } from '../support/wire.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const python = process.env.PYTHON ?? 'python3'
const email = 'ada@clinic.example'
const chosen = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)
const works = (command: string, ...args: string[]) => spawnSync(command, args).status === 0

const folder = newFolder()
const port = String(await freePort())
const service = await startService('sqlite', {
  env: { CHIRON_PORT: port, CHIRON_PUBLIC_URL: `http://127.0.0.1:${port}` },
})
service.clock.advance(Date.now() - service.clock.now())
const cookie = cookieFor(await service.signIn(email))

/** A browser with cookies, which goes through the portal's page when it is sent there. Gives the last page. */
function newBrowser() {
  const jar = new Map<string, string>()
  return async (start: string): Promise<string> => {
    let url = new URL(start)
    for (let i = 0; i < 15; i++) {
      if (url.href.startsWith(`${service.url}/oauth/authorize`)) {
        url = await browse(service, url, { cookie })
        continue
      }
      const cookies = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const headers = { cookie: cookies, accept: 'text/html', 'sec-fetch-mode': 'navigate' }
      const reply = await wire(url.origin, url.pathname + url.search, { headers })
      for (const line of reply.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        jar.set(name, value)
      }
      const location = reply.headers.get('location')
      if (location === null) return reply.text
      url = new URL(location, url)
    }
    throw new Error(`too many redirects, at last to ${url.origin}${url.pathname}`)
  }
}

interface Site {
  readonly home: string
  readonly client: TestClient
  readonly env: Record<string, string>
}

async function newSite(callback: string): Promise<Site> {
  const home = `http://127.0.0.1:${await freePort()}`
  const client = await addClient(service, { redirectUris: [home + callback] })
  const { id, secret } = client
  const env = { ISSUER: service.url, CLIENT_ID: id, CLIENT_SECRET: secret!, HOME_URL: home }
  return { home, client, env }
}

/** Visits a site once it listens, and expects to see `shown` there. */
async function visits(
  { home }: Site,
  child: Child,
  path: string,
  shown: string,
  log = () => child.output.err,
): Promise<void> {
  try {
    await eventually('it listens', () => fetch(home, { redirect: 'manual' }).catch(() => undefined))
    const page = await newBrowser()(home + path)
    if (!page.includes(shown)) throw new Error(`the page says: ${page.slice(0, 2_000)}`)
  } catch (error) {
    throw new Error(`${error}\n${log().slice(-3_000)}`)
  } finally {
    await child.end()
  }
}

async function authlib(): Promise<void> {
  const site = await newSite('/callback')
  const file = join(folder.path, 'web.py')
  const text = sampleIn('docs/applications.md', 'python', 'flask')
  writeFileSync(file, text.replace('8080', new URL(site.home).port))
  const child = startProcess(python, [file], { env: { ...site.env, APP_SECRET: 'of the application' } })
  await visits(site, child, '/', 'Hello Ada Marsh')
}

async function goOidc(): Promise<void> {
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

async function apache(): Promise<void> {
  const site = await newSite('/secure/redirect_uri')
  const file = join(folder.path, 'apache.conf')
  const settings = sampleIn('docs/applications.md', 'apache')
    .replace('https://access.example.org', service.url)
    .replace('https://www.example.org', site.home)
    .replace('CLIENT_ID', site.client.id)
    .replace('CLIENT_SECRET', site.client.secret!)
  const modules = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'alias', 'auth_openidc']
  const load = modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`)
  const [page, log] = [join(folder.path, 'page.html'), join(folder.path, 'error.log')]
  writeFileSync(page, 'the protected page')
  writeFileSync(
    file,
    [
      ...load,
      `ServerRoot ${folder.path}`,
      `PidFile ${folder.path}/apache.pid`,
      'ServerName 127.0.0.1',
      `Listen ${new URL(site.home).host}`,
      `ErrorLog ${log}`,
      `Alias /secure ${page}`,
      `<Directory ${folder.path}>\nRequire all granted\n</Directory>`,
      settings,
    ].join('\n'),
  )
  const child = startProcess('apache2', ['-X', '-f', file], { cwd: folder.path })
  await visits(site, child, '/secure', 'the protected page', () => readFileSync(log, 'utf8'))
}

async function jupyterHub(): Promise<void> {
  const site = await newSite('/hub/oauth_callback')
  const file = join(folder.path, 'jupyterhub_config.py')
  const settings = sampleIn('docs/applications.md', 'python', 'JupyterHub').replace(
    'https://hub.example.org',
    site.home,
  )
  writeFileSync(file, settings + readFileSync(join(here, 'hub.py'), 'utf8'))
  const child = startProcess(python, ['-m', 'jupyterhub', '-f', file], { cwd: folder.path, env: site.env })
  await visits(site, child, '/hub/oauth_login?next=%2Fhub%2Fhome', 'Logout')
}

const parties: Record<string, { isThere: () => boolean; signIn: () => Promise<void> }> = {
  Authlib: { isThere: () => works(python, '-c', 'import authlib, flask, requests'), signIn: authlib },
  'go-oidc': { isThere: () => works('go', 'version'), signIn: goOidc },
  mod_auth_openidc: {
    isThere: () => works('test', '-f', '/usr/lib/apache2/modules/mod_auth_openidc.so'),
    signIn: apache,
  },
  JupyterHub: { isThere: () => works(python, '-c', 'import jupyterhub, oauthenticator'), signIn: jupyterHub },
}
try {
  for (const [name, { isThere, signIn }] of Object.entries(parties)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    if (!isThere()) {
      say(`${name}: left out, not installed`)
      continue
    }
    try {
      await signIn()
      say(`${name}: works`)
    } catch (error) {
      say(`${name}: ${error}`)
      process.exitCode = 1
    }
  }
} finally {
  await service.stop()
  folder.remove()
}
