/** The service, a browser and a place for each program: what all relying parties of the script need. */
import { spawnSync } from 'node:child_process'
import { addClient, type ClientOptions, type TestClient } from '../support/applications.ts'
import { cookieFor } from '../support/authorize.ts'
import { type Child, newFolder } from '../support/child.ts'
import { freePort } from '../support/postgres.ts'
import { browse, type Decision } from '../support/relying-parties.ts'
import { startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { wire } from '../support/wire.ts'

export const email = 'ada@clinic.example'

export const works = (command: string, ...args: string[]) => spawnSync(command, args).status === 0

export interface Party {
  /** Whether everything is installed that it needs. */
  readonly isThere: () => boolean
  readonly signIn: (world: World) => Promise<void>
}

export type World = Awaited<ReturnType<typeof openWorld>>

export interface Site {
  readonly home: string
  readonly client: TestClient
  readonly env: Record<string, string>
}

/** What is shown where a sign-in begins: after it, and after somebody cancelled it. */
export interface Visit {
  readonly path: string
  readonly shown: string
  readonly cancelled: string
  readonly log?: () => string
}

export async function openWorld() {
  const folder = newFolder()
  const port = String(await freePort())
  const service = await startService('sqlite', {
    env: {
      CHIRON_PORT: port,
      CHIRON_PUBLIC_URL: `http://127.0.0.1:${port}`,
      CHIRON_WEBHOOK_ALLOW: '127.0.0.1',
    },
  })
  // The programs look at the real clock.
  const setClock = () => service.clock.advance(Date.now() - service.clock.now())
  setClock()
  const person = await service.signIn(email)
  const cookie = cookieFor(person)

  async function newSite(callback: string, options: ClientOptions = {}): Promise<Site> {
    setClock()
    const home = `http://127.0.0.1:${await freePort()}`
    const client = await addClient(service, { redirectUris: [home + callback], ...options })
    const { id, secret } = client
    const env = { ISSUER: service.url, CLIENT_ID: id, CLIENT_SECRET: secret!, HOME_URL: home }
    return { home, client, env }
  }

  /** Visits a site once it listens: somebody signs in, and somebody else cancels. */
  async function visits({ home }: Site, child: Child, visit: Visit): Promise<void> {
    const { path, shown, cancelled, log = () => child.output.err + child.output.out } = visit
    const look = async (decision: Decision, expected: string) => {
      const page = await newBrowser(decision).open(home + path)
      if (!page.includes(expected)) throw new Error(`no "${expected}" on the page: ${page.slice(0, 2_000)}`)
    }
    try {
      await eventually('it listens', () => fetch(home, { redirect: 'manual' }).catch(() => undefined))
      await look({}, shown)
      await look({ declined: true }, cancelled)
    } catch (error) {
      throw new Error(`${error}\n${log().slice(-3_000)}`)
    } finally {
      await child.end()
    }
  }

  /** With cookies of its own. Goes through the portal's page when it is sent there. */
  function newBrowser(decision: Decision = {}) {
    const jar = new Map<string, string>()

    async function ask(url: URL, form?: Readonly<Record<string, string>>) {
      const cookies = [...jar]
        .filter(([name]) => name.startsWith(`${url.host} `))
        .map(([name, value]) => `${name.split(' ')[1]}=${value}`)
      const headers = {
        cookie: cookies.join('; '),
        accept: 'text/html',
        'sec-fetch-mode': 'navigate',
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      }
      const sent = form && { method: 'POST', body: new URLSearchParams(form).toString() }
      const reply = await wire(url.origin, url.pathname + url.search, { headers, ...sent })
      for (const line of reply.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        jar.set(`${url.host} ${name}`, value)
      }
      return reply
    }

    /** The text of the last page. */
    async function open(start: string, form?: Readonly<Record<string, string>>): Promise<string> {
      let [url, fields] = [new URL(start), form]
      for (let i = 0; i < 15; i++) {
        if (url.href.startsWith(`${service.url}/oauth/authorize`)) {
          setClock()
          url = await browse(service, url, { cookie, ...decision })
          fields = undefined
          continue
        }
        const { text, headers } = await ask(url, fields)
        const location = headers.get('location')
        if (location === null) return text
        url = new URL(location, url)
        fields = undefined
      }
      throw new Error(`too many redirects, at last to ${url.origin}${url.pathname}`)
    }
    return { open }
  }

  const close = async () => {
    await service.stop()
    folder.remove()
  }
  return { folder: folder.path, service, person, cookie, setClock, newSite, newBrowser, visits, close }
}
