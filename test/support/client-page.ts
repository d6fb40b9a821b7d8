/** A client on another site than the portal: a page with links, and the addresses to which people come back. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ClientPage {
  /** The portal is at localhost, so this is another site to browsers. */
  readonly url: string
  readonly callback: string
  readonly afterLogout: string
  /** Every visit of the callback and of the page after a logout. */
  readonly visits: { readonly url: URL; readonly headers: IncomingHttpHeaders }[]
  close(): Promise<void>
}

/** The start page has a link to the address in its fragment. */
const start = `<!doctype html><title>Moodle</title><h1>Moodle</h1><a>Go</a>
<script>document.querySelector('a').href = decodeURIComponent(location.hash.slice(1))</script>`

export async function startClientPage(): Promise<ClientPage> {
  const visits: ClientPage['visits'] = []
  const server = createServer((request, reply) => {
    const url = new URL(request.url ?? '', 'http://127.0.0.1')
    const isReturn = ['/callback', '/bye'].includes(url.pathname)
    if (isReturn) visits.push({ url, headers: request.headers })
    reply.setHeader('Content-Type', 'text/html')
    reply.end(isReturn ? `<!doctype html><title>Moodle</title><h1>Welcome back</h1>` : start)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    callback: `${url}/callback`,
    afterLogout: `${url}/bye`,
    visits,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
