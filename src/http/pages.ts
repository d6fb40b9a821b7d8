/** Plain HTML pages: the start page and the explanations of errors, and the frame and files that pages share. */
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { AppError, type ErrorCode, errorKinds } from '../errors.ts'
import { escapeHtml } from '../lib/html.ts'
import { pageContentPolicy } from './headers.ts'

const assets = fileURLToPath(new URL('./assets/', import.meta.url))

export function html(page: { title: string; body: string; head?: string; wide?: boolean }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.title)} · Chiron</title>
<link rel="icon" href="/assets/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/page.css">
${page.head ?? ''}
</head>
<body${page.wide ? ' class="wide"' : ''}>
<header><a href="/"><img src="/assets/mark.svg" alt="" width="32" height="32"> Chiron</a></header>
<main>
${page.body}
</main>
</body>
</html>
`
}

const publicPage = { config: { access: 'public', limit: 'none' } as object, schema: { hide: true } }

/** One file under a path of its own; `sendFile` brings type, ETag and ranges. */
export function staticFile(app: FastifyInstance, url: string, folder: string, name: string): void {
  app.get(url, publicPage, (request, reply) => {
    // Whole files, as they are: no ranges, and no preconditions but If-None-Match.
    for (const condition of ['if-match', 'if-unmodified-since']) delete request.raw.headers[condition]
    return reply
      .header('Cache-Control', 'public, max-age=3600')
      .sendFile(name, folder, { cacheControl: false, acceptRanges: false })
  })
}

export function pageRoutes(app: FastifyInstance, deps: { mailbox: boolean }): void {
  for (const name of ['page.css', 'mark.svg', 'docs.js', 'mailbox.js'])
    staticFile(app, `/assets/${name}`, assets, name)

  const page = (url: string, render: (params: Record<string, string>) => string) =>
    app.get(url, { config: { access: 'public' } as object, schema: { hide: true } }, async (request, reply) =>
      reply
        .headers({ 'Content-Security-Policy': pageContentPolicy, 'Cache-Control': 'public, max-age=60' })
        .type('text/html; charset=utf-8')
        .send(render(request.params as Record<string, string>)),
    )

  const start = html({ title: 'Access service', body: startBody(deps.mailbox) })
  const list = html({ title: 'Errors', body: problemList() })
  page('/', () => start)
  page('/problems', () => list)
  page('/problems/:code', ({ code }) => {
    if (!Object.hasOwn(errorKinds, code!)) throw new AppError('not-found')
    return html({ title: errorKinds[code as ErrorCode].title, body: problemBody(code as ErrorCode) })
  })
}

function startBody(mailbox: boolean): string {
  return `<h1>The access service of the veterinary school</h1>
<p>Veterinarians register and sign in with a code sent to their e-mail; students sign in the same way.</p>
<ul class="links">
<li><a href="/docs">API reference</a><span>every call, explained and ready to try</span></li>
<li><a href="/openapi.json">openapi.json</a><span>the same for programs</span></li>
<li><a href="/problems">Errors</a><span>what each means and what to do</span></li>
${mailbox ? '<li><a href="/mailbox">Mailbox</a><span>mail caught on this machine, for development</span></li>' : ''}
<li><a href="/health/ready">Health</a><span>whether the service can serve</span></li>
</ul>`
}

function problemList(): string {
  const rows = (Object.keys(errorKinds) as ErrorCode[]).map((code) => {
    const { status, title } = errorKinds[code]
    return `<tr><td>${status}</td><td><a href="/problems/${code}"><code>${code}</code></a></td><td>${escapeHtml(title)}</td></tr>`
  })
  return `<h1>Errors</h1>
<p>Errors are <code>application/problem+json</code> (RFC 9457). Decide by <code>code</code>; show <code>title</code> or your own words; give <code>instance</code> when you ask for help.</p>
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
