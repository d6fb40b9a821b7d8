/** What refusals of mail servers mean, in plain words. The first row that fits counts. */

interface Meaning {
  readonly fits: RegExp
  readonly means: string
  readonly remedy: string
}

const meanings: readonly Meaning[] = [
  {
    fits: /\b5\.7\.139\b|basic authentication is disabled/i,
    means: 'Microsoft 365 no longer takes passwords from programs here',
    remedy: 'set up XOAUTH2, or have an administrator allow SMTP AUTH for this mailbox',
  },
  {
    fits: /\b53[45][ -]5\.7\.9\b|application-specific password/i,
    means: 'the mail provider wants a password made for this program, or XOAUTH2',
    remedy: 'make an app password in the account’s security settings',
  },
  {
    fits: /\b5\.7\.57\b/,
    means: 'the server takes mail only after a login',
    remedy: 'put user and password into CHIRON_SMTP_URL',
  },
  {
    fits: /\b5\.7\.60\b|SendAsDenied/i,
    means: 'the login may not send as the address of CHIRON_MAIL_FROM',
    remedy: 'give the login the right to send as that address, or set CHIRON_MAIL_FROM to its own',
  },
  {
    fits: /\b538\b|\b5\.7\.11\b|must issue a STARTTLS/i,
    means: 'the server wants an encrypted connection first',
    remedy: 'use smtps://, or a port that offers STARTTLS',
  },
  {
    fits: /\b535\b|\b5\.7\.8\b|\b5\.7\.3\b/,
    means: 'the server refuses user or password',
    remedy: 'correct them in CHIRON_SMTP_URL; special characters are percent-encoded',
  },
  {
    fits: /\b530\b/,
    means: 'the server wants a login first',
    remedy: 'put user and password into CHIRON_SMTP_URL',
  },
  {
    fits: /\b5\.7\.2[367]\b|\bSPF\b/i,
    means: 'the receiver could not make sure that this server may send for the domain (SPF)',
    remedy: 'add the mail server to the SPF record of the sender’s domain',
  },
  {
    fits: /\b5\.7\.2[0-2]\b|\bDKIM\b/i,
    means: 'the receiver found no valid DKIM signature',
    remedy: 'let the mail server sign, or set CHIRON_DKIM_*; publish the key in DNS',
  },
  {
    fits: /\b5\.7\.509\b|\bDMARC\b/i,
    means: 'the DMARC policy of the sender’s domain says that this mail is to be refused',
    remedy: 'make SPF or DKIM pass for exactly the domain of CHIRON_MAIL_FROM',
  },
  {
    fits: /\b5\.7\.25\b|reverse DNS|PTR/i,
    means: 'the address of the sending machine has no name in DNS',
    remedy: 'send through your provider’s mail server, or have a PTR record made',
  },
  {
    fits: /\b5\.7\.(606|608|708|512)\b|blocked|blacklist|blocklist/i,
    means: 'the receiver blocks the address of the sending machine',
    remedy: 'ask the receiver to lift it, or send through another mail server',
  },
  {
    fits: /relay/i,
    means: 'the server does not pass on mail for this sender without a login',
    remedy: 'put user and password into CHIRON_SMTP_URL, or allow this machine at the mail server',
  },
  {
    fits: /\b55[0-4][ -]5\.7\.1\b/,
    means: 'a rule of the mail server forbids this mail',
    remedy: 'ask who runs the mail server which rule it was; its log has the reply',
  },
  {
    fits: /\b5\.1\.8\b|\bsender\b/i,
    means: 'the server does not accept the address of CHIRON_MAIL_FROM',
    remedy: 'use an address of a domain that the mail server knows',
  },
  {
    fits: /^4|\b4\.\d+\.\d+\b/,
    means: 'the server refuses for the moment, often because of too many connections or logins',
    remedy: 'wait a few minutes and try again; if it goes on, ask who runs the mail server',
  },
]

const unknown = { means: 'the server refuses', remedy: 'ask who runs the mail server; its log has the reply' }

export function explainReply(reply: string): { means: string; remedy: string } {
  return meanings.find(({ fits }) => fits.test(reply)) ?? unknown
}
