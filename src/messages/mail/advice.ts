/** What usually is the matter when a mail server refuses, for operators. Pure. */
import { TokenError } from './oauth.ts'

interface SmtpFailure {
  readonly code?: string
  readonly response?: string
  readonly responseCode?: number
  readonly message?: string
}

/** The first that matches counts. */
const advice: readonly [matches: (failure: SmtpFailure) => boolean, text: string][] = [
  [
    (failure) => failure instanceof TokenError,
    'Look at CHIRON_SMTP_OAUTH_TOKEN_URL, _CLIENT_ID, _CLIENT_SECRET, _SCOPE and _REFRESH_TOKEN; invalid_client means a wrong id or an expired secret, invalid_grant a refresh token that has expired or was withdrawn.',
  ],
  [
    ({ response }) => /5\.7\.139|SmtpClientAuthentication|basic auth/i.test(response ?? ''),
    'The server takes no passwords any more: use CHIRON_SMTP_OAUTH_*, or let the mailbox use authenticated SMTP.',
  ],
  [
    ({ responseCode }) => responseCode === 535 || responseCode === 534,
    'The login was refused: look at user and password in CHIRON_SMTP_URL (special characters are percent-encoded), or at the mailbox that the token is for.',
  ],
  [
    ({ responseCode }) => responseCode === 530,
    'The server wants a login or TLS first: put user and password into CHIRON_SMTP_URL, or use CHIRON_SMTP_OAUTH_*.',
  ],
  [
    ({ response }) => /5\.7\.60|SendAsDenied|not allowed to send as/i.test(response ?? ''),
    'The login may not send as this sender: CHIRON_MAIL_FROM must be an address that the account may use.',
  ],
  [
    ({ responseCode, response }) => responseCode === 550 && /5\.7\.\d/.test(response ?? ''),
    'The server refuses for reasons of policy: the sender is not allowed, relaying is denied, or SPF, DKIM or DMARC of the sender’s domain do not fit this server.',
  ],
  [
    ({ responseCode }) => responseCode === 550 || responseCode === 553 || responseCode === 501,
    'There is no such mailbox, or the server refuses this sender or recipient; look at CHIRON_MAIL_FROM.',
  ],
  [
    ({ responseCode = 0 }) => responseCode >= 400 && responseCode < 500,
    'The server puts it off, perhaps because it does not know us yet or because there were too many mails; Chiron tries such mails again.',
  ],
  [
    ({ responseCode = 0 }) => responseCode >= 500,
    'The server refuses this for good; its own words above say why.',
  ],
  [
    ({ message }) => /STARTTLS|certificate|self.signed|wrong version number|SSL/i.test(message ?? ''),
    'The connection could not be encrypted: smtps:// is for port 465 and smtp:// for 587, and the certificate must be valid for the host name.',
  ],
  [
    ({ message }) => /ENOTFOUND|EAI_AGAIN|EDNS/.test(message ?? ''),
    'The host name in CHIRON_SMTP_URL is not known.',
  ],
  [
    ({ message }) => /ECONNREFUSED/.test(message ?? ''),
    'Nothing listens there: look at host and port in CHIRON_SMTP_URL.',
  ],
  [
    ({ code, message }) => code === 'ETIMEDOUT' || /timed? ?out|timeout/i.test(message ?? ''),
    'There was no answer: a firewall may be in the way. Many hosting companies block port 25; use 587 or 465.',
  ],
]

export function adviceOn(error: unknown): string {
  const failure = error as SmtpFailure
  return (
    advice.find(([matches]) => matches(failure))?.[1] ??
    'The connection failed; try again, and look at CHIRON_SMTP_URL.'
  )
}
