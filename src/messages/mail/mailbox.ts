/**
 * The development mailbox replaces the mail server if none is configured: never in production, and only on this
 * machine. It stores nothing: a caught mail stays in the outbox and is rendered again, with its code, when it is
 * viewed.
 */
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { isMailbox } from '../../platform/http/cors.ts'
import { mailboxContentPolicy } from '../../platform/http/headers.ts'
import { page } from '../../platform/http/operation.ts'
import { html } from '../../platform/http/pages.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import { escapeHtml } from '../../platform/lib/html.ts'
import { isLoopbackHost } from '../../platform/lib/network.ts'
import { isId } from '../../platform/lib/random.ts'
import type { Message } from './message.ts'
import type { Mail, Outbox, Transport } from './outbox.ts'

const shownMax = 50

/** Logs the mail instead of sending it. The only place that may print a code. */
export function mailboxTransport(log: { info(fields: object, message: string): void }): Transport {
  return {
    server: 'mailbox',
    concurrency: 20,
    keeps: true,
    async send(message) {
      const code = codeIn(message)
      log.info(
        { development: true },
        `[development mailbox] ${code ? `code ${code}` : 'a mail without a code'} for ${message.to}: ${message.subject}`,
      )
      return 'shown at /mailbox'
    },
    isFinal: () => false,
    async close() {},
  }
}

function codeIn(message: Message): string | undefined {
  return /^\s+(\d{6}|\d{8})$/m.exec(message.text)?.[1]
}

export const mailboxRoutes = (outbox: Outbox) => [
  page(
    'GET /mailbox',
    async ({ reply }) =>
      reply
        .header('Content-Security-Policy', mailboxContentPolicy)
        .type('text/html; charset=utf-8')
        .send(mailboxPage(await outbox.caught({}, shownMax))),
    unlimited,
  ),

  page(
    'GET /mailbox.json',
    async ({ query }) => {
      const { to, reference } = query as Record<string, string | string[] | undefined>
      const filter = {
        ...(to && { to: String(to).toLowerCase() }),
        ...(reference && { reference: String(reference) }),
      }
      // PostgreSQL rejects NUL in text, and no mail contains it.
      if (`${to}${reference}`.includes('\0')) return { mails: [] }
      const caught = await outbox.caught(filter, shownMax)
      return { mails: caught.map(({ mail, message }) => mailEntry(mail, message)) }
    },
    unlimited,
  ),

  page(
    'GET /mailbox/:id',
    async ({ reply, params }) => {
      const { id } = params as { id: string }
      const message = isId(id) ? await outbox.caughtOne(id) : undefined
      if (!message) throw new AppError('not-found')
      return reply
        .headers({
          'Content-Security-Policy':
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox",
          'X-Frame-Options': 'SAMEORIGIN',
        })
        .type('text/html; charset=utf-8')
        .send(message.html)
    },
    unlimited,
  ),
]

const unlimited = { limit: 'none' } as const

function mailboxPage(caught: Awaited<ReturnType<Outbox['caught']>>): string {
  const mails = caught.map(
    ({
      mail,
      message,
    }) => `<article class="card mail" id="mail-${mail.id}" data-to="${escapeHtml(message.to.toLowerCase())}">
<h2>${escapeHtml(message.subject)}</h2>
<p>To ${escapeHtml(message.to)} · <time datetime="${timestamp(mail.sent_at!)}">${timestamp(mail.sent_at!).slice(11, 19)} UTC</time></p>
${copyButton(codeIn(message))}<iframe src="/mailbox/${mail.id}" title="${escapeHtml(message.subject)}" sandbox loading="lazy"></iframe>
<details><summary>Plain text</summary><pre>${escapeHtml(message.text)}</pre></details>
</article>`,
  )
  const none = '<p id="none">No mail yet. Ask for a code, and it appears here.</p>'
  return html({
    title: 'Mailbox',
    head: '<script defer src="/assets/mailbox.js"></script>',
    body: `<h1>Mailbox</h1><p>Mail caught on this machine, for development. Newest first.</p>
<div class="find"><label for="to">Only mail to</label><input id="to" type="search" autocomplete="off" spellcheck="false" placeholder="ada@example.org" aria-describedby="found"><p id="found" class="soft" role="status"></p></div>
<div id="mails" aria-live="polite">${mails.join('\n') || none}</div>`,
  })
}

/** The name of the button stays the same, so that a screen reader finds it; assets/mailbox.js does the rest. */
function copyButton(code: string | undefined): string {
  return code === undefined
    ? ''
    : `<button type="button" class="button" data-code="${code}">Copy the code ${code}</button>\n`
}

function mailEntry(mail: Mail, message: Message) {
  const code = codeIn(message)
  return {
    id: mail.id,
    to: message.to,
    subject: message.subject,
    reference: mail.reference,
    sentAt: timestamp(mail.sent_at!),
    text: message.text,
    html: message.html,
    code: code === undefined ? null : Number(code),
  }
}

const forwarding = /^(forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|cf-connecting-ip|true-client-ip)$/

/** To callers from elsewhere there is no mailbox. */
export const isHiddenMailbox = (request: FastifyRequest) => isMailbox(request) && !isFromHere(request)

/** A direct request from this machine, under a loopback name and without a proxy. */
function isFromHere(request: FastifyRequest): boolean {
  const { headers, socket } = request.raw
  if (Object.keys(headers).some((name) => forwarding.test(name))) return false
  // Proxies that add no header still use HTTP/1.0 by default; browsers and curl do not.
  if (request.raw.httpVersion === '1.0' || /[@/]/.test(headers.host ?? '')) return false
  // No page of another origin, not even of an allowed one.
  if (!['none', 'same-origin', undefined].includes(headers['sec-fetch-site'] as string | undefined))
    return false
  const host = URL.parse(`http://${headers.host ?? ''}`)?.hostname ?? ''
  return isLoopbackHost(socket.remoteAddress ?? '') && isLoopbackHost(host)
}
