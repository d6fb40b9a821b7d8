/**
 * Renders a mail: subject, plain text and HTML. Inline styles and a single column, which is what mail clients on phones
 * support; only the colours of dark mode are in a style element. No style or id contains six digits in a row, so that
 * nothing else looks like a code.
 */

import { type Branding, brandOf, linkText } from '../../../platform/lib/branding.ts'
import { escapeHtml } from '../../../platform/lib/html.ts'
import type { Language } from '../../../platform/lib/languages.ts'
import { mailTexts } from './languages.ts'
import {
  type CodeKind,
  isCode,
  type MailKind,
  type NoticeKind,
  type Report,
  reportKind,
  type ToldKind,
} from './texts.ts'

export interface MailContent {
  readonly kind: MailKind
  readonly language: Language
  readonly reference: string
  readonly url: string
  readonly school: Branding
  readonly report?: Report
  readonly code?: { digits: string; name: string | null; minutes: number; until: string }
}

export interface Rendered {
  readonly subject: string
  readonly text: string
  readonly html: string
}

export function render(mail: MailContent): Rendered {
  const { kind } = mail
  if (isCode(kind)) return renderCode({ ...mail, kind })
  if (kind === reportKind) return renderParagraphs(mail, mail.report!)
  return renderParagraphs(mail, noticeOf(mail, kind))
}

function renderCode(mail: MailContent & { readonly kind: CodeKind }): Rendered {
  const { code, addressCode, stepUpCode } = mailTexts[mail.language]
  const differing = { code: {}, 'address-code': addressCode, 'step-up-code': stepUpCode }
  const texts = { ...code, ...differing[mail.kind] }
  const { digits, name, minutes, until } = mail.code!
  const after = [texts.reference(mail.reference), texts.lifetime(minutes, until), texts.never, texts.unasked]
  return {
    subject: texts.subject(mail.reference),
    text: plain(mail, [texts.greeting(name), texts.intro, `    ${digits}`, ...after]),
    html: page(mail, texts.subject(mail.reference), [
      plainParagraph(texts.greeting(name)),
      plainParagraph(texts.intro),
      `<p class="code" style="margin:24px 0;padding:16px 8px;text-align:center;background:#e8f1ee;border-radius:12px;font:700 36px/1.2 ui-monospace,Menlo,Consolas,monospace;letter-spacing:6px;color:#123c33">${digits}</p>`,
      ...after.map(plainParagraph),
    ]),
  }
}

function noticeOf(mail: MailContent, kind: NoticeKind | ToldKind): Report {
  const notice = mailTexts[mail.language].notices[kind]
  const { support } = mail.school
  return {
    subject: notice.subject(mail.reference),
    paragraphs: notice.paragraphs(mail.url, support === null ? '' : ` (${linkText(support)})`),
  }
}

function renderParagraphs(mail: MailContent, { subject, paragraphs }: Report): Rendered {
  return {
    subject,
    text: plain(mail, paragraphs),
    html: page(
      mail,
      subject,
      paragraphs.map((text) => linked(mail, plainParagraph(text))),
    ),
  }
}

function footerOf({ language, school: { name, support, privacy } }: MailContent): string[] {
  const { footer, help, privacy: about } = mailTexts[language]
  return [
    footer(name),
    ...(support === null ? [] : [help(linkText(support))]),
    ...(privacy === null ? [] : [about(privacy)]),
  ]
}

function plain(mail: MailContent, paragraphs: readonly string[]): string {
  return `${[...paragraphs, `-- \n${footerOf(mail).join('\n')}`].join('\n\n')}\n`
}

function plainParagraph(text: string): string {
  return `<p style="margin:0 0 14px">${escapeHtml(text).replaceAll('\n', '<br>')}</p>`
}

/** Only addresses from the settings become links, because a name may look like one. */
function linked({ url, school: { support, privacy } }: MailContent, html: string): string {
  const hrefs = [url, `${url}/console`, support, privacy].filter((href) => href !== null)
  const links = new Map(hrefs.map((href) => [escapeHtml(linkText(href)), escapeHtml(href)]))
  // The longest first: one address may begin with another.
  const texts = [...links.keys()].sort((a, b) => b.length - a.length)
  const any = new RegExp(texts.map((text) => RegExp.escape(text)).join('|'), 'g')
  return html.replace(any, (text) => `<a href="${links.get(text)}" style="color:#1d6b5a">${text}</a>`)
}

/** Mail clients without dark mode ignore it. `!important`, because inline styles would win. */
const darkStyle = `@media (prefers-color-scheme:dark){body{background:#131b18!important}.sheet{background:#1c2622!important;color:#ecefe9!important}.brand,a{color:#86d3bd!important}.code{background:#1f3a32!important;color:#ecefe9!important}.foot{color:#aab7b0!important;border-color:#33413b!important}}`

function page(mail: MailContent, title: string, body: readonly string[]): string {
  const footer = linked(mail, footerOf(mail).map(escapeHtml).join('<br>'))
  return `<!doctype html>
<html lang="${mail.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(title)}</title>
<style>${darkStyle}</style>
</head>
<body style="margin:0;padding:16px;background:#f4f1ea">
<div class="sheet" style="max-width:480px;margin:0 auto;padding:24px;background:#fff;border-radius:16px;font:16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:#22302c">
<p class="brand" style="margin:0 0 20px;font-weight:700;font-size:18px;color:#1d6b5a">${escapeHtml(brandOf(mail.school))}</p>
${body.join('\n')}
<p class="foot" style="margin:24px 0 0;padding-top:14px;border-top:1px solid #e3ded3;font-size:13px;color:#5b6762">${footer}</p>
</div>
</body>
</html>
`
}
