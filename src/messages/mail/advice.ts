/** Advice for operators when a mail server refuses: the usual cause and remedy. */
import { TokenError } from './oauth.ts'

interface SmtpFailure {
  readonly code?: string
  readonly response?: string
  readonly responseCode?: number
  readonly message?: string
}

/** The first match wins. */
const advice: readonly [matches: (failure: SmtpFailure) => boolean, text: string][] = [
  [
    (failure) => failure instanceof TokenError,
    'Check CHIRON_SMTP_OAUTH_TOKEN_URL, _CLIENT_ID, _CLIENT_SECRET, _SCOPE and _REFRESH_TOKEN; invalid_client means a wrong id or an expired secret; invalid_grant means that the refresh token has expired or was revoked.',
  ],
  [
    ({ response }) => /5\.7\.139|SmtpClientAuthentication|basic auth/i.test(response ?? ''),
    'The server no longer accepts passwords: use CHIRON_SMTP_OAUTH_*, or enable authenticated SMTP for the mailbox.',
  ],
  [
    ({ responseCode }) => responseCode === 535 || responseCode === 534,
    'The login was refused: check the user and password in CHIRON_SMTP_URL (percent-encode special characters), or the mailbox that the token is for.',
  ],
  [
    ({ responseCode }) => responseCode === 530,
    'The server requires a login or TLS first: put the user and password in CHIRON_SMTP_URL, or use CHIRON_SMTP_OAUTH_*.',
  ],
  [
    ({ response }) => /5\.7\.60|SendAsDenied|not allowed to send as/i.test(response ?? ''),
    'The account may not send from this address: CHIRON_MAIL_FROM must be an address that the account may use.',
  ],
  [
    ({ responseCode, response }) => responseCode === 550 && /5\.7\.\d/.test(response ?? ''),
    'The server refuses by policy: the sender is not allowed, relaying is denied, or the SPF, DKIM or DMARC records of the sender’s domain do not match this server.',
  ],
  [
    ({ responseCode }) => responseCode === 550 || responseCode === 553 || responseCode === 501,
    'There is no such mailbox, or the server refuses this sender or recipient; check CHIRON_MAIL_FROM.',
  ],
  [
    ({ responseCode = 0 }) => responseCode >= 400 && responseCode < 500,
    'The server deferred it, perhaps because of greylisting or a rate limit; Chiron retries such mails.',
  ],
  [
    ({ responseCode = 0 }) => responseCode >= 500,
    'The server refuses this permanently; its reply above says why.',
  ],
  [
    ({ message }) => /STARTTLS|certificate|self.signed|wrong version number|SSL/i.test(message ?? ''),
    'The connection could not be encrypted: smtps:// is for port 465 and smtp:// for 587, and the certificate must be valid for the host name.',
  ],
  [
    ({ message }) => /ENOTFOUND|EAI_AGAIN|EDNS/.test(message ?? ''),
    'The host name in CHIRON_SMTP_URL cannot be resolved.',
  ],
  [
    ({ message }) => /ECONNREFUSED/.test(message ?? ''),
    'Nothing is listening there: check the host and port in CHIRON_SMTP_URL.',
  ],
  [
    ({ code, message }) => code === 'ETIMEDOUT' || /timed? ?out|timeout/i.test(message ?? ''),
    'There was no answer: a firewall may be in the way. Many hosting providers block port 25; use 587 or 465.',
  ],
]

export function adviceOn(error: unknown): string {
  const failure = error as SmtpFailure
  return (
    advice.find(([matches]) => matches(failure))?.[1] ??
    'The connection failed; try again, and check CHIRON_SMTP_URL.'
  )
}
