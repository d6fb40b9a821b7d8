/** Explains refusals of mail servers. The first matching row wins. */

interface Meaning {
  readonly fits: RegExp
  readonly means: string
  readonly remedy: string
}

const meanings: readonly Meaning[] = [
  {
    fits: /\b5\.7\.139\b|basic authentication is disabled/i,
    means: 'Microsoft 365 no longer accepts passwords from programs',
    remedy: 'set up XOAUTH2, or have an administrator allow SMTP AUTH for this mailbox',
  },
  {
    fits: /\b53[45][ -]5\.7\.9\b|application-specific password/i,
    means: 'the mail provider requires an app password or XOAUTH2',
    remedy: 'create an app password in the account’s security settings',
  },
  {
    fits: /\b5\.7\.57\b/,
    means: 'the server only accepts mail after a login',
    remedy: 'put the user and password in CHIRON_SMTP_URL',
  },
  {
    fits: /\b5\.7\.60\b|SendAsDenied/i,
    means: 'the account may not send from CHIRON_MAIL_FROM',
    remedy: 'allow the account to send from that address, or set CHIRON_MAIL_FROM to its own',
  },
  {
    fits: /\b538\b|\b5\.7\.11\b|must issue a STARTTLS/i,
    means: 'the server requires an encrypted connection first',
    remedy: 'use smtps://, or a port that offers STARTTLS',
  },
  {
    fits: /\b535\b|\b5\.7\.8\b|\b5\.7\.3\b/,
    means: 'the server refuses the user or password',
    remedy: 'correct them in CHIRON_SMTP_URL; percent-encode special characters',
  },
  {
    fits: /\b530\b/,
    means: 'the server requires a login first',
    remedy: 'put the user and password in CHIRON_SMTP_URL',
  },
  {
    fits: /\b5\.7\.2[367]\b|\bSPF\b/i,
    means: 'the receiver could not confirm that this server may send for the domain (SPF)',
    remedy: 'add the mail server to the SPF record of the sender’s domain',
  },
  {
    fits: /\b5\.7\.2[0-2]\b|\bDKIM\b/i,
    means: 'the receiver found no valid DKIM signature',
    remedy: 'let the mail server sign, or set CHIRON_DKIM_*; publish the key in DNS',
  },
  {
    fits: /\b5\.7\.509\b|\bDMARC\b/i,
    means: 'the DMARC policy of the sender’s domain says to refuse this mail',
    remedy: 'make SPF or DKIM pass for exactly the domain of CHIRON_MAIL_FROM',
  },
  {
    fits: /\b5\.7\.25\b|reverse DNS|PTR/i,
    means: 'the address of the sending machine has no reverse DNS name',
    remedy: 'send through your provider’s mail server, or have a PTR record created',
  },
  {
    fits: /\b5\.7\.(606|608|708|512)\b|blocked|blacklist|blocklist/i,
    means: 'the receiver blocks the address of the sending machine',
    remedy: 'ask the receiver to unblock it, or send through another mail server',
  },
  {
    fits: /relay/i,
    means: 'the server does not relay mail for this sender without a login',
    remedy: 'put the user and password in CHIRON_SMTP_URL, or allow this machine at the mail server',
  },
  {
    fits: /\b55[0-4][ -]5\.7\.1\b/,
    means: 'a rule of the mail server blocks this mail',
    remedy: 'ask the mail server’s administrator which rule it was; the server’s log has the reply',
  },
  {
    fits: /\b5\.1\.8\b|\bsender\b/i,
    means: 'the server does not accept the address of CHIRON_MAIL_FROM',
    remedy: 'use an address of a domain that the mail server knows',
  },
  {
    fits: /^4|\b4\.\d+\.\d+\b/,
    means: 'the server refuses temporarily, often because of too many connections or logins',
    remedy: 'try again in a few minutes; if it persists, ask the mail server’s administrator',
  },
]

const unknown = {
  means: 'the server refuses',
  remedy: 'ask the mail server’s administrator; the server’s log has the reply',
}

export function explainReply(reply: string): { means: string; remedy: string } {
  return meanings.find(({ fits }) => fits.test(reply)) ?? unknown
}
