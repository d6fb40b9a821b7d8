/** The HTML pages that explain errors, and the layout and assets that all pages of the service share. */
import { fileURLToPath } from 'node:url'
import { AppError, type ErrorCode, errorKinds } from '../../errors.ts'
import { type Branding, brandOf, ownBranding } from '../lib/branding.ts'
import { escapeHtml } from '../lib/html.ts'
import type { Language } from '../lib/languages.ts'
import { pageTexts } from '../lib/page-texts/page-texts.ts'
import { sendCached } from './etag.ts'
import { pageContentPolicy } from './headers.ts'
import { type Call, type Operation, page } from './operation.ts'

const assets = fileURLToPath(new URL('./assets/', import.meta.url))

export interface HtmlPage {
  readonly title: string
  readonly body: string
  readonly head?: string
  readonly wide?: boolean
  /** English unless it says otherwise. */
  readonly language?: Language
  readonly branding?: Branding
}

export function html(page: HtmlPage): string {
  const { branding = ownBranding } = page
  return `<!doctype html>
<html lang="${page.language ?? 'en'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.title)} · ${escapeHtml(brandOf(branding))}</title>
<link rel="icon" href="/assets/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/theme.css">
<link rel="stylesheet" href="/assets/page.css">
${page.head ?? ''}
</head>
<body>
<header class="bar"><a class="brand" href="/">${brandHtml(branding)}</a></header>
<main class="page${page.wide ? ' wide' : ''}">
${page.body}
</main>
${brandingLinks(branding, page.language ?? 'en')}</body>
</html>
`
}

/** The logo and name of the settings, or ours. */
export function brandHtml(branding: Branding): string {
  const logo = branding.logo
    ? `<img class="logo" src="${branding.logo.path}" alt="" height="36">`
    : '<img src="/assets/mark.svg" alt="" width="36" height="36">'
  return `${logo}${escapeHtml(brandOf(branding))}`
}

function brandingLinks({ support, privacy }: Branding, language: Language): string {
  const texts = pageTexts[language].links
  const link = (href: string | null, text: string) =>
    href === null ? [] : [`<a href="${escapeHtml(href)}">${text}</a>`]
  const links = [...link(support, texts.help), ...link(privacy, texts.privacy)]
  return links.length === 0 ? '' : `<footer class="page"><p>${links.join(' · ')}</p></footer>\n`
}

export function notFoundPage(branding: Branding, language: Language): string {
  const { title, lead, home } = pageTexts[language].notFound
  return html({
    title,
    language,
    branding,
    body: `<h1>${title}</h1>
<p>${lead}</p>
<p><a href="/">${home}</a></p>`,
  })
}

const images = [
  'mark.svg',
  'icon-192.png',
  'icon-512.png',
  'icon-maskable-512.png',
  'apple-touch-icon.png',
  'social.png',
]

export interface StaticFile {
  readonly folder: string
  readonly name: string
  readonly caching?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Serves one file under its own path. `sendFile` adds the type and the ETag. */
export const staticFile = (path: string, { folder, name, ...about }: StaticFile): Operation => {
  const { caching = 'public, max-age=3600', headers } = about
  return page(
    `GET ${path}`,
    ({ request, reply }) => {
      // Only If-None-Match is supported; @fastify/static would evaluate the others too.
      for (const condition of ['if-match', 'if-unmodified-since']) delete request.raw.headers[condition]
      return reply
        .headers({ 'Cache-Control': caching, ...headers })
        .sendFile(name, folder, { cacheControl: false, acceptRanges: false })
    },
    { limit: 'none' },
  )
}

export const pageRoutes = (): Operation[] => [
  ...['theme.css', 'page.css', 'docs.js', 'mailbox.js', ...images].map((name) =>
    staticFile(`/assets/${name}`, { folder: assets, name }),
  ),
  staticFile('/manifest.webmanifest', { folder: assets, name: 'manifest.webmanifest' }),
  ...problemPages(),
]

function problemPages(): Operation[] {
  const description = 'Every error of the access service and what to do about it.'
  const head = `<meta name="description" content="${description}">`
  const list = html({ title: 'Errors', head, body: problemList() })
  const send = ({ request, reply }: Call, text: string) => {
    reply.header('Content-Security-Policy', pageContentPolicy).type('text/html; charset=utf-8')
    return sendCached(request, reply, text)
  }
  return [
    page('GET /problems', (call) => send(call, list)),
    page('GET /problems/:code', (call) => {
      const { code } = call.params as { code: ErrorCode }
      if (!Object.hasOwn(errorKinds, code)) throw new AppError('not-found')
      return send(call, html({ title: errorKinds[code].title, body: problemBody(code) }))
    }),
  ]
}

function problemList(): string {
  const rows = (Object.keys(errorKinds) as ErrorCode[]).map((code) => {
    const { status, title } = errorKinds[code]
    return `<tr><td>${status}</td><td><a href="/problems/${code}"><code>${code}</code></a></td><td>${escapeHtml(title)}</td></tr>`
  })
  return `<h1>Errors</h1>
<p>Errors are <code>application/problem+json</code> (RFC 9457). Base decisions on <code>code</code>, show <code>title</code> or a text of your own, and quote <code>instance</code> when you ask for help.</p>
<table><thead><tr><th>Status</th><th>Code</th><th>Meaning</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>`
}

function problemBody(code: ErrorCode): string {
  const { status, title, explanation } = errorKinds[code]
  const text = escapeHtml(explanation).replace(/`([^`]+)`/g, '<code>$1</code>')
  return `<h1>${escapeHtml(title)}</h1>
<p class="badge"><code>${code}</code> · HTTP ${status}</p>
<p>${text}</p>
<p><a href="/problems">All errors</a></p>`
}
