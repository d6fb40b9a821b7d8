/** A client on another site than the portal: a page with links, and the addresses to which people come back. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface ClientPage {
  /** The portal is at localhost, so this is another site to browsers. */
  readonly url: string
  readonly callback: string
  readonly afterLogout: string
  /** Every visit of the callback and of the page after a logout. */
  readonly visits: { readonly url: URL; readonly headers: IncomingHttpHeaders; readonly body: string }[]
  close(): Promise<void>
}

/** The start page has a link to the address in its fragment, and a form that posts the parameters of that address. */
const start = `<!doctype html><meta charset="utf-8"><title>Moodle</title><h1>Moodle</h1><a>Go</a><form method="post"><button>Post</button></form>
<script>
  const to = new URL(decodeURIComponent(location.hash.slice(1)))
  document.querySelector('a').href = to
  const form = document.querySelector('form')
  form.action = to.origin + to.pathname
  for (const [name, value] of to.searchParams)
    form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }))
</script>`

export async function startClientPage(): Promise<ClientPage> {
  const visits: ClientPage['visits'] = []
  const server = createServer(async (request, reply) => {
    const url = new URL(request.url ?? '', 'http://127.0.0.1')
    const isReturn = ['/callback', '/bye'].includes(url.pathname)
    const body = await text(request)
    if (isReturn) visits.push({ url, headers: request.headers, body })
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
