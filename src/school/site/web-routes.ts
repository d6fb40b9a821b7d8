/**
 * Serves the built portal and console (web/dist). The public page of a veterinarian is the portal’s document with its
 * own title.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyReply } from 'fastify'
import { AppError, errorKinds } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import { logoContentPolicy, portalContentPolicy, workerContentPolicy } from '../../platform/http/headers.ts'
import { type Operation, page } from '../../platform/http/operation.ts'
import { brandHtml, html, staticFile } from '../../platform/http/pages.ts'
import { type Branding, brandOf } from '../../platform/lib/branding.ts'
import { escapeHtml } from '../../platform/lib/html.ts'
import { type OpenMethods, roles } from '../../roles.ts'

const built = fileURLToPath(new URL('../../../web/dist/', import.meta.url))
const files = `${built}web/`
const forGood = 'public, max-age=31536000, immutable'
const noindex = '<meta name="robots" content="noindex">\n'
const serviceLine = ({ name }: Branding) =>
  `The access service of ${name ?? 'the veterinary school'}: sign in with a code sent to your e-mail.`

interface Deps extends Pick<Context, 'log' | 'publicUrl' | 'branding' | 'timeZone'> {
  readonly mailbox: boolean
  /** Whether people can use passkeys, and staff must; null if nobody can. */
  readonly passkeys: 'optional' | 'required' | null
  /** How people of each role can sign in. */
  readonly methods: OpenMethods
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

/** Sends the portal's document for a page whose address is nobody else's business. */
export type SendPrivatePage = (reply: FastifyReply, contentPolicy?: string) => FastifyReply

export function webRoutes(deps: Deps): { pages: Operation[]; sendPrivatePage: SendPrivatePage } {
  const send = documentSender(deps)
  const { branding } = deps
  const start = { title: brandOf(branding), description: serviceLine(branding) }
  const sendPrivatePage: SendPrivatePage = (reply, contentPolicy) =>
    send(
      reply.header('X-Robots-Tag', 'noindex'),
      { ...start, more: noindex },
      {
        caching: 'no-store',
        ...(contentPolicy !== undefined && { contentPolicy }),
      },
    )
  const pages = [
    page('GET /', ({ reply }) => send(reply, start)),
    consolePage(branding, send),
    veterinarianPage(deps, send),
    ...builtFiles(branding),
  ]
  return { pages, sendPrivatePage }
}

type Send = ReturnType<typeof documentSender>

/** Sends the portal's document, or another, with a head of its own. */
function documentSender({ mailbox, branding, timeZone, passkeys, methods }: Deps) {
  const frame = frameIn('index.html', branding)
  const metas = brandingMetas(branding, timeZone, { passkeys, methods })
  return (
    reply: FastifyReply,
    about: About,
    { document = frame, caching = 'no-cache', contentPolicy = portalContentPolicy } = {},
  ) => {
    const head = `<title>${escapeHtml(about.title)}</title>
<meta name="description" content="${escapeHtml(about.description)}">
${about.more ?? ''}${metas}${mailbox ? '<meta name="mailbox" content="/mailbox">' : ''}`
    return (
      reply
        .headers({ 'Content-Security-Policy': contentPolicy, 'Cache-Control': caching })
        .type('text/html; charset=utf-8')
        // A function, because `$` in a replacement string is a pattern and names may contain it.
        .send(document.replace('<!-- head -->', () => head))
    )
  }
}

function consolePage(branding: Branding, send: Send): Operation {
  const document = frameIn('console.html', branding)
  const about = { title: `${brandOf(branding)} console`, description: 'For school staff.', more: noindex }
  return page('GET /console', ({ reply }) =>
    send(reply.header('X-Robots-Tag', 'noindex'), about, { document }),
  )
}

function veterinarianPage({ log, publicUrl, branding, publicProfile }: Deps, send: Send): Operation {
  const title = brandOf(branding)
  return page('GET /v/:userId', async ({ request, reply, params }) => {
    const { userId } = params as { userId: string }
    // Anybody can register under any name, so search engines must not list it.
    reply.header('X-Robots-Tag', 'noindex')
    try {
      return send(reply, profileHead(await publicProfile(userId), `${publicUrl}/v/${userId}`, title))
    } catch (error) {
      // The portal shows the error itself and tries again.
      const code = error instanceof AppError ? error.code : 'internal-error'
      if (code !== 'not-found')
        log.warn({ requestId: request.id, err: error }, 'could not read the profile for a public page')
      const about = { title, description: serviceLine(branding), more: noindex }
      return send(reply.code(errorKinds[code].status), about)
    }
  })
}

function* builtFiles({ logo }: Branding): Generator<Operation> {
  if (logo)
    yield page(
      `GET ${logo.path}`,
      ({ reply }) =>
        reply
          .headers({ 'Content-Security-Policy': logoContentPolicy, 'Cache-Control': forGood })
          .type(logo.type)
          .send(logo.bytes),
      { limit: 'none' },
    )
  // The name stays the same, so browsers must always ask whether there is a newer one.
  const headers = { 'Content-Security-Policy': workerContentPolicy }
  const worker = { folder: built, name: 'worker.js', caching: 'no-cache', headers }
  if (existsSync(`${built}worker.js`)) yield staticFile('/worker.js', worker)
  // The file name contains a hash of the content.
  for (const name of existsSync(files) ? readdirSync(files) : [])
    if (!/\.(br|gz)$/.test(name)) yield staticFile(`/web/${name}`, { folder: files, name, caching: forGood })
}

/** The page shown until the portal or the console has loaded. */
function frameIn(name: string, branding: Branding): string {
  const page = existsSync(`${built}${name}`) ? readFileSync(`${built}${name}`, 'utf8') : notBuilt()
  return page.replace(/(<span class="brand">).*?(?=<\/span>)/s, (_, start) => start + brandHtml(branding))
}

/** The portal reads them (web/src/school.ts). */
function brandingMetas(
  { name, logo, support, privacy }: Branding,
  timeZone: string,
  { passkeys, methods }: Pick<Deps, 'passkeys' | 'methods'>,
): string {
  const told = {
    'school-name': name,
    'school-logo': logo?.path ?? null,
    support,
    privacy,
    'time-zone': timeZone,
    passkeys,
    'sign-in': roles.map((role) => `${role}=${methods[role].join(',')}`).join(' '),
  }
  return Object.entries(told)
    .filter((one): one is [string, string] => one[1] !== null)
    .map(([about, content]) => `<meta name="${about}" content="${escapeHtml(content)}">\n`)
    .join('')
}

/** Open Graph (ogp.me), for link previews. */
function profileHead({ firstname, lastname, verified_at }: PublicProfile, url: string, brand: string): About {
  const title = `${firstname} ${lastname} · ${brand}`
  const description =
    verified_at === null
      ? 'The school has not checked who this is. The name is the one they entered.'
      : 'A veterinarian, verified by the school.'
  const properties = {
    'og:type': 'profile',
    'og:site_name': brand,
    'og:title': title,
    'og:description': description,
    'og:url': url,
    'og:image': `${new URL(url).origin}/assets/social.png`,
    'og:image:width': '1200',
    'og:image:height': '630',
    'og:image:alt': 'Chiron, the access service of the veterinary school',
  }
  const tags = Object.entries(properties).map(
    ([property, content]) => `<meta property="${property}" content="${escapeHtml(content)}">`,
  )
  tags.push('<meta name="twitter:card" content="summary_large_image">')
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
<p>Run <code>npm run build</code> and start the service again. <code>npm ci</code> does both the installation and the build, unless scripts are switched off.</p>
<p><a href="/docs">API reference</a> · <a href="/problems">Errors</a></p>`,
  })
}
