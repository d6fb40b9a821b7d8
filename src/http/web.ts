/**
 * Serves the built portal and console (web/dist). The public page of a veterinarian is the portal’s document with its
 * own title.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply } from 'fastify'
import { AppError, errorKinds } from '../errors.ts'
import { escapeHtml } from '../lib/html.ts'
import { routeConfig } from './access.ts'
import { pageContentPolicy } from './headers.ts'
import { html, staticFile } from './pages.ts'

const built = fileURLToPath(new URL('../../web/dist/', import.meta.url))
const files = `${built}web/`
const noindex = '<meta name="robots" content="noindex">\n'
const schoolLine = 'The access service of the veterinary school: sign in with a code sent to your e-mail.'

export interface WebDeps {
  readonly log: Pick<FastifyBaseLogger, 'warn'>
  readonly mailbox: boolean
  readonly publicUrl: string
  publicProfile(userId: string): Promise<PublicProfile>
}

interface PublicProfile {
  readonly firstname: string
  readonly lastname: string
  readonly verified_at: number | null
}

interface About {
  readonly title: string
  readonly description: string
  readonly more?: string
}

export function webRoutes(app: FastifyInstance, { log, mailbox, publicUrl, publicProfile }: WebDeps): void {
  const frame = frameIn('index.html')
  const consoleFrame = frameIn('console.html')
  const options = { config: routeConfig({ access: 'public' }), schema: { hide: true } }

  const send = (reply: FastifyReply, about: About, document = frame) => {
    const head = `<title>${escapeHtml(about.title)}</title>
<meta name="description" content="${escapeHtml(about.description)}">
${about.more ?? ''}${mailbox ? '<meta name="mailbox" content="/mailbox">' : ''}`
    return (
      reply
        .headers({ 'Content-Security-Policy': pageContentPolicy, 'Cache-Control': 'no-cache' })
        .type('text/html; charset=utf-8')
        // A function, because `$` in a replacement string is a pattern and names may contain it.
        .send(document.replace('<!-- head -->', () => head))
    )
  }

  app.get('/', options, (_request, reply) => send(reply, { title: 'Chiron', description: schoolLine }))

  app.get('/console', options, (_request, reply) => {
    const about = { title: 'Chiron console', description: 'For the staff of the school.', more: noindex }
    return send(reply.header('X-Robots-Tag', 'noindex'), about, consoleFrame)
  })

  app.get('/v/:userId', options, async (request, reply) => {
    const { userId } = request.params as { userId: string }
    // Anybody can register under any name, so search engines must not list it.
    reply.header('X-Robots-Tag', 'noindex')
    try {
      return send(reply, profileHead(await publicProfile(userId), `${publicUrl}/v/${userId}`))
    } catch (error) {
      // The portal shows the error itself and tries again.
      const code = error instanceof AppError ? error.code : 'internal-error'
      if (code !== 'not-found')
        log.warn({ requestId: request.id, err: error }, 'a public profile page could not read its profile')
      return send(reply.code(errorKinds[code].status), {
        title: 'Chiron',
        description: schoolLine,
        more: noindex,
      })
    }
  })

  for (const name of existsSync(files) ? readdirSync(files) : []) {
    if (/\.(br|gz)$/.test(name)) continue
    // The file name contains a hash of the content.
    staticFile(app, `/web/${name}`, files, name, 'public, max-age=31536000, immutable')
  }
}

function frameIn(name: string): string {
  return existsSync(`${built}${name}`) ? readFileSync(`${built}${name}`, 'utf8') : notBuilt()
}

/** Open Graph (ogp.me), for link previews. */
function profileHead({ firstname, lastname, verified_at }: PublicProfile, url: string): About {
  const title = `${firstname} ${lastname} · Chiron`
  const description =
    verified_at === null
      ? 'This page shows a name that somebody gave. The school has not checked who this is.'
      : 'A veterinarian, verified by the school.'
  const properties = {
    'og:type': 'profile',
    'og:site_name': 'Chiron',
    'og:title': title,
    'og:description': description,
    'og:url': url,
  }
  const tags = Object.entries(properties).map(
    ([property, content]) => `<meta property="${property}" content="${escapeHtml(content)}">`,
  )
  return {
    title,
    description,
    more: `${noindex}${tags.join('\n')}\n<link rel="canonical" href="${escapeHtml(url)}">\n`,
  }
}

function notBuilt(): string {
  return html({
    title: 'Access service',
    body: `<h1>The portal is not built yet</h1>
<p>Run <code>npm run build</code> and start the service again. <code>npm ci</code> does it by itself, unless scripts are switched off.</p>
<p><a href="/docs">API reference</a> · <a href="/problems">Errors</a></p>`,
  })
}
