/** Plain-text files at well-known paths: robots.txt, security.txt and llms.txt. */
import type { Context } from '../../platform/context.ts'
import { page } from '../../platform/http/operation.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import { everyLanguage } from '../../platform/lib/languages.ts'

const dayMs = 24 * 3_600_000
const securityTextDays = 180

interface Deps extends Pick<Context, 'publicUrl' | 'clock'> {
  readonly mailDomain: string
}

export const plainRoutes = ({ publicUrl, mailDomain, clock }: Deps) => [
  // /v/ is not listed: its pages say noindex, which a crawler must be allowed to read.
  text('/robots.txt', () => ['User-agent: *', ...personal.map((path) => `Disallow: ${path}`), 'Allow: /']),

  // RFC 9116. Every mail domain must have a postmaster (RFC 5321 §4.5.1), so no setting is needed.
  text('/.well-known/security.txt', () => [
    `Contact: mailto:postmaster@${mailDomain}`,
    `Expires: ${timestamp((Math.floor(clock.now() / dayMs) + securityTextDays) * dayMs)}`,
    `Preferred-Languages: ${everyLanguage.join(', ')}`,
    `Canonical: ${publicUrl}/.well-known/security.txt`,
  ]),

  text('/llms.txt', () => guide(publicUrl)),
]

const text = (path: string, lines: () => readonly string[]) =>
  page(`GET ${path}`, ({ reply }) =>
    reply
      .header('Cache-Control', 'public, max-age=3600')
      .type('text/plain; charset=utf-8')
      .send(`${lines().join('\n')}\n`),
  )

const personal = [
  '/veterinarian/',
  '/student/',
  '/staff/',
  '/session',
  '/portal/',
  '/calendar/',
  '/c/',
  '/mailbox',
  '/health/',
]

/** Format: llmstxt.org. */
const guide = (publicUrl: string) => [
  '# Chiron',
  '',
  '> The access service of a veterinary school. Veterinarians register and sign in with a code sent to their e-mail; students on the roster sign in the same way; each reads what is theirs.',
  '',
  'JSON in, JSON out. Errors are application/problem+json: base decisions on `code`, and wait for `Retry-After` seconds.',
  '',
  'To sign in a veterinarian (a student starts at 2, with /student instead of /veterinarian):',
  '',
  '1. POST /veterinarian/register with firstname, lastname, email. Once; no mail is sent.',
  '2. POST /veterinarian/send-otp with email. The reply has a sessionId; a code goes to the address.',
  '3. The person reads the code in the mail. A program cannot get it.',
  '4. POST /veterinarian/validate-otp with email, sessionId and otp_code, an integer. The reply has access_token and refresh_token.',
  '5. GET /veterinarian/me with Authorization: Bearer and the access token, good for 15 minutes.',
  '6. POST /session/refresh with refresh_token. Keep the new one; the old one no longer works.',
  '7. DELETE /session signs out.',
  '',
  '## Reference',
  '',
  `- [OpenAPI 3.1](${publicUrl}/openapi.json): every call, with schemas`,
  `- [Reference page](${publicUrl}/docs): the same for people, where calls can be tried`,
  `- [Errors](${publicUrl}/problems): what each code means and what to do`,
  `- [Public keys](${publicUrl}/.well-known/jwks.json): to check access tokens elsewhere`,
  `- [Issuer metadata](${publicUrl}/.well-known/oauth-authorization-server): RFC 8414`,
]
